#!/usr/bin/env bash
# lint.sh - format, layers, purity of the core, static analysis. Prints what is wrong and exits 1, or says it is clean.
# lint.sh --fix   puts the format right, and does nothing else.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
failed=0
check() {
    local name=$1; shift
    if "$@" >build/lint.log 2>&1; then
        echo "lint: $name: clean"
    else
        failed=1
        echo "lint: $name:"
        tail -n 40 build/lint.log
    fi
}
mkdir -p build
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' 'tests/unit/*.c' 'tests/unit/*.h' 'tests/sim/*.c' 'tests/sim/*.h' 'tests/fuzz/*.c' 'tests/fuzz/*.h' 'bench/*.c')
console=(console/src console/test console/*.mjs tests/e2e/console tests/cluster/*.mjs)
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' .ci/run)
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep '^src/.*\.c$')

prettier=(console/node_modules/.bin/prettier --config console/package.json)
if [ "${1:-}" = --fix ]; then
    clang-format -i "${sources[@]}" && "${prettier[@]}" --log-level warn --write "${console[@]}"
    exit
fi

check "prettier" "${prettier[@]}" --check "${console[@]}"
check "eslint" console/node_modules/.bin/eslint --config console/eslint.config.mjs "${console[@]}"
check "clang-format" clang-format --dry-run -Werror "${sources[@]}"
check "layers" tools/check-layers.sh
check "pure core" bash -c 'make -s build/lib/core.a && tools/check-core.sh build/obj/core'
check "shellcheck" shellcheck "${scripts[@]}"
check "cppcheck" cppcheck --quiet --std=c11 --inline-suppr --error-exitcode=1 -j2 -Isrc -D_GNU_SOURCE -D__x86_64__=1 \
    --enable=warning,performance,portability --suppress=missingIncludeSystem --suppressions-list=tools/cppcheck.txt "${units[@]}"
check "clang-tidy" bash -c 'printf "%s\n" "$@" | xargs -P2 -n8 clang-tidy --quiet --warnings-as-errors="*" 2>/dev/null' _ "${units[@]}"
[ $failed = 0 ] && echo "lint: clean"
exit $failed

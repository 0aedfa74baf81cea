#!/usr/bin/env bash
# run.sh - runs every test with the binary as users get it and with the sanitized one, both at once, and adds up.
#
# Training with real PyTorch (tests/e2e/torch_*, and the tutorial's snippets) is done with the first one only: it is
# the training that takes the time, and what muster does in it other tests do with both. So are the browser's tests.
#
# Prints one line per test program, the output of those that failed, at the end once more what failed and why, and
# last `N passed, M failed`. Exits 1 when anything failed or nothing ran. What it runs must be built before (`make
# test` does).
#
#   B=build              where the builds are: $B and $B/asan
#   ONLY=e2e/cli         run only programs whose name holds this text
#   CLUSTER=1            run tests/cluster instead (`make test-cluster`), BESIDE=1 of its programs beside another; CLUSTER=ci:
#                        without those that need a kubelet or an older muster, or wait for minutes
#   CHECK=1              unit tests, a little of the simulator and the fuzzer, and the API's first tests (`make check`)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
top=$(mktemp -d "${TMPDIR:-/tmp}/muster-test.XXXXXX")
trap 'rm -rf "$top"' EXIT
log=$top
passed=0 failed=0
export ASAN_OPTIONS=abort_on_error=0:detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONDONTWRITEBYTECODE=1

# Of the output: the names of the failed tests, each with the first line of its error. cmocka says the errors before
# the names when it writes to a file, so they are matched by their order.
causes() {
    awk '
        function tell(text) { sub(/^ *(error: )?/, "", text); if (!said[tests]) said[tests] = text }
        /^\[  FAILED  \] [^0-9]/ && !seen[$4]++ { name[++tests] = $4 }
        /^\[  ERROR   \] --- [^[]/ { error = substr($0, 18) }
        /^ERROR: / { error = substr($0, 8) }
        match($0, /\[   LINE   \] --- /) { why[++errors] = substr($0, RSTART + 17) " " error; sub(/error: Failure!/, "", why[errors]) }
        /^(FAIL|ERROR): [^ ]+ \(/ { name[++tests] = $2; traced = 0 }
        traced && /^[^ ]/ { tell($0); traced = 0 }
        /^Traceback / { traced = 1 }
        error_follows { tell($0); error_follows = 0 }
        /^ *not ok [0-9]+ - / { sub(/^ *not ok [0-9]+ - /, ""); name[++tests] = $0 }
        /^ *error: / { if (/\|-$/) error_follows = 1; else tell($0) }
        /Sanitizer: |runtime error: |Assertion .* failed|^Could not run test/ && !broken { broken = $0 }
        /[^ ]/ { last = $0 }
        END {
            if (!tests && !broken) broken = last
            if (broken) print "ended: " broken
            for (i = 1; i <= tests; i++) print name[i] ": " (errors ? why[i] : said[i])
        }' "$log/out" | cut -c 1-240 | head -n 8
}

# result NAME OK BAD SECONDS RC: a program that ended badly without a failed test counts as one.
result() {
    local name=$1 ok=$2 bad=$3 seconds=$4 rc=$5
    if [ "$rc" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
    if [ "$ok" = 0 ] && [ "$bad" = 0 ]; then bad=1; echo "no test ran" >>"$log/out"; fi
    passed=$((passed + ok)) failed=$((failed + bad))
    # under a lock: what one half tells of a failure stays together
    {
        flock 9
        if [ "$bad" = 0 ]; then
            printf '  ok    %-44s %4d  %3ds\n' "$name" "$ok" "$seconds"
        else
            printf '  FAIL  %-44s %4d passed, %d failed  %3ds\n' "$name" "$ok" "$bad" "$seconds"
            sed 's/^/        /' "$log/out" | tail -n "${FAIL_LINES:-60}"
            { echo "FAIL  $name (exit status $rc)"; causes | sed 's/^/      /'; } >>"$top/failures"
        fi
    } 9>"$top/lock"
}

sum_up() {
    [ ! -f "$top/failures" ] || cat "$top/failures"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

wanted() { [ -z "${ONLY:-}" ] || [[ $1 == *"$ONLY"* ]]; }

# cmocka: counts its own lines.
unit() {
    local name=$1 program=$2 start=$SECONDS rc ok bad
    wanted "$name" || return 0
    timeout 300 "$program" >"$log/out" 2>&1
    rc=$?
    ok=$(grep -c '^\[       OK \]' "$log/out")
    bad=$(grep -c '^\[  FAILED  \] [^0-9]' "$log/out")
    # cmocka names a failed test twice: where it fails and in the summary
    [ "$bad" -le 1 ] || bad=$(grep '^\[  FAILED  \] [^0-9]' "$log/out" | sort -u | wc -l)
    result "$name" "$ok" "$bad" $((SECONDS - start)) $rc
}

python_run() { timeout "${SCRIPT_TIMEOUT:-900}" /usr/bin/python3 "$1" 2>&1; }

# unittest: "Ran N tests", then OK or FAILED (failures=.., errors=..). A skipped test is not a passed one.
python_result() {
    local name=$1 seconds=$2 rc=$3 ran bad=0 n what
    ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$log/out" | tail -n 1)
    for what in failures errors skipped unexpected\ successes; do
        n=$(sed -n "/^\(FAILED\|OK\) (/s/.*$what=\([0-9]*\).*/\1/p" "$log/out" | tail -n 1)
        bad=$((bad + ${n:-0}))
    done
    ran=${ran:-0}
    if [ "$bad" -gt "$ran" ]; then ran=$bad; fi
    result "$name" $((ran - bad)) "$bad" "$seconds" "$rc"
}

python() {
    local name=$1 script=$2 start=$SECONDS rc
    wanted "$name" || return 0
    python_run "$script" >"$log/out"
    rc=$?
    python_result "$name" $((SECONDS - start)) $rc
}

# node's test runner: "# pass N" and "# fail N" of its last summary. A skipped test is not a passed one.
node_tests() {
    local name=$1 start=$SECONDS rc ok bad=0 n what; shift
    wanted "$name" || return 0
    timeout "${SCRIPT_TIMEOUT:-900}" node "$@" >"$log/out" 2>&1
    rc=$?
    ok=$(sed -n 's/^# pass \([0-9]*\)$/\1/p' "$log/out" | tail -n 1)
    for what in fail cancelled skipped todo; do
        n=$(sed -n "s/^# $what \([0-9]*\)$/\1/p" "$log/out" | tail -n 1)
        bad=$((bad + ${n:-0}))
    done
    result "$name" "${ok:-0}" "$bad" $((SECONDS - start)) $rc
}

# The simulator: so many seeds are one test, told apart by the seeds that failed.
simulation() {
    local name=$1 program=$2 seeds=$3 start=$SECONDS rc
    wanted "$name" || return 0
    timeout 600 "$program" "$seeds" >"$log/out" 2>&1
    rc=$?
    result "$name ($seeds seeds)" $((rc == 0)) $((rc != 0)) $((SECONDS - start)) $rc
}

# The fuzzer: some seconds of it are one test; what it prints of a failure says how to repeat it.
fuzz() {
    local name=$1 program=$2 seconds=$3 start=$SECONDS rc
    wanted "$name" || return 0
    timeout 300 "$program" --seconds "$seconds" >"$log/out" 2>&1
    rc=$?
    result "$name" $((rc == 0)) $((rc != 0)) $((SECONDS - start)) $rc
}

# Against a real control plane (tests/cluster/build-kube), which takes long to build: only when asked for. Each has one of its
# own and waits more than it computes, so two run at a time; those that measure how soon something happens run alone.
cluster_start() {
    (
        start=$SECONDS
        python_run "$1" >"$2.out"
        echo "$((SECONDS - start)) $?" >"$2.new"
        mv "$2.new" "$2.end"
    ) &
}

cluster_results() {
    local end seconds rc
    for end in "$log"/cluster/*.end; do
        [ -f "$end" ] || continue
        read -r seconds rc <"$end"
        mv "${end%.end}.out" "$log/out"
        rm "$end"
        if [ "$rc" = 75 ]; then tail -n 1 "$log/out"; continue; fi # it cannot run on this machine
        python_result "cluster/$(basename "${end%.end}")" "$seconds" "$rc"
    done
}

# so many may go on beside what comes next
cluster_wait() {
    while [ "$(jobs -rp | wc -l)" -gt "$1" ]; do wait -n; cluster_results; done
    cluster_results
}

if [ -n "${CLUSTER:-}" ]; then
    export MUSTER_BIN=$PWD/$B/muster
    SCRIPT_TIMEOUT=${SCRIPT_TIMEOUT:-1800} # ddp_test trains three times
    mkdir "$log/cluster"
    for script in tests/cluster/*_test.py; do
        name=$(basename "$script" .py) beside=${BESIDE:-1}
        wanted "cluster/$name" || continue
        case $CLUSTER/$name in
        ci/image_test | ci/tokens_test | ci/upgrade_test) continue ;;
        esac
        [ "$name" != leader_test ] || beside=0
        cluster_wait "$beside"
        cluster_start "$script" "$log/cluster/$name"
        [ "$beside" != 0 ] || cluster_wait 0
    done
    cluster_wait 0
    sum_up
    exit
fi

if [ -n "${CHECK:-}" ]; then
    MUSTER_BIN=$PWD/$B/muster
    export MUSTER_BIN
    while IFS= read -r program; do
        unit "unit/${program#"$B"/unit/}" "$program"
    done < <(find "$B/unit" -type f -perm -u+x ! -name '*.o' ! -name '*.d' | sort)
    simulation sim "$B/sim/sim" "${SIM_SEEDS:-40}"
    fuzz fuzz "$B/fuzz/fuzz" 3
    for script in tests/api/http_test.py tests/api/rbac_test.py tests/kubectl/kubectl_test.py tests/e2e/all_in_one_test.py tests/fault/history_test.py; do
        name=${script#tests/}
        python "${name%.py}" "$script"
    done
    sum_up
    exit
fi

trains() { case $1 in e2e/torch_*|e2e/tutorial_*) true ;; *) false ;; esac; }

with_build() {
    local label=$1 build=$2 script short program seeds=500
    [ -x "$build/muster" ] || { echo "run.sh: $build/muster is not built" >&2; failed=$((failed + 1)); return; }
    MUSTER_BIN=$PWD/$build/muster
    export MUSTER_BIN
    if [ "$label" = sanitized ]; then
        export MUSTER_TEST_PATIENCE=180 MUSTER_TEST_STRIDE=4
        seeds=100
    fi
    while IFS= read -r program; do
        unit "$label unit/${program#"$build"/unit/}" "$program"
    done < <(find "$build/unit" -type f -perm -u+x ! -name '*.o' ! -name '*.d' | sort)
    simulation "$label sim" "$build/sim/sim" "${SIM_SEEDS:-$seeds}"
    fuzz "$label fuzz" "$build/fuzz/fuzz" 3
    for script in tests/api/*_test.py tests/api/test_*.py tests/kubectl/*_test.py tests/python/*_test.py tests/pods/*_test.py tests/e2e/*_test.py tests/fault/*_test.py; do
        [ -f "$script" ] || continue
        short=${script#tests/}
        [ "$label" = normal ] || ! trains "$short" || continue
        python "$label ${short%.py}" "$script"
    done
}

# A browser sees the same pages whatever the binary is built with; the rest does not depend on the binary.
with_any_build() {
    local script short
    for script in tests/e2e/console/*.test.mjs; do
        short=${script#tests/}
        node_tests "normal ${short%.test.mjs}" --test --test-reporter=tap "$script"
    done
    for script in tests/examples/test_*.py tests/tools/*_test.py; do
        [ -f "$script" ] || continue
        short=${script#tests/}
        python "${short%.py}" "$script"
    done
    node_tests "console" console/test.mjs
    # builds everything a second time
    SCRIPT_TIMEOUT=2400 python package/package_test tests/package/package_test.py
}

# half NAME COMMAND...: what COMMAND counted is left in a file, because it runs in a process of its own.
half() {
    log=$top/$1
    mkdir "$log"
    shift
    local command
    for command; do $command; done
    echo "$passed $failed" >"$log/total"
}

normal() { with_build normal "$B"; }
sanitized() { with_build sanitized "$B/asan"; }
# With job control: without it what runs in the background ignores SIGINT, and so would every program under test.
set -m
half first normal with_any_build </dev/null &
first=$!
half second sanitized </dev/null &
second=$!
set +m
trap 'kill -- -$first -$second 2>/dev/null; exit 130' INT TERM
wait
for total in "$top"/first/total "$top"/second/total; do
    read -r ok bad <"$total" || { ok=0 bad=1; echo "run.sh: half of the tests ended without a total" >&2; }
    passed=$((passed + ok)) failed=$((failed + bad))
done

sum_up

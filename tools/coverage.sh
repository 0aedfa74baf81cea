#!/bin/sh
# coverage.sh BUILD - runs the unit tests of core built with --coverage in BUILD, prints how much of each file of
# src/core they reach, and fails when less than LIMIT percent of all branches were taken.
#
# Branches are gcov's: each way out of a condition counts. `make coverage` builds what this needs.
set -eu
LIMIT=${LIMIT:-95}
build=$1
out=$build/gcov

find "$build" -name '*.gcda' -exec rm -f {} +
for test in "$build"/unit/core/*; do
    if [ ! -f "$test" ] || [ ! -x "$test" ]; then continue; fi
    "$test" >"$test.out" 2>&1 || { cat "$test.out"; echo "coverage: $test failed" >&2; exit 1; }
done
mkdir -p "$out"
rm -f "$out"/*.gcov
for object in "$build"/obj/core/*.o; do
    gcov -b -c -t -o "$object" "$object" >"$out/$(basename "$object" .o).gcov" 2>/dev/null
done
# Lines of a .gcov file: "  count:line:text", then "branch N taken M" (or "never executed") for each way out.
awk -v limit="$LIMIT" '
/^ *-: *0:Source:/ { here = $0 ~ /src\/core\/[a-z0-9_]*\.c$/; file = $0; sub(/.*\//, "", file) }
!here { next }
/^branch/ { ways[file]++; if ($3 == "taken" && $4 > 0) taken[file]++ }
/^ *[0-9]+\**: *[0-9]+:/ { lines[file]++; hit[file]++ }
/^ *[#=]+: *[0-9]+:/ { lines[file]++ }
function percent(part, whole) { return whole ? 100 * part / whole : 100 }
END {
    sort = "sort"
    for (f in lines) {
        printf "%-22s %6.1f %%  of %4d branches   %6.1f %%  of %4d lines\n", f,
            percent(taken[f], ways[f]), ways[f], percent(hit[f], lines[f]), lines[f] | sort
        all_ways += ways[f]; all_taken += taken[f]; all_lines += lines[f]; all_hit += hit[f]
    }
    close(sort)
    total = percent(all_taken, all_ways)
    printf "%-22s %6.1f %%  of %4d branches   %6.1f %%  of %4d lines\n", "src/core", total, all_ways,
        percent(all_hit, all_lines), all_lines
    if (all_ways == 0 || total < limit) {
        printf "coverage: less than %d %% of the branches\n", limit > "/dev/stderr"
        exit 1
    }
}' "$out"/*.gcov

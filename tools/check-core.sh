#!/bin/sh
# check-core.sh OBJDIR - fails when src/core does more than decide.
#
# OBJDIR holds the objects of core (build/obj/core). Every symbol they need and do not define must be
# in tools/core-symbols.txt, and none may have data that can change: a decision that reads a clock, a
# file or a variable could not be replayed in the simulator.
set -eu

[ $# -eq 1 ] || { echo "usage: $0 OBJDIR" >&2; exit 2; }
list=$(dirname "$0")/core-symbols.txt
set -- "$1"/*.o
[ -e "$1" ] || { echo "$0: no objects in $(dirname "$1")" >&2; exit 2; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

nm --defined-only "$@" | awk 'NF == 3 && $2 ~ /[A-Z]/ { print $3 }' | sort -u > "$tmp/defined"
nm -A --undefined-only "$@" | awk '{ sub(/:.*/, "", $1); print $NF, $1 }' | sort -u > "$tmp/needed"

awk -v bad=0 '
    FILENAME == ARGV[1] { if ($0 !~ /^#/ && NF) { if ($1 ~ /\*$/) prefix[substr($1, 1, length($1) - 1)]; else exact[$1] }; next }
    FILENAME == ARGV[2] { exact[$1]; next }
    $1 in exact { next }
    { for (p in prefix) if (index($1, p) == 1) next; print "core: " $2 " calls " $1 ", which is not in tools/core-symbols.txt"; bad = 1 }
    END { exit bad }
' "$list" "$tmp/defined" "$tmp/needed" && calls=0 || calls=1

# Tables of constant pointers are in .data.rel.ro, which is written by the loader only. A sanitized
# build moves constants about, so this half is for plain builds.
data=0
if ! grep -q '^__asan_' "$tmp/needed"; then
    for o in "$@"; do
        objdump -t "$o" | awk -v o="$o" '
            $0 ~ / O / && ($(NF - 2) ~ /^\.(bss|data)(\.|$)/ || $(NF - 2) == "*COM*") && $(NF - 2) !~ /^\.data\.rel\.ro/ {
                print "core: " o " keeps state in " $NF; bad = 1 }
            END { exit bad }' || data=1
    done
fi
exit $((calls | data))

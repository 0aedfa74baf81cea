#!/bin/sh
# exits.sh PLAN... - the n-th run of this replica ends as the n-th word says: a number is the exit code, a name the
# signal it dies of. After the last word it ends well. Runs are counted in the file $COUNT.$RANK.
echo run >>"$COUNT.$RANK"
runs=$(wc -l <"$COUNT.$RANK")
[ "$runs" -le $# ] || exit 0
shift $((runs - 1))
echo "run $runs ends with $1"
case $1 in
[0-9]*) exit "$1" ;;
*) kill -s "$1" $$; sleep 1000 ;;
esac

#!/usr/bin/env bash
# check.sh - shows on a machine with NVIDIA GPUs that jobs get them. Needs bash and python3 only.
#
#   tests/gpu/check.sh FOLDER     FOLDER holds the binary `muster`
#
# Starts a daemon of its own in a temporary folder and takes everything with it at the end. Prints PASS and FAIL lines,
# NOTE where something could not be tried; the last line is `N passed, M failed`. Exits 1 when anything failed.
set -u
folder=${1:?usage: check.sh FOLDER-WITH-muster}
[ -x "$folder/muster" ] || { echo "FAIL $folder/muster is not there"; exit 1; }
exec python3 "$(dirname "$0")/check.py" "$(cd "$folder" && pwd)/muster"

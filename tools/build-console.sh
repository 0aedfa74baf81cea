#!/usr/bin/env bash
# build-console.sh   console/dist, if it is not newer than all it is made of: another build may have made it meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../console"
if [ -e dist/HASH ] && [ -z "$(find src build.mjs package.json package-lock.json tsconfig.json -newer dist/HASH -print -quit)" ]; then
    exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
fi
node build.mjs

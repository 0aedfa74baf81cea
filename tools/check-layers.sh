#!/bin/sh
# check-layers.sh [SRCDIR] - fails when a file includes what its layer may not know.
#
# A file may include headers of its own folder and of folders of a lower rank, but not of their subfolders; a
# library's headers only in the folder that wraps it. Part of `make lint`; the ranks are those of ARCHITECTURE.md.
set -eu

src=${1:-$(dirname "$0")/../src}

cd "$src"
find . -name '*.[ch]' | sed 's|^\./||' | sort | xargs grep -HnE '^[[:space:]]*#[[:space:]]*include' | awk '
BEGIN {
    n = split("base:0 api:1 core:2 port:2 loop:3 net:4 store:5 client:5 runtime:5 board:5 " \
              "server:6 control:6 agent:6 door:6 console:6 cli:7 .:8", pair, " ")
    for (i = 1; i <= n; i++) { split(pair[i], p, ":"); rank[p[1]] = p[2] }
    # header -> where it may be included
    library["uv.h"] = "^loop/"
    library["curl/"] = "^net/"
    library["zlib.h"] = "^net/"
    library["sqlite3.h"] = "^store/"
    library["yaml.h"] = "^api/formats/yaml[^/]*$"
    # lower, and still not to be known: these are clients of the API and of nothing else
    n = split("control agent console", client, " ")
    for (i = 1; i <= n; i++) hidden[client[i], "store"]
    hidden["server", "runtime"] # pods are asked for through port/node.h
}
function complain(what) { print "layers: src/" file ":" line ": " what; bad = 1 }
{
    split($0, at, ":"); file = at[1]; line = at[2]
    folder = file ~ /\// ? substr(file, 1, index(file, "/") - 1) : "."
    if (!(folder in rank)) { complain("the folder " folder " has no rank in tools/check-layers.sh"); next }
    if (match($0, /<[^>]+>/)) {
        header = substr($0, RSTART + 1, RLENGTH - 2)
        for (l in library)
            if ((l ~ /\/$/ ? index(header, l) == 1 : header == l) && file !~ library[l])
                complain("<" header "> may be included only in files " library[l])
        next
    }
    if (!match($0, /"[^"]+"/)) next
    header = substr($0, RSTART + 1, RLENGTH - 2)
    if (header !~ /\//) { complain("\"" header "\": write the folder, as in \"" folder "/" header "\""); next }
    target = substr(header, 1, index(header, "/") - 1)
    if (target == folder) next
    if (header ~ /\/.*\//) complain("\"" header "\": a header in a subfolder is for its own layer only")
    if (!(target in rank)) { complain("\"" header "\": the folder " target " has no rank"); next }
    if ((folder, target) in hidden)
        complain("\"" header "\": " folder " may not know " target)
    if (rank[target] >= rank[folder])
        complain("\"" header "\": " folder " (rank " rank[folder] ") may not know " target " (rank " rank[target] ")")
}
END { exit bad }'

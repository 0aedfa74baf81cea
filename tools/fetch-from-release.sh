#!/usr/bin/env bash
# fetch-from-release.sh SUITE PACKAGE FOLDER   unpack a package of another Debian release into FOLDER.
#
# Nothing is installed and the machine's package lists stay as they are: apt works in a throw-away folder, with
# the machine's own Debian sources, in which only the release's name is changed. Needs no root.
set -euo pipefail
[ $# = 3 ] || { sed -n '2s/^# \{0,1\}//p' "$0" >&2; exit 2; }
suite=$1 package=$2 folder=$3
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
etc=${APT_ETC:-/etc/apt}    # the tests point this elsewhere

work=$(mktemp -d "${TMPDIR:-/tmp}/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/parts "$work"/state/lists/partial "$work"/cache/archives/partial "$work"/unpacked

# Only entries of the release itself are taken. Its -security, -updates and -backports are named differently, lie
# elsewhere in part, and are not needed; other vendors' entries need not exist for the other release.

# One-line style: deb [options] URI SUITE COMPONENT...
one_line() {
    awk -v own="$own" -v suite="$suite" '
        $1 == "deb" {
            at = 2
            if ($at ~ /^\[/) { while (at < NF && $at !~ /\]$/) at++; at++ }
            if ($(at + 1) !~ "^(" own "|stable|oldstable)$" || $(at + 2) != "main") next
            $(at + 1) = suite
            print
        }' "$@"
}

# Stanza style (deb822): fields, one stanza per paragraph
stanzas() {
    awk -v own="$own" -v suite="$suite" '
        function flush() {
            if (wanted && main && enabled && text != "") printf "%s\n", text
            text = ""; wanted = main = 0; enabled = 1
        }
        BEGIN { enabled = 1 }
        /^[ \t]*$/ { flush(); next }
        /^#/ { next }
        tolower($1) == "suites:" {
            for (i = 2; i <= NF; i++) if ($i ~ "^(" own "|stable|oldstable)$") wanted = 1
            text = text "Suites: " suite "\n"
            next
        }
        tolower($1) == "types:" { text = text "Types: deb\n"; next }
        tolower($1) == "components:" { for (i = 2; i <= NF; i++) if ($i == "main") main = 1 }
        tolower($1) == "enabled:" && tolower($2) ~ /^(no|false|0|off)$/ { enabled = 0 }
        { text = text $0 "\n" }
        END { flush() }' "$@"
}

shopt -s nullglob
lists=("$etc"/sources.list.d/*.list); [ ! -f "$etc/sources.list" ] || lists+=("$etc/sources.list")
stanza_files=("$etc"/sources.list.d/*.sources)
[ ${#lists[@]} = 0 ] || one_line "${lists[@]}" | sort -u >"$work/parts/release.list"
for file in "${stanza_files[@]}"; do stanzas "$file"; done >"$work/parts/release.sources"
find "$work/parts" -empty -type f -delete
[ -n "$(ls "$work/parts")" ] ||
    { echo "fetch: $etc has no entry for main of Debian ${own:-(unknown)}, to derive $suite from" >&2; exit 1; }
[ -z "${FETCH_SHOW_SOURCES:-}" ] || { cat "$work"/parts/*; exit; }

apt=(apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/parts"
     -o Dir::State="$work/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache"
     -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)")
# One broken entry of several must not matter; the download below is what decides.
"${apt[@]}" update || true
(cd "$work" && "${apt[@]}" download "$package")
dpkg-deb -x "$work"/"$package"_*.deb "$work/unpacked"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
mv "$work/unpacked" "$folder"

#!/usr/bin/env bash
# embed-assets.sh DIST OUT   OUT.S and OUT.c: the console's built files as read-only data of the binary.
#
# .incbin takes the files as they are: no text of numbers that a compiler would chew for seconds. What is there compressed
# is not embedded plain: gzip is unpacked for the rare client that wants it so. Without DIST ("-") the table is empty, and
# the console's page says that it was left out.
set -euo pipefail
[ $# = 2 ] || { sed -n '2s/^# \{0,1\}//p' "$0" >&2; exit 2; }
dist=$1 out=$2 n=0

type_of() {
    case $1 in
    *.html) echo "text/html; charset=utf-8" ;;
    *.js)   echo "text/javascript; charset=utf-8" ;;
    *.css)  echo "text/css; charset=utf-8" ;;
    *.txt)  echo "text/plain; charset=utf-8" ;;
    *)      echo "application/octet-stream" ;;
    esac
}

# data NAME FILE: one symbol for the beginning, one for the end.
data() {
    printf '%s:\n.incbin "%s"\n%s_end:\n' "$1" "$2" "$1" >&3
    printf 'extern const unsigned char %s[], %s_end[];\n' "$1" "$1" >&4
}

exec 3>"$out.S.new" 4>"$out.c.new" 5>"$out.table"
echo '.section .rodata,"a",@progbits' >&3
echo '#include "console/assets.h"' >&4
if [ "$dist" != - ]; then
    # Sorted as strcmp does: the server looks names up by halving.
    while read -r name; do
        for form in "" br gz; do
            file=$dist/$name${form:+.$form}
            if [ -f "$file" ] && { [ -n "$form" ] || [ ! -f "$file.gz" ]; }; then
                data "asset_${n}_${form:-raw}" "$(realpath "$file")"
            fi
        done
        {
            printf '    {"/%s", "%s", "\\"%s\\"", ' "$name" "$(type_of "$name")" \
                "$(sha256sum "$dist/$name" | cut -c1-16)"
            for form in raw br gz; do
                file=$dist/$name.$form
                if [ $form = raw ] && [ ! -f "$dist/$name.gz" ]; then file=$dist/$name; fi
                if [ -f "$file" ]; then printf 'asset_%d_%s, asset_%d_%s_end, ' $n $form $n $form
                else printf 'NULL, NULL, '; fi
            done
            printf '},\n'
        } >&5
        n=$((n + 1))
    done < <(cd "$dist" && find . -type f ! -name '*.br' ! -name '*.gz' ! -name HASH -printf '%P\n' | LC_ALL=C sort)
fi
sed -n 's/^extern const unsigned char \([^[]*\)\[\], \([^[]*\)\[\];/.global \1\n.global \2/p' "$out.c.new" >&3
echo '.section .note.GNU-stack,"",@progbits' >&3
{
    echo "const struct asset console_assets[] = {"
    cat "$out.table"
    echo "    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}};"
    echo "const size_t console_assets_len = $n;"
    echo "const char console_hash[] = \"$([ "$dist" = - ] || cat "$dist/HASH")\";"
} >&4
exec 3>&- 4>&- 5>&-
rm -f "$out.table"
mv -f "$out.S.new" "$out.S"
mv -f "$out.c.new" "$out.c"

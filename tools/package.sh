#!/usr/bin/env bash
# package.sh install MUSTER DEST PREFIX   program, man pages, completion and systemd units below DEST/PREFIX
# package.sh tarball MUSTER OUT           a folder that runs anywhere on Linux with glibc 2.34 or newer, and its .tar.gz
# package.sh deb MUSTER OUT               a Debian package
#
# The same sources and the same compiler yield the same bytes: times are SOURCE_DATE_EPOCH, else the last commit's.
# MUSTER is linked to look for libraries in ../lib/muster first; with a tarball they come along.
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC
top=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/.*MUSTER_VERSION "\(.*\)"/\1/p' "$top/src/base/version.h")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || stat -c %Y "$top/CHANGELOG.md")}
export SOURCE_DATE_EPOCH

usage() { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

# files MUSTER ROOT PREFIX UNITS BIN: BIN is where the units find the program.
files() {
    local muster=$1 to=$2$3 units=$2$4 bin=$5 command
    install -d "$to/bin" "$to/share/man/man1" "$to/share/bash-completion/completions" "$to/share/zsh/vendor-completions" \
        "$to/share/fish/vendor_completions.d" "$to/share/doc/muster" "$units/system" "$units/user"
    strip -o "$to/bin/muster" "$muster"
    chmod 755 "$to/bin/muster"
    "$muster" help man | gzip -9n >"$to/share/man/man1/muster.1.gz"
    for command in $("$muster" help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        "$muster" help man "$command" | gzip -9n >"$to/share/man/man1/muster-$command.1.gz"
    done
    "$muster" completion bash >"$to/share/bash-completion/completions/muster"
    "$muster" completion zsh >"$to/share/zsh/vendor-completions/_muster"
    "$muster" completion fish >"$to/share/fish/vendor_completions.d/muster.fish"
    install -m 644 "$top/README.md" "$top/CHANGELOG.md" "$to/share/doc/muster/"
    install -m 644 "$top/LICENSE" "$to/share/doc/muster/copyright"
    sed "s|@BIN@|$bin|" "$top/deploy/systemd/muster.service" >"$units/system/muster.service"
    sed "s|@BIN@|$bin|" "$top/deploy/systemd/muster.user.service" >"$units/user/muster.service"
}

same_times() { find "$1" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +; }

# What MUSTER needs and glibc is not, with libcurl, which it loads by itself.
libraries() {
    local curl
    curl=$(ldconfig -p | sed -n 's/.*libcurl-gnutls\.so\.4 .*=> //p' | head -n 1)
    [ -n "$curl" ] || { echo "package.sh: libcurl3-gnutls is not installed" >&2; exit 1; }
    { ldd "$1" "$curl" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'; echo "$curl"; } |
        grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*)\.so' | sort -u
}

case ${1:-} in
install)
    [ $# = 4 ] || usage
    files "$2" "$3" "$4" "$4/lib/systemd" "$4/bin"
    ;;
tarball)
    [ $# = 3 ] || usage
    name=muster-$version-linux-$(uname -m)
    tree=$3/$name
    rm -rf "$tree"
    files "$2" "$tree" "" /lib/systemd /usr/local/bin
    install -d "$tree/lib/muster" "$tree/share/doc/muster/libraries"
    for library in $(libraries "$2"); do
        cp -L "$library" "$tree/lib/muster/$(basename "$library")"
        package=$(dpkg-query -S "$(readlink -f "$library")" 2>/dev/null || dpkg-query -S "$(readlink -f "$library" | sed 's|^/usr||')")
        package=$(sed -n '1s/:.*//p' <<<"$package")
        cp -L "/usr/share/doc/$package/copyright" "$tree/share/doc/muster/libraries/$package"
    done
    chmod 644 "$tree"/lib/muster/* "$tree"/share/doc/muster/libraries/*
    same_times "$tree"
    tar -C "$3" --sort=name --owner=0 --group=0 --numeric-owner --format=gnu -cf - "$name" | gzip -9n >"$tree.tar.gz"
    echo "$tree.tar.gz"
    ;;
deb)
    [ $# = 3 ] || usage
    arch=$(dpkg --print-architecture)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    files "$2" "$work" /usr /usr/lib/systemd /usr/bin
    install -d "$work/DEBIAN"
    # Newer releases' renamed libraries (libgnutls30t64) provide these names.
    cat >"$work/DEBIAN/control" <<CONTROL
Package: muster
Version: $version
Architecture: $arch
Maintainer: The muster developers <muster@localhost>
Section: science
Priority: optional
Installed-Size: $(du -sk --apparent-size "$work/usr" | cut -f 1)
Depends: libc6 (>= 2.34), libcurl3-gnutls, libgnutls30 (>= 3.7), libpcre2-8-0, libsqlite3-0 (>= 3.37), libuv1 (>= 1.43), libyaml-0-2, zlib1g
Suggests: openmpi-bin, python3-torch
Description: distributed training jobs on one machine or a cluster
 A Kubernetes-compatible API server, job controllers, a gang scheduler, a node
 agent and a web console in one program: PyTorch and MPI jobs with queues,
 restarts, logs and curves.
CONTROL
    cat >"$work/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
# Pods go on while the daemon is replaced.
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart muster.service
fi
SCRIPT
    cat >"$work/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl stop muster.service
fi
SCRIPT
    # The data folder stays, even after a purge: it holds what was trained.
    cat >"$work/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
    rm -f /etc/systemd/system/multi-user.target.wants/muster.service
fi
if [ "$1" != upgrade ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
SCRIPT
    chmod 755 "$work/DEBIAN/postinst" "$work/DEBIAN/prerm" "$work/DEBIAN/postrm"
    (cd "$work" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$work/DEBIAN/md5sums"
    chmod 644 "$work/DEBIAN/control" "$work/DEBIAN/md5sums"
    same_times "$work"
    install -d "$3"
    dpkg-deb --root-owner-group -Zxz --build "$work" "$3/muster_${version}_$arch.deb" >/dev/null
    echo "$3/muster_${version}_$arch.deb"
    ;;
*) usage ;;
esac

#!/usr/bin/env bash
# image.sh MUSTER NAME   the image of deploy/Dockerfile, with buildah, on a base made of Debian's packages: no registry is asked.
# Needs root, or a user namespace. BASE=debian:12-slim takes a base from a registry instead.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,3s/^# //p' "$0"; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot} STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}

if [ -z "${BASE:-}" ]; then
    BASE=localhost/muster-base
    if ! buildah inspect --type image "$BASE" >/dev/null 2>&1; then
        debootstrap --variant=minbase bookworm "$work/root" >&2
        rm -rf "$work/root"/var/cache/apt/*.bin "$work/root"/var/cache/apt/archives/*.deb "$work/root"/var/lib/apt/lists/* \
            "$work/root"/usr/share/{doc,locale,man,info}/*
        container=$(buildah from scratch)
        buildah copy --quiet "$container" "$work/root" / >&2
        buildah commit --quiet --rm "$container" "$BASE" >&2
    fi
fi
mkdir -p "$work/context/build"
strip -o "$work/context/build/muster" "$1"
buildah bud --layers --quiet --build-arg "BASE=$BASE" --file "$(dirname "$0")/../deploy/Dockerfile" --tag "$2" "$work/context"

#!/usr/bin/env bash
# setup.sh WHAT...   install what this project needs on Debian, and nothing that is already there.
#
#   build   what compiles muster
#   demo    build, and what trains the examples: PyTorch, a dataset, build/venv
#   test    demo, and what the tests use: cmocka, clang, a browser, shells, man, kubectl 1.20 and 1.32 in build/bin
#   lint    build, and the checkers
#   docs    what makes the site of the documents
#   bench   build, and the load generator
#   image   build, and what makes an image
#   cluster a Go, which knows where modules come from, and what the older muster of the upgrade's test is built with
#
# Safe to run every time: it looks before it calls apt, and does not call it when nothing is missing.
# Apart from Debian packages it writes only below build/ and console/node_modules.
set -euo pipefail
cd "$(dirname "$0")/.."
log=build/setup.log

usage() { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

build_packages=(gcc libc6-dev make pkg-config libuv1-dev libgnutls28-dev
                libcurl4-gnutls-dev libyaml-dev libpcre2-dev libsqlite3-dev zlib1g-dev)
# For the console; a node that is there already, from wherever, will do.
command -v npm >/dev/null || build_packages+=(nodejs npm)
demo_packages=(python3 python3-numpy python3-torch dataset-fashion-mnist)
test_packages=(libcmocka-dev clang libclang-rt-dev binutils curl jq openssl procps python3-minimal python3-pip python3-yaml
               openmpi-bin libopenmpi-dev python3-mpi4py openssh-client openssh-server chromium fonts-noto-cjk zsh fish man-db mkdocs
               skopeo umoci docker-registry busybox-static)
# What Horovod is built with, and what it imports.
horovod_packages=(cmake g++ make libtorch-dev pybind11-dev python3-dev python3-setuptools python3-wheel
                  python3-cffi python3-cloudpickle python3-packaging python3-psutil python3-yaml)
lint_packages=(clang-tidy clang-format cppcheck shellcheck)
docs_packages=(mkdocs python3-yaml)
image_packages=(binutils buildah debootstrap)
cluster_packages=(libmicrohttpd-dev)
command -v go >/dev/null || cluster_packages+=(golang-go)
# For a kubelet; Debian's would take the place of another containerd.
command -v containerd >/dev/null || cluster_packages+=(containerd runc)
cluster_packages+=(containernetworking-plugins iproute2 openssh-client openssh-server)
bench_packages=(wrk curl openmpi-bin libopenmpi-dev skopeo umoci busybox-static)

# Of the packages named, those that are not installed.
missing_of() {
    local installed
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
                sed -n 's/ installed$//p') || true
    printf '%s\n' "$@" | grep -vxF "$installed" || true
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# A minimal system has no /etc/hosts: then nothing says what localhost and this machine's name are (torchrun asks for
# both), and pods have no place for their names. Debian's installer writes these lines.
hosts_file() {
    if [ -e /etc/hosts ]; then return; fi
    say "demo: writing /etc/hosts, which is missing"
    printf '%s\n' "127.0.0.1 localhost" "127.0.1.1 $(uname -n)" "::1 localhost ip6-localhost ip6-loopback" |
        as_root tee /etc/hosts >/dev/null
}

# packages PHASE NAME...: have these Debian packages installed.
packages() {
    local phase=$1 missing; shift
    command -v apt-get >/dev/null ||
        die "$phase: this is not Debian or a relative of it; please install what these packages hold: $*"
    missing=$(missing_of "$@")
    [ -n "$missing" ] || { say "$phase: packages are there"; return; }
    # shellcheck disable=SC2086 # one word per package
    set -- $missing
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; } ||
        die "$phase: not root and no usable sudo; please have these packages installed: $*"
    say "$phase: installing $*"
    {
        as_root apt-get -qq update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o DPkg::Lock::Timeout=600 \
            install --no-install-recommends "$@"
    } >>"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; die "$phase: apt-get could not install: $*"; }
}

# A Python environment that sees Debian's PyTorch, with `python` and `torchrun` in its bin folder.
python_env() {
    local venv=build/venv site
    hosts_file
    if [ ! -x $venv/bin/python ] || ! $venv/bin/python -c '' 2>/dev/null; then
        say "demo: making $venv"
        rm -rf $venv
        /usr/bin/python3 -m venv --system-site-packages --without-pip $venv >>"$log" 2>&1 ||
            { tail -n 5 "$log" >&2; die "demo: could not make $venv"; }
    fi
    site=$($venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    write_torchrun_fix | replace "$site/torchrun_fix.py"
    # Not sitecustomize.py: Debian's own one, in a folder that is searched earlier, would hide it.
    echo 'import torchrun_fix' | replace "$site/torchrun_fix.pth"
    # Debian's torchrun starts Debian's interpreter, not the environment's.
    replace $venv/bin/torchrun <<'SH'
#!/bin/sh
exec "$(dirname "$0")/python" -m torch.distributed.run "$@"
SH
    chmod 755 $venv/bin/torchrun
}

# replace FILE: standard input becomes FILE, which is not touched when it is the same already.
replace() {
    local new=$1.new.$$
    cat >"$new"
    if cmp -s "$new" "$1"; then rm -f "$new"; else mv -f "$new" "$1"; fi
}

write_torchrun_fix() {
    cat <<'PY'
"""Lets torchrun of PyTorch 1.13 start on Python 3.11.

It looks up the value of --redirects and --tee by iterating over an enum.IntFlag. Since Python 3.11
that iteration yields only single bits, so 0 (the default) and 3 are not found, None is used in their
place, and the start of the workers ends in an AttributeError. Here the lookup gets its old meaning,
when and only when the module that holds it is imported and has the fault.
"""
import importlib.abc
import importlib.machinery
import sys

MODULE = "torch.distributed.elastic.multiprocessing.api"


def repair(module):
    std = getattr(module, "Std", None)
    if std is None or std.from_str("0") is not None:
        return

    def from_str(text):
        if ":" not in text:
            return std(int(text))
        return {int(rank): std(int(value)) for rank, value in (item.split(":") for item in text.split(","))}

    std.from_str = staticmethod(from_str)


class Loader(importlib.abc.Loader):
    def __init__(self, inner):
        self.inner = inner

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        repair(module)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader)
        return spec


sys.meta_path.insert(0, Finder())
PY
}

# kubectl_from VERSION SUITE PACKAGE: build/bin/kubectl-VERSION, from the Debian release that has it. Unpacked,
# not installed: the machine's own kubectl, whichever it is, stays as it is.
kubectl_from() {
    local version=$1 suite=$2 package=$3 into=build/kubectl-$1
    if ! build/bin/kubectl-"$version" version --client >/dev/null 2>&1; then
        say "test: fetching kubectl $version (package $package of Debian $suite)"
        tools/fetch-from-release.sh "$suite" "$package" "$into" >>"$log" 2>&1 ||
            { tail -n 15 "$log" >&2
              die "test: no kubectl $version; any copy put at build/bin/kubectl-$version will do"; }
        mkdir -p build/bin
        ln -sfn "../kubectl-$version/usr/bin/kubectl" build/bin/kubectl-"$version"
        build/bin/kubectl-"$version" version --client >>"$log" 2>&1 ||
            die "test: the kubectl fetched into $into does not run here"
    fi
}

# from_pypi VENV FILE: what tests use that Debian lacks, in the versions that the file names.
from_pypi() {
    local venv=$1 file=$2 stamp=$1/requirements.txt
    if cmp -s "$file" "$stamp"; then return; fi
    say "test: installing $(grep -ci '^[a-z]' "$file") packages from PyPI into $venv"
    /usr/bin/python3 -m pip --python "$venv/bin/python" --disable-pip-version-check install -q \
        -r "$file" >>"$log" 2>&1 </dev/null ||
        { tail -n 15 "$log" >&2; die "test: pip could not install what $file names"; }
    replace "$stamp" <"$file"
}

# JupyterLab has an environment of its own, as muster notebook --setup makes one: its needs would change build/venv's.
jupyter() {
    local venv=build/jupyter
    [ -x $venv/bin/python ] || /usr/bin/python3 -m venv --system-site-packages --without-pip $venv >>"$log" 2>&1 ||
        { tail -n 5 "$log" >&2; die "test: could not make $venv"; }
    from_pypi $venv tools/jupyter-requirements.txt
}

# Horovod has no package that fits Debian's PyTorch: it is built here, once; pip keeps the result for later checkouts.
horovod() {
    local venv=build/venv version=0.28.1
    if $venv/bin/python -c 'import horovod.torch' 2>/dev/null; then return; fi
    packages test "${horovod_packages[@]}"
    say "test: building Horovod $version for Debian's PyTorch (some minutes, unless pip has it still)"
    env HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_MPI=1 HOROVOD_CPU_OPERATIONS=MPI HOROVOD_WITHOUT_GLOO=1 \
        HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 MAKEFLAGS="-j$(nproc)" \
        /usr/bin/python3 -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation \
        -w build/wheels horovod==$version >>"$log" 2>&1 </dev/null ||
        { grep -i 'error' "$log" | head -n 15 >&2; die "test: Horovod could not be built; $log says more"; }
    /usr/bin/python3 -m pip --python $venv/bin/python --disable-pip-version-check install -q --no-deps \
        build/wheels/horovod-$version-*.whl >>"$log" 2>&1 </dev/null ||
        { tail -n 15 "$log" >&2; die "test: Horovod could not be installed"; }
}

# npm_packages PHASE: what drives the browser and what checks TypeScript comes with what builds the console.
npm_packages() {
    if [ console/node_modules/.package-lock.json -nt console/package-lock.json ] && [ -d console/node_modules/eslint ]; then return; fi
    say "$1: installing the console's packages from npm"
    (cd console && flock package.json npm ci --no-audit --no-fund) >>"$log" 2>&1 </dev/null ||
        { tail -n 15 "$log" >&2; die "$1: npm could not install what console/package-lock.json names"; }
}

phase() {
    case $1 in
    build) packages build "${build_packages[@]}" ;;
    demo)  packages demo "${build_packages[@]}" "${demo_packages[@]}"; python_env ;;
    test)  packages test "${build_packages[@]}" "${demo_packages[@]}" "${test_packages[@]}"; python_env
           from_pypi build/venv tools/requirements.txt
           jupyter
           npm_packages test
           horovod
           kubectl_from 1.20 bookworm kubernetes-client
           kubectl_from 1.32 trixie kubectl ;;
    lint)  packages lint "${build_packages[@]}" "${lint_packages[@]}"; npm_packages lint ;;
    bench) packages bench "${build_packages[@]}" "${bench_packages[@]}" ;;
    docs)  packages docs "${docs_packages[@]}" ;;
    image) packages image "${build_packages[@]}" "${image_packages[@]}" ;;
    cluster) packages cluster "${cluster_packages[@]}" ;;
    *)     usage ;;
    esac
}

[ $# -gt 0 ] || usage
for what in "$@"; do
    case $what in build|demo|test|lint|docs|bench|image|cluster) ;; *) usage ;; esac
done
mkdir -p build
exec 9>build/setup.lock
flock 9 # apt's lists are one program's at a time
: >"$log"
for what in "$@"; do phase "$what"; done

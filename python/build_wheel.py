#!/usr/bin/env python3
"""build_wheel.py TREE OUT - the wheel: this folder's package, and the relocatable program of `make tarball` (TREE).

Also a PEP 517 backend, which takes the tree from build/. The same input yields the same bytes: entries are sorted, and
their time is SOURCE_DATE_EPOCH.
"""
import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TAG = "py3-none-manylinux_2_34_{machine}"  # the newest glibc symbol the program asks for


def version():
    return re.search(r'MUSTER_VERSION "(.*)"', (HERE.parent / "src/base/version.h").read_text())[1]


def program(tree):
    """What runs: without man pages and completion, which pip has no place for."""
    for path in sorted(tree.rglob("*")):
        where = path.relative_to(tree)
        if path.is_file() and where.parts[0] in ("bin", "lib") and where.parts[1] != "systemd":
            yield f"muster/dist/{where}", path.read_bytes(), 0o755 if where.parts[0] == "bin" else 0o644
    yield "muster/dist/LICENSE", (HERE.parent / "LICENSE").read_bytes(), 0o644
    for path in sorted((tree / "share/doc/muster/libraries").glob("*")):
        yield f"muster/dist/libraries/{path.name}", path.read_bytes(), 0o644


def write(tree, out):
    name = f"muster-{version()}"
    tag = TAG.format(machine=os.uname().machine)
    entries = [(f"muster/{path.name}", path.read_bytes(), 0o644) for path in sorted((HERE / "muster").glob("*"))
               if path.suffix in (".py", ".typed")]
    entries += program(tree)
    entries += [
        (f"{name}.dist-info/METADATA", f"""Metadata-Version: 2.1
Name: muster
Version: {version()}
Summary: Distributed training jobs on one machine or a cluster
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}""".encode(), 0o644),
        (f"{name}.dist-info/WHEEL", f"""Wheel-Version: 1.0
Generator: muster
Root-Is-Purelib: false
Tag: {tag}
""".encode(), 0o644),
        (f"{name}.dist-info/entry_points.txt", b"[console_scripts]\nmuster = muster.__main__:main\n", 0o644),
    ]
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}"
             for path, data, _ in entries]
    entries.append((record, "\n".join([*lines, f"{record},,", ""]).encode(), 0o644))
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # zip begins in 1980
    wheel = pathlib.Path(out, f"{name}-{tag}.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data, mode in entries:
            info = zipfile.ZipInfo(path, when)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return wheel


def build_wheel(out, config_settings=None, metadata_directory=None):
    trees = sorted(HERE.parent.glob("build/package/muster-*/bin/muster"))
    if not trees:
        raise SystemExit("build/package holds no program: run `make tarball` first")
    return write(trees[0].parents[1], out).name


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    print(write(pathlib.Path(sys.argv[1]), sys.argv[2]))

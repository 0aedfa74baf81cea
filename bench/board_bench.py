#!/usr/bin/env python3
"""board_bench.py - how fast src/board reads event files, beside TensorBoard's own two loaders on the same files.

    board_bench.py --build build [--megabytes 64] [--folder DIR]

Uses build/bench/board_files to write them and build/bench/board_read to read them. TensorBoard's loaders, from PyPI in
build/venv: EventAccumulator (Python, what scripts use) and the data server (Rust, what the tensorboard command uses).
Each reads with a cold process and warm file cache; memory is the process's peak.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PYTHON = str(ROOT / "build/venv/bin/python")

ACCUMULATOR = """
import resource, sys, time
start = time.monotonic()
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
loaded = EventMultiplexer(size_guidance={"scalars": 1000}).AddRunsFromDirectory(sys.argv[1])
loaded.Reload()
print(time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def ours(build, folder):
    best = None
    for _ in range(3):
        figures = json.loads(subprocess.check_output([f"{build}/bench/board_read", folder]))
        if best is None or figures["seconds"] < best["seconds"]:
            best = figures
    return best


def python_loader(folder):
    out = subprocess.run([PYTHON, "-c", ACCUMULATOR, folder], capture_output=True, text=True, check=True).stdout
    seconds, peak_kb = out.split()
    return {"seconds": float(seconds), "max_rss_kb": int(peak_kb)}


def rust_loader(folder):
    """The data server says when it has loaded everything; then it is ended."""
    find = "import tensorboard_data_server as t; print(t.server_binary())"
    server = subprocess.check_output([PYTHON, "-c", find], text=True).strip()
    start = time.monotonic()
    process = subprocess.Popen([server, "--logdir", folder, "--reload", "once", "--port", "0", "-v", "-v",
                                "--samples-per-plugin", "scalars=1000"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if re.search("[Ff]inished load cycle|load cycle.*finished", line):
                seconds = time.monotonic() - start
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                return {"seconds": seconds, "max_rss_kb": int(re.search(r"VmHWM:\s+(\d+)", status).group(1))}
        raise RuntimeError(f"the data server ended with {process.wait()}")
    finally:
        process.kill()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description="Reading event files, beside TensorBoard.")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--folder", help="read these files instead of writing some")
    parser.add_argument("--scalars", action="store_true", help="nothing but scalars: the worst case")
    parser.add_argument("--without-python", action="store_true", help="leave the slow one out")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="muster-board-")
    try:
        if not options.folder:
            subprocess.run([f"{options.build}/bench/board_files", folder, str(options.megabytes),
                            *(["scalars"] if options.scalars else [])], check=True)
        us = ours(options.build, folder)
        size = us["bytes"] / 2**20
        print(f"event files: {size:.0f} MiB, {us['records']} records, {us['points']} scalar points, {us['runs']} runs")
        rows = [("muster", us)]
        if subprocess.run([PYTHON, "-c", "import tensorboard"], stderr=subprocess.DEVNULL).returncode:
            print("  (tensorboard is not in build/venv: tools/setup.sh test)")
            options.without_python = True
        else:
            rows.append(("TensorBoard, data server (Rust)", rust_loader(folder)))
        if not options.without_python:
            rows.append(("TensorBoard, EventAccumulator (Python)", python_loader(folder)))
        for name, row in rows:
            print(f"  {name:40s} {row['seconds']:8.2f} s  {size / row['seconds']:8.1f} MiB/s  "
                  f"{row['max_rss_kb'] / 1024:7.1f} MiB memory  {row['seconds'] / us['seconds']:7.1f} x our time")
        return 0
    finally:
        if not options.folder:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

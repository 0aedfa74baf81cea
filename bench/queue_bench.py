#!/usr/bin/python3
"""Admissions through the API and the store: groups in queues, on nodes that are only told of, with simulated run times.

bench/queue_load.c plays the users and the kubelets. The API server and the scheduler are processes of their own, so that
each one's CPU and memory can be told; --up has both in one `muster up`. By default a tenth of the published sizes of
Kueue's tests, and once with ten times as many waiting in a tenth of them; --full takes the sizes themselves.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

from bench import Daemon, process_cpu_s, process_rss_mb

# 1,000 nodes of 4 CPUs and runs of 0.8 to 4 s let about 1,350 groups start a second.
SIZES = ((1500, 30), (15000, 30), (5000, 100))
FULL_SIZES = ((1500, 30), (15000, 30), (50000, 1000))


class Scheduler:
    """`muster scheduler` beside an API server of ours."""

    def __init__(self, binary, daemon):
        self.process = subprocess.Popen(
            [binary, "scheduler", "--kubeconfig", f"{daemon.folder.name}/kubeconfig"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def keep_off(daemon):
    """The machine's own node, once it is there, takes no pods."""
    connection = daemon.connect()
    while not (nodes := daemon.call(connection, "GET", "/api/v1/nodes")[1]["items"]):
        time.sleep(0.05)
    status, answer = daemon.call(connection, "PATCH", f"/api/v1/nodes/{nodes[0]['metadata']['name']}",
                                 {"spec": {"unschedulable": True}})
    if status != 200:
        sys.exit(f"bench: keeping pods off the node gave {status}: {answer}")


def load(chosen, daemon, groups, queues):
    done = subprocess.run([pathlib.Path(chosen.binary).parent / "bench/queue_load", str(daemon.port), str(groups), str(queues),
                           str(chosen.nodes), str(chosen.run_ms), str(chosen.pods)],
                          env=dict(os.environ, TOKEN=daemon.token), capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.startswith("RESULT "):
        sys.exit(f"bench: queue_load failed: {done.stdout}{done.stderr}")
    return map(float, done.stdout.split()[1:])


def measure(chosen, groups, queues):
    daemon = Daemon(chosen.binary, *([] if chosen.up else ["--only", "api"]))
    scheduler = daemon if chosen.up else Scheduler(chosen.binary, daemon)
    try:
        if chosen.up:
            keep_off(daemon)
        plain, = load(chosen, daemon, 0, 0)
        begin, server = process_cpu_s(scheduler.process.pid), daemon.cpu_s()
        load_s, all_s, admitted, waiting, after_s, after, p50, p99, writes, _ = load(chosen, daemon, groups, queues)
        cpu, served = process_cpu_s(scheduler.process.pid) - begin, daemon.cpu_s() - server
        print(f"{groups} groups of {chosen.pods} in {queues} queues on {chosen.nodes} nodes: {admitted / all_s:.0f} admissions/s, "
              f"plain creates {plain:.0f}/s ({admitted / all_s / plain:.2f}), made in {load_s:.1f} s; then {waiting:.0f} waited: "
              f"{after / max(after_s, .001):.0f}/s; free to bound p50 {p50 / 1000:.0f} ms, p99 {p99 / 1000:.0f} ms; "
              f"{writes / admitted:.1f} writes an admission; CPU {cpu * 1e6 / admitted:.0f} us "
              f"{'in all' if chosen.up else f'scheduler, {served * 1e6 / admitted:.0f} us server'}; "
              f"{process_rss_mb(scheduler.process.pid):.0f} MB{'' if chosen.up else f' and {daemon.rss_mb():.0f} MB'}", flush=True)
    finally:
        if scheduler is not daemon:
            scheduler.stop()
        daemon.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", default="build/muster")
    options.add_argument("--full", action="store_true", help="15,000 groups in 30 queues and 50,000 in 1,000")
    options.add_argument("--up", action="store_true", help="everything in one process")
    options.add_argument("--sizes", nargs="*", help="GROUPSxQUEUES")
    options.add_argument("--nodes", type=int, default=1000)
    options.add_argument("--pods", type=int, default=1, help="of a group")
    options.add_argument("--run-ms", type=int, default=800, help="of the shortest; others 2.5 and 5 times as long")
    chosen = options.parse_args()
    for groups, queues in [map(int, s.split("x")) for s in chosen.sizes] if chosen.sizes else FULL_SIZES if chosen.full else SIZES:
        measure(chosen, groups, queues)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Searching a log of a gigabyte: until the first hit, until all are counted, and what it costs the daemon meanwhile.

The log is written by a pod, as logs are. `others` is how long a small request waits while the search runs.
"""
import argparse
import json
import sys
import threading
import time
import urllib.parse

from bench import Daemon

LINE = "step %.0f epoch 3 loss 0.0123 accuracy 0.9876 throughput 12345.6 tokens/s lr 3.0e-4"
PODS = "/api/v1/namespaces/default/pods"


def write_log(daemon, connection, lines):
    command = f"seq -f '{LINE}' {lines}; echo the last words"
    status, answer = daemon.call(connection, "POST", PODS, {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talk"},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "none", "command": ["sh", "-c", command]}]}})
    if status != 201:
        sys.exit(f"bench: {answer}")
    until = time.monotonic() + 300
    while daemon.call(connection, "GET", f"{PODS}/talk")[1]["status"].get("phase") != "Succeeded":
        if time.monotonic() > until:
            sys.exit("bench: the log was not written in time")
        time.sleep(0.1)


class Others(threading.Thread):
    """Small requests, one after the other; the longest wait."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_, self.worst, self.rss, self.over = daemon, 0.0, 0.0, False

    def run(self):
        connection = self.daemon_.connect()
        while not self.over:
            begin = time.perf_counter()
            self.daemon_.call(connection, "GET", f"{PODS}/talk")
            self.worst = max(self.worst, time.perf_counter() - begin)
            self.rss = max(self.rss, self.daemon_.rss_mb())
            time.sleep(0.01)


def search(daemon, connection, **query):
    """(seconds to the first hit, to the end, the end's line)"""
    begin = time.perf_counter()
    connection.request("GET", f"{PODS}/talk/log?{urllib.parse.urlencode(query)}",
                       headers={"Authorization": f"Bearer {daemon.token}"})
    answer = connection.getresponse()
    first = line = None
    for line in answer:
        if first is None and b'"text"' in line:
            first = time.perf_counter() - begin
    return first, time.perf_counter() - begin, json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default="build/muster")
    parser.add_argument("--gigabytes", type=float, default=1)
    options = parser.parse_args()
    daemon = Daemon(options.binary, "--log-limit", "4Gi", "--overcommit")
    try:
        connection = daemon.connect()
        write_log(daemon, connection, int(options.gigabytes * 1e9 / 129))
        idle = daemon.rss_mb()
        search(daemon, connection, search="nothing", count="true")  # from now on the file is in memory, if it fits
        for what, query in (("text, many hits", {"search": "step 12345", "lines": 100}),
                            ("text without case", {"search": "STEP 12345", "ignoreCase": "true", "lines": 100}),
                            ("expression", {"search": r"step \d*777\d* .* loss 0\.0?1", "regex": "true", "lines": 100}),
                            ("one hit at the end", {"search": "last words", "lines": 100}),
                            ("errors and warnings", {"search": "", "level": "error,warn", "lines": 100})):
            others = Others(daemon)
            others.start()
            first, whole, end = search(daemon, connection, count="true", **query)
            others.over = True
            others.join()
            print(f"search {end['total'] / 1e9:.2f} GB, {what:20}: first hit {first if first is None else round(first, 3)} s, "
                  f"{end['count']} hits in {whole:.2f} s; memory {idle:.1f} -> {others.rss:.1f} MB, "
                  f"others wait at most {others.worst * 1e3:.0f} ms")
        first, _, _ = search(daemon, connection, search="last words", back="true", lines=1)
        print(f"search back from the end: first hit {first:.3f} s")
    finally:
        daemon.stop()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Short jobs without end: what a daemon holds must not grow with how many it has seen.

Runs jobs of one replica that print a line and end, some at once, deletes each when it is over, and notes memory, files and
the database after each step. Exits with 1 when after the last job one of them is more than --tolerance above what it was
after --first jobs.

    bench/soak.py [--jobs 20000] [--first 2000] [--binary build/muster]
"""
import argparse
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
PODS = "/api/v1/namespaces/default/pods"


def job(number):
    container = {"name": "python", "image": "none", "command": ["echo", f"job {number}"],
                 "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
            "metadata": {"name": f"soak-{number}"},
            "spec": {"replicaSpecs": [{"type": "worker", "replicas": 1,
                                       "template": {"spec": {"containers": [container]}}}]}}


class Daemon:
    def __init__(self, binary, folder):
        self.folder = pathlib.Path(folder)
        self.output = open(self.folder / "daemon.txt", "wb")
        self.process = subprocess.Popen([binary, "up", "--dir", folder, "--listen", "127.0.0.1:0"],
                                        stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output)
        while not self.is_ready():
            if self.process.poll() is not None:
                sys.exit(f"soak: muster up ended with {self.process.returncode}")
            time.sleep(0.01)

    def is_ready(self):
        try:
            pid, address = (self.folder / "muster.pid").read_text().split()
            if int(pid) != self.process.pid:
                return False
            self.port = int(address.rsplit(":", 1)[1])
            self.token = (self.folder / "token").read_text().strip()
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            return self.call("GET", "/readyz")[0] == 200
        except (OSError, ValueError):
            return False

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def watch(self, version):
        """Names of jobs as they end."""
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            connection.request("GET", f"{JOBS}?watch=true&resourceVersion={version}",
                               headers={"Authorization": f"Bearer {self.token}"})
            for line in connection.getresponse():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    sys.exit(f"soak: the watch ended: {event}")
                version = event["object"]["metadata"]["resourceVersion"]
                phase = event["object"].get("status", {}).get("phase")
                if event["type"] != "DELETED" and phase in ("Succeeded", "Failed"):
                    yield event["object"]["metadata"]["name"], phase
            connection.close()

    def figures(self):
        status = (pathlib.Path("/proc") / str(self.process.pid) / "status").read_text()
        files = sum(len(names) for _, _, names in os.walk(self.folder))
        folders = sum(len(names) for _, names, _ in os.walk(self.folder))
        database = sum((self.folder / name).stat().st_size for name in ("muster.db", "muster.db-wal"))
        return {"memory_mb": int(status.split("VmRSS:")[1].split()[0]) / 1024, "files": files, "folders": folders,
                "database_mb": database / 1e6, "descriptors": len(os.listdir(f"/proc/{self.process.pid}/fd"))}


def quiet(daemon):
    """Until nothing of the jobs is left and what is kept was trimmed."""
    while json.loads(daemon.call("GET", PODS)[1])["items"]:
        time.sleep(0.2)
    while len(os.listdir(daemon.folder / "pods")) > 1:
        time.sleep(0.2)
    before = None
    while before != (now := daemon.figures()["files"]):  # trimming is done every ten seconds
        before = now
        time.sleep(12)


def run(daemon, first, last, at_once):
    version = json.loads(daemon.call("GET", JOBS)[1])["metadata"]["resourceVersion"]
    ended = daemon.watch(version)
    made, over, seen = first, first, set()
    while over < last:
        while made < last and made - over < at_once:
            status, text = daemon.call("POST", JOBS, job(made))
            if status != 201:
                sys.exit(f"soak: creating a job gave {status}: {text}")
            made += 1
        name, phase = next(ended)
        if phase != "Succeeded":
            sys.exit(f"soak: {name} is {phase}")
        if name not in seen:
            seen.add(name)
            over += 1
            daemon.call("DELETE", f"{JOBS}/{name}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", default="build/muster")
    arguments.add_argument("--jobs", type=int, default=20000)
    arguments.add_argument("--first", type=int, default=2000)
    arguments.add_argument("--at-once", type=int, default=20)
    arguments.add_argument("--tolerance", type=float, default=0.1)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="muster-soak-") as folder:
        daemon = Daemon(options.binary, folder)
        steps = sorted({options.first, *range(options.first, options.jobs, max(options.first, 1)), options.jobs})
        done, noted = 0, {}
        try:
            for step in steps:
                began = time.monotonic()
                run(daemon, done, step, options.at_once)
                rate = (step - done) / (time.monotonic() - began)
                quiet(daemon)
                done, noted[step] = step, daemon.figures()
                print(f"{step:6} jobs  " + "  ".join(f"{name} {value:8.1f}" for name, value in noted[step].items()) +
                      f"  {rate:6.1f} jobs/s", flush=True)
        finally:
            daemon.process.terminate()
            daemon.process.wait()
    grown = [f"{name}: {noted[options.first][name]:.1f} -> {value:.1f}" for name, value in noted[options.jobs].items()
             if value > noted[options.first][name] * (1 + options.tolerance)]
    print("grown: " + ", ".join(grown) if grown else f"nothing grew by more than {options.tolerance:.0%}")
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()

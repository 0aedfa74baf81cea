#!/usr/bin/python3
"""How long an MPIJob of 16 workers takes to start, beside plain mpirun on the same machine.

The job: from "all workers are ready" (the launcher says so) to the first line of a rank, by the times in its log.
mpirun: from its start to the same line, with 16 processes on the processors there are. Goal: at most twice. Measure on
an idle machine: as root all pods together weigh as much as the machine's processors, mpirun's processes one each.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench import Daemon, wait_for_pods, watch  # noqa: E402

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/mpijobs"
PROGRAM = HERE.parent / "examples/mpi/pi"


def job(name, workers):
    small = {"requests": {"cpu": "1", "memory": "1Mi"}}  # less is a smaller share of a busy machine
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": name},
            "spec": {"mpiConfig": {"script": [str(PROGRAM), "1000"]}, "runPolicy": {"cleanUpWorkers": True},
                     "replicaSpecs": [
                         {"type": "launcher", "template": {"spec": {"containers": [
                             {"name": "launcher", "resources": {"requests": small["requests"],
                                                                "limits": {"cpu": "16", "memory": "2Gi"}}}]}}},
                         {"type": "worker", "replicas": workers, "template": {"spec": {
                             "terminationGracePeriodSeconds": 0,
                             "containers": [{"name": "worker", "image": "none", "resources": small}]}}}]}}


def job_start_ms(daemon, name, workers):
    control = daemon.connect()
    status, answer = daemon.call(control, "POST", JOBS, job(name, workers))
    if status != 201:
        sys.exit(f"bench: creating a job gave {status}: {answer}")
    connection, events = watch(daemon, f"{JOBS}?watch=true&fieldSelector=metadata.name%3D{name}")
    while True:
        found = json.loads(events.readline())["object"].get("status", {})
        if found.get("phase") in ("Succeeded", "Failed"):
            break
    connection.close()
    if found["phase"] == "Failed":
        sys.exit(f"bench: the job failed: {json.dumps(found['conditions'][-1])}")
    pods = daemon.call(control, "GET", "/api/v1/namespaces/default/pods")[1]["items"]
    launcher = next(pod["metadata"]["name"] for pod in pods if "launcher" in pod["metadata"]["name"])
    control.request("GET", f"/api/v1/namespaces/default/pods/{launcher}/log?timestamps=true",
                    headers={"Authorization": f"Bearer {daemon.token}"})
    lines = control.getresponse().read().decode().splitlines()
    when = [next(line for line in lines if words in line).split()[0] for words in ("services are ready!", "rank ")]
    ready, first = (datetime.datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00") for text in when)
    daemon.call(control, "DELETE", f"{JOBS}/{name}")
    while daemon.call(control, "GET", "/api/v1/namespaces/default/pods")[1]["items"]:
        time.sleep(0.05)
    return (first - ready).total_seconds() * 1000


def plain_start_ms(workers):
    command = ["mpirun", "--oversubscribe", "-np", str(workers), str(PROGRAM), "1000"]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            if line.startswith(b"rank "):
                took = (time.perf_counter() - begin) * 1000
                break
        process.stdout.read()
    return took


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", default="build/muster")
    options.add_argument("--workers", type=int, default=16)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()

    subprocess.run(["make", "-s", "-C", str(PROGRAM.parent)], check=True)
    daemon = Daemon(chosen.binary, "--overcommit")
    ours, plain = [], []
    try:
        for number in range(chosen.rounds):  # in turns: what else the machine does hits both
            plain.append(plain_start_ms(chosen.workers))
            ours.append(job_start_ms(daemon, f"start-{number}", chosen.workers))
        wait_for_pods(daemon)
    finally:
        daemon.stop()
    mine, theirs = statistics.median(ours), statistics.median(plain)
    print(f"MPIJob of {chosen.workers} workers, ready to first line: {mine:.0f} ms median of {len(ours)} "
          f"({min(ours):.0f} to {max(ours):.0f}); mpirun -np {chosen.workers}: {theirs:.0f} ms "
          f"({min(plain):.0f} to {max(plain):.0f}): {mine / theirs:.1f}x (goal <= 2)")


if __name__ == "__main__":
    main()

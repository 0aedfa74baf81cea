#!/usr/bin/python3
"""How long a pod in an unpacked image takes over one that is a process: from its creation to its program's first words, by
the time the program says itself. Both run the same static BusyBox. Goal: at most 20 ms more. Measure on an idle machine."""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench import Daemon, wait_for_pods, watch  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
BUSYBOX = "/bin/busybox"
IMAGE = "bench/busybox:1"


def load(daemon, binary):
    """An image of BusyBox alone."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "root/bin").mkdir(parents=True)
        shutil.copy(BUSYBOX, work / "root/bin")
        for command in (["umoci", "init", "--layout", "layout"], ["umoci", "new", "--image", "layout:1"],
                        ["umoci", "insert", "--image", "layout:1", "root", "/"],
                        ["skopeo", "copy", "-q", "oci:layout:1", f"docker-archive:image.tar:{IMAGE}"]):
            subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([binary, "image", "load", "--dir", daemon.folder.name, work / "image.tar", IMAGE], check=True,
                       stdout=subprocess.DEVNULL)


def start_ms(daemon, control, name, runtime):
    began = time.time()
    status, answer = daemon.call(control, "POST", PODS, {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "runtimeClassName": runtime, "restartPolicy": "Never", "containers": [
                {"name": "main", "image": IMAGE, "imagePullPolicy": "Never",
                 "command": [BUSYBOX, "adjtimex"]}]}})
    if status != 201:
        sys.exit(f"bench: creating a pod gave {status}: {answer}")
    connection, events = watch(daemon, f"{PODS}?watch=true&fieldSelector=metadata.name%3D{name}")
    while True:
        found = json.loads(events.readline())["object"].get("status", {})
        if found.get("phase") in ("Succeeded", "Failed"):
            break
    connection.close()
    control.request("GET", f"{PODS}/{name}/log", headers={"Authorization": f"Bearer {daemon.token}"})
    words = control.getresponse().read().decode()
    said = {line.split(":")[0].strip(): line.split(":")[1].split()[0] for line in words.splitlines() if ":" in line}
    daemon.call(control, "DELETE", f"{PODS}/{name}")
    if "time.tv_sec" not in said:
        sys.exit(f"bench: the pod said: {words} {found}")
    micros = int(said["time.tv_usec"])
    return (int(said["time.tv_sec"]) + micros / (1e9 if micros > 999999 else 1e6) - began) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(HERE.parent / "build/muster"))
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    daemon = Daemon(options.binary)
    try:
        load(daemon, options.binary)
        control = daemon.connect()
        times = {"process": [], "image": []}
        for number in range(options.rounds + 1):
            for runtime, found in times.items():
                found.append(start_ms(daemon, control, f"{runtime}-{number}", runtime))
        wait_for_pods(daemon)
    finally:
        daemon.stop()
    medians = {runtime: statistics.median(found[1:]) for runtime, found in times.items()}
    print(f"image_start: process {medians['process']:.1f} ms, image {medians['image']:.1f} ms: "
          f"{medians['image'] - medians['process']:+.1f} ms (goal: +20 ms)")


if __name__ == "__main__":
    main()

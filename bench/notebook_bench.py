#!/usr/bin/python3
"""What idle Notebooks cost the daemon: its memory with one and with many of them, when old changes have been forgotten and
unused objects compressed. A small program stands in for JupyterLab. Goal: 50 more take at most 1 MB. Takes a quarter of an hour."""
import argparse
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench import Daemon, wait_for_pods  # noqa: E402

NOTEBOOKS = "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks"
PROGRAM = """#!/usr/bin/python3
import socket, sys
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
server = socket.create_server((options["ServerApp.ip"], int(options["ServerApp.port"])))
while True:
    client = server.accept()[0]
    client.recv(65536)
    client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\n[]")
    client.close()
"""


def notebook(name):
    return {"apiVersion": "tensorstack.dev/v1beta1", "kind": "Notebook", "metadata": {"name": name}, "spec": {
        "type": "jupyter", "template": {"spec": {
            "containers": [{"name": "notebook", "image": "none", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
                            "volumeMounts": [{"name": "w", "mountPath": "/t9k/mnt"}]}],
            "volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": name}}]}}}}


def make(daemon, control, names):
    for name in names:
        status, answer = daemon.call(control, "POST", NOTEBOOKS, notebook(name))
        if status != 201:
            sys.exit(f"bench: creating a Notebook gave {status}: {answer}")
        while daemon.call(control, "GET", f"{NOTEBOOKS}/{name}")[1].get("status", {}).get("phase") != "Running":
            time.sleep(0.05)


def anonymous_kb(pid):
    """Without the pages of the program and its libraries."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))


def at_rest_kb(daemon, seconds):
    """The least in the time of two rounds of activity: each parses every Notebook again for a minute."""
    time.sleep(seconds)
    found = []
    for _ in range(20):
        found.append(anonymous_kb(daemon.process.pid))
        time.sleep(seconds / 20)
    return min(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(HERE.parent / "build/muster"))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--rest", type=float, default=600, help="seconds without use before memory is read")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as programs:
        os.chmod(programs, 0o755)
        program = pathlib.Path(programs, "jupyter-lab")
        program.write_text(PROGRAM)
        program.chmod(0o755)
        os.environ["PATH"] = f"{programs}:/usr/bin:/bin"
        os.environ.pop("VIRTUAL_ENV", None)
        daemon = Daemon(options.binary)
        control = daemon.connect()
        names = [f"nb{i}" for i in range(options.count + 1)]
        try:
            make(daemon, control, names[:1])
            one = at_rest_kb(daemon, min(options.rest, 60))
            make(daemon, control, names[1:])
            many = at_rest_kb(daemon, options.rest)
            for name in names:
                daemon.call(control, "DELETE", f"{NOTEBOOKS}/{name}")
            wait_for_pods(daemon)
        finally:
            daemon.stop()
    print(f"notebooks: one {one} kB, {options.count} more {many - one:+d} kB (goal for 50: +1000 kB)")


if __name__ == "__main__":
    main()

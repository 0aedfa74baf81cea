#!/usr/bin/python3
"""The figures `make bench` prints: memory, start, latency of a job, durable creates, reads, watchers.

Everything runs against daemons started here, on loopback, in throw-away folders, for bounded times. Absolute figures
depend on the machine; the probe of raw fdatasync in the same run says what the disk allows.
"""
import argparse
import http.client
import json
import os
import pathlib
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
# A real kube-apiserver 1.32 with etcd 3.5 on 2 cores: ready, idle memory, creates/s and p99 by clients.
PEER = {"ready_s": 3.0, "rss_mb": 278, "creates": {1: (397, 13), 100: (1691, 130), 1000: (1318, 2185)}}


def process_rss_mb(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def process_cpu_s(pid):
    """User and system time so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Daemon:
    """One `muster up` in its own folder; ready when the constructor returns."""

    def __init__(self, binary, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="muster-bench-")
        started = time.monotonic()
        self.process = subprocess.Popen(
            [binary, "up", "--dir", self.folder.name, "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = self.token = None
        while not self.answers():
            if self.process.poll() is not None:
                sys.exit(f"bench: `{binary} up` ended with {self.process.returncode} before it was ready")
            if time.monotonic() - started > 30:
                sys.exit("bench: not ready after 30 s")
            time.sleep(0.0005)
        self.ready_s = time.monotonic() - started

    def answers(self):
        if self.port is None:
            try:
                config = (pathlib.Path(self.folder.name) / "kubeconfig").read_text()
                self.token = (pathlib.Path(self.folder.name) / "token").read_text().strip()
            except FileNotFoundError:
                return False
            servers = [line.split()[-1].strip('"') for line in config.splitlines() if "server:" in line]
            if not servers:
                return False
            self.port = urllib.parse.urlsplit(servers[0]).port
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def call(self, connection, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def rss_mb(self):
        return process_rss_mb(self.process.pid)

    def cpu_s(self):
        return process_cpu_s(self.process.pid)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def sync_probe():
    """Median of one 4 KiB write with fdatasync, microseconds."""
    times = []
    with tempfile.TemporaryFile() as file:
        for at in range(200):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), b"\0" * 4096, at * 4096)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def sleep_job(name, replicas=4):
    container = {"name": "python", "image": "none", "command": ["sleep", "1000"],
                 "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}}}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": name},
            "spec": {"replicaSpecs": [{"type": "worker", "replicas": replicas,
                                       "template": {"spec": {"terminationGracePeriodSeconds": 0,
                                                             "containers": [container]}}}]}}


def watch(daemon, path):
    connection = daemon.connect()
    connection.request("GET", path, headers={"Authorization": f"Bearer {daemon.token}"})
    return connection, connection.getresponse()


def submit_to_running(daemon, rounds):
    jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
    control = daemon.connect()
    times = []
    for number in range(rounds):
        _, listed = daemon.call(control, "GET", "/api/v1/namespaces/default/pods")
        version = listed["metadata"]["resourceVersion"]
        connection, events = watch(daemon,
                                   f"/api/v1/namespaces/default/pods?watch=true&resourceVersion={version}")
        begin = time.perf_counter()
        status, answer = daemon.call(control, "POST", jobs, sleep_job(f"bench-{number}"))
        if status != 201:
            sys.exit(f"bench: creating a job gave {status}: {answer}")
        running, gone = set(), set()
        while len(running) < 4:
            pod = json.loads(events.readline())["object"]
            if pod.get("status", {}).get("phase") == "Running":
                running.add(pod["metadata"]["name"])
        times.append((time.perf_counter() - begin) * 1000)
        daemon.call(control, "DELETE", f"{jobs}/bench-{number}")
        while len(gone) < 4:
            event = json.loads(events.readline())
            if event["type"] == "DELETED":
                gone.add(event["object"]["metadata"]["name"])
        connection.close()
    wait_for_pods(daemon)
    return times


def wait_for_pods(daemon):
    """Until the agent has ended what the API forgot at once: pods outlive their daemon."""
    until = time.monotonic() + 30
    while any((pathlib.Path(daemon.folder.name) / "pods").iterdir()):
        if time.monotonic() > until:
            sys.exit("bench: pods that were deleted still run")
        time.sleep(0.005)


def creates(daemon, clients, seconds, scheme="http"):
    environment = dict(os.environ, TOKEN=daemon.token)
    command = ["wrk", f"-t{1 if clients == 1 else 2}", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s",
               "-s", str(HERE / "create.lua"), f"{scheme}://127.0.0.1:{daemon.port}"]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        if line.startswith("RESULT "):
            requests, duration_us, p50, p99, errors = line.split()[1:]
            return int(requests) / (int(duration_us) / 1e6), float(p50), float(p99), int(errors)
    sys.exit("bench: wrk printed no result:\n" + output)


def measure_tls(binary, clients, seconds, rounds=3):
    """Creates with and without TLS in turn, each on a fresh daemon; and what a client with TLS leaves in memory."""
    found = {"http": [], "https": []}
    for _ in range(rounds):
        for scheme, rates in found.items():
            daemon = Daemon(binary)
            begin = daemon.cpu_s()
            rate, _, p99, errors = creates(daemon, clients, seconds, scheme)
            rates.append((rate, p99, (daemon.cpu_s() - begin) * 1e6 / (rate * seconds), errors))
            daemon.stop()
    plain, tls = (tuple(map(statistics.median, zip(*rates))) for rates in found.values())
    daemon = Daemon(binary)
    connection = http.client.HTTPSConnection("127.0.0.1", daemon.port, context=ssl._create_unverified_context())
    connection.request("GET", "/readyz")
    connection.getresponse().read()
    connection.close()
    time.sleep(2)  # idle again
    print(f"durable creates over TLS, {clients} clients: {tls[0]:.0f}/s against {plain[0]:.0f}/s plain "
          f"({tls[0] / plain[0] * 100 - 100:+.0f} %, goal >= -15), p99 {tls[1]:.2f} ms against {plain[1]:.2f}, "
          f"{tls[2]:.0f} us of CPU each against {plain[2]:.0f}, errors {tls[3] + plain[3]:.0f}; "
          f"idle after a TLS client {daemon.rss_mb():.1f} MB (goal <= 12)")
    daemon.stop()


def reads(daemon, path, clients, seconds, accept="application/json"):
    """Answers per second and the server's CPU time for one, microseconds."""
    begin = daemon.cpu_s()
    output = subprocess.run(
        ["wrk", f"-t{min(2, clients)}", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s", "-H", f"Accept: {accept}",
         "-H", f"Authorization: Bearer {daemon.token}", f"http://127.0.0.1:{daemon.port}{path}"],
        capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit(f"bench: reading {path} failed:\n{output}")
    rate = float(next(line.split()[1] for line in output.splitlines() if line.startswith("Requests/sec")))
    answered = int(next(line.split()[0] for line in output.splitlines() if "requests in" in line))
    return rate, (daemon.cpu_s() - begin) * 1e6 / max(1, answered)


def measure_reads(binary, seconds):
    daemon = Daemon(binary)
    connection = daemon.connect()
    pods = "/api/v1/namespaces/default/pods"
    for number in range(1000):
        status, answer = daemon.call(connection, "POST", pods, {
            "metadata": {"name": f"pod-{number}", "labels": {"app": "bench", "half": str(number % 2)}},
            "spec": {"schedulerName": "nobody", "containers": [{
                "name": "main", "image": "none", "command": ["sleep", "1000"], "env": [{"name": "A", "value": "1"}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}})
        if status != 201:
            sys.exit(f"bench: creating a pod gave {status}: {answer}")
    rate, cost = reads(daemon, f"{pods}/pod-500", 100, seconds)
    print(f"get of a pod, 100 clients: {rate:.0f}/s, {cost:.1f} us of CPU each")
    for what, query, accept in (("", "", "application/json"), (", half of them by label", "?labelSelector=half%3D1", "application/json"),
                                (" as a table", "", "application/json;as=Table;v=v1;g=meta.k8s.io")):
        rate, cost = reads(daemon, pods + query, 8, seconds, accept)
        print(f"list of 1,000 pods{what}, 8 clients: {rate:.0f}/s, {cost / 1000:.2f} ms of CPU each, {daemon.rss_mb():.0f} MB")
    daemon.stop()


def measure_watchers(binary, watchers, rate, seconds):
    daemon = Daemon(binary)
    begin = daemon.cpu_s()
    done = subprocess.run([pathlib.Path(binary).parent / "bench/watch_load", str(daemon.port), str(watchers), str(rate), str(seconds)],
                          env=dict(os.environ, TOKEN=daemon.token), capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.startswith("RESULT "):
        sys.exit(f"bench: watch_load failed: {done.stdout}{done.stderr}")
    changes, events, errors, p50, p99, longest, after50, after99 = map(int, done.stdout.split()[1:])
    cpu = daemon.cpu_s() - begin
    print(f"{watchers} watchers, {changes / seconds:.0f} changes/s (wanted {rate}): {events / seconds:.0f} events/s, "
          f"{changes * watchers - events} missing, errors {errors}; sent to heard p50 {p50 / 1000:.1f} ms, p99 {p99 / 1000:.1f} ms, "
          f"max {longest / 1000:.1f} ms; written to heard p50 {after50 / 1000:.1f} ms, p99 {after99 / 1000:.1f} ms; "
          f"CPU {cpu / seconds * 100:.0f} %, {cpu * 1e6 / max(1, events):.2f} us an event, {daemon.rss_mb():.0f} MB")
    daemon.stop()


def pod_folder(root, name, command):
    """A pod's folder as the agent writes it."""
    folder = pathlib.Path(root, name)
    folder.mkdir()
    record = {"namespace": "default", "name": name, "uid": name, "graceSeconds": 0, "logFileBytes": 16 << 20,
              "logFiles": 8, "containers": [{"name": "main", "argv": command, "env": ["PATH=/usr/bin:/bin"], "cwd": "/"}]}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


def supervise(binary, folder, wanted):
    """Starts a pod without a daemon; answers its record when wanted(record)."""
    subprocess.run([binary, "supervise", str(folder)], check=True)
    while True:
        try:
            record = json.loads((folder / "state.json").read_text())
            if wanted(record):
                return record
        except (FileNotFoundError, ValueError):
            pass
        time.sleep(0.0002)


def supervisors_kb(daemon, pods):
    """({"Pss:": kB, ...} of one pod's supervisors, how many processes they are), of so many pods that sleep."""
    jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
    control = daemon.connect()
    status, answer = daemon.call(control, "POST", jobs, sleep_job("idle", pods))
    if status != 201:
        sys.exit(f"bench: creating a job gave {status}: {answer}")
    while daemon.call(control, "GET", f"{jobs}/idle")[1].get("status", {}).get("phase") != "Running":
        time.sleep(0.05)
    total, processes = {"Pss:": 0, "Private_Dirty:": 0}, 0
    for folder in pathlib.Path(daemon.folder.name, "pods").iterdir():
        record = json.loads((folder / "state.json").read_text())
        for pid in (record["keeperPid"], record["pid"]):
            processes += 1
            for line in open(f"/proc/{pid}/smaps_rollup"):
                if line.split()[0] in total:
                    total[line.split()[0]] += int(line.split()[1])
    daemon.call(control, "DELETE", f"{jobs}/idle")
    wait_for_pods(daemon)
    return {name: kb / pods for name, kb in total.items()}, processes / pods


def supervision(binary):
    """(start over bare fork+exec in ms, MB/s from one program to its log)"""
    small = pathlib.Path(binary).parent / "supervise.stripped"  # what the daemon runs from inside its binary
    binary = small if small.exists() else binary
    writer = ("import os,time\nb=(b'x'*99+b'\\n')*650\nt=time.time()\nfor i in range(8000): os.write(1,b)\n"
              "os.write(2,b'%d' % (len(b)*8000/(time.time()-t)/1e6))")
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as root:
        bare, ours = [], []
        for number in range(20):
            begin = time.perf_counter()
            subprocess.run(["/bin/true"], check=True)
            bare.append(time.perf_counter() - begin)
            folder = pod_folder(root, f"start-{number}", ["/bin/true"])
            begin = time.perf_counter()
            supervise(binary, folder, lambda r: r["containers"][0]["pid"] > 0)
            ours.append(time.perf_counter() - begin)
        folder = pod_folder(root, "log", ["/usr/bin/python3", "-c", writer])
        rate = supervise(binary, folder, lambda r: r["final"])["containers"][0]
        last = max(folder.glob("main.0.*.log"), key=lambda f: int(f.name.split(".")[2])).read_bytes().split()[-1]
        assert rate["exitCode"] == 0
    return (statistics.median(ours) - statistics.median(bare)) * 1000, int(last)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--binary", default="build/muster")
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--seconds", type=int, default=8)
    chosen = options.parse_args()

    print(f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"disk: 4 KiB write + fdatasync, median {sync_probe():.0f} us")
    starts = []
    for _ in range(7):
        daemon = Daemon(chosen.binary)
        starts.append(daemon.ready_s * 1000)
        daemon.stop()
    ready = statistics.median(starts)
    print(f"exec to ready: {ready:.0f} ms median of {len(starts)} (goal <= 100; kube-apiserver "
          f"{PEER['ready_s'] * 1000:.0f}: {PEER['ready_s'] * 1000 / ready:.0f}x)")

    start, rate = supervision(chosen.binary)
    print(f"pod start over bare fork+exec: {start:.1f} ms (goal <= 5)")
    daemon = Daemon(chosen.binary, "--overcommit")
    memory, processes = supervisors_kb(daemon, 20)
    daemon.stop()
    print(f"supervisors of a pod, of 20 that sleep: {memory['Pss:']:.0f} kB proportional, {memory['Private_Dirty:']:.0f} kB "
          f"private, {processes:.0f} processes (goal <= 1024)")
    print(f"one program to its log: {rate} MB/s (goal >= 100)")

    daemon = Daemon(chosen.binary)
    time.sleep(2)  # idle means idle: nothing is waited for here
    rss = daemon.rss_mb()
    print(f"idle resident memory: {rss:.1f} MB (goal <= 15; kube-apiserver {PEER['rss_mb']}: "
          f"{PEER['rss_mb'] / rss:.0f}x)")
    times = submit_to_running(daemon, chosen.rounds)
    print(f"submit to 4 replicas Running: p50 {percentile(times, .5):.0f} ms, p99 {percentile(times, .99):.0f} ms, "
          f"{len(times)} jobs (goal p50 <= 50)")
    daemon.stop()

    for clients, (peer_rate, peer_p99) in PEER["creates"].items():
        daemon = Daemon(chosen.binary)
        begin = daemon.cpu_s()
        rate, p50, p99, errors = creates(daemon, clients, chosen.seconds)
        cost = (daemon.cpu_s() - begin) * 1e6 / (rate * chosen.seconds)
        print(f"durable creates, {clients} clients: {rate:.0f}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms, errors {errors}, "
              f"{cost:.0f} us of CPU each, {daemon.rss_mb():.0f} MB (kube-apiserver {peer_rate}/s, p99 {peer_p99} ms: {rate / peer_rate:.1f}x)")
        daemon.stop()
    measure_tls(chosen.binary, 100, max(2, chosen.seconds // 2))
    measure_reads(chosen.binary, max(2, chosen.seconds // 2))
    for watchers, rate in ((1000, 100), (1000, 1000)):
        measure_watchers(chosen.binary, watchers, rate, chosen.seconds)


if __name__ == "__main__":
    main()

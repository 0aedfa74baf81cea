#!/usr/bin/env python3
"""Jobs by the thousand: jobs/s with real processes, memory of a finished job, ready after a restart, lists.

    bench/jobs_bench.py --binary build/muster --fill build/bench/jobs_fill
    bench/jobs_bench.py --binary build/muster --fill build/bench/jobs_fill --finished 100000 --run ''

Jobs of one `true`. `--run` are numbers of jobs and of replicas that are run; `--finished` are numbers of finished jobs
that are written into the store, with their pods' folders, before a start. docs/performance.md says what bounds the
figures. With `--json FILE` they are also written there."""
import argparse, http.client, json, os, re, shutil, ssl, subprocess, tempfile, threading, time, urllib.parse

JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
PODS = "/api/v1/namespaces/default/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
CLIENTS = 4


class Daemon:
    def __init__(self, binary, home):
        self.binary, self.home = binary, home

    def up(self):
        began = time.monotonic()
        subprocess.run([self.binary, "up", "--detach", "--overcommit", "--dir", self.home, "--listen", "127.0.0.1:0"],
                       check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - began
        config = open(self.home + "/kubeconfig").read()
        self.pid = int(open(self.home + "/muster.pid").read().split()[0])
        self.server = urllib.parse.urlparse(re.search(r'server"?:\s*"?([^"\s]+)', config).group(1))
        self.headers = {"Authorization": "Bearer " + open(self.home + "/token").read().strip(),
                        "Content-Type": "application/json"}
        return took

    def down(self):
        began = time.monotonic()
        subprocess.run([self.binary, "down", "--dir", self.home], check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began

    def connect(self):
        return http.client.HTTPSConnection(self.server.hostname, self.server.port, timeout=600,
                                           context=ssl._create_unverified_context())

    def call(self, c, method, path, body=None, **headers):
        c.request(method, path, None if body is None else json.dumps(body), {**self.headers, **headers})
        r = c.getresponse()
        return r.status, r.read()

    def memory_mb(self):
        return [int(line.split()[1]) / 1024 for line in open(f"/proc/{self.pid}/status") if line.startswith("VmRSS")][0]

    def cpu_s(self):
        f = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")

    def rest(self, quiet_s=2.0):
        """Until it does nothing any more."""
        began, last, since = time.monotonic(), self.cpu_s(), time.monotonic()
        while time.monotonic() - since < quiet_s:
            time.sleep(0.1)
            now = self.cpu_s()
            if now - last > 0.03:
                last, since = now, time.monotonic()
        return since - began


def job(name, replicas):
    container = {"name": "pytorch", "image": "x", "command": ["true"], "workingDir": "/tmp"}
    return {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": name},
            "spec": {"runPolicy": {"cleanUpPolicy": "None"},
                     "replicaSpecs": [{"type": "worker", "replicas": replicas, "restartPolicy": "Never",
                                       "template": {"spec": {"containers": [container]}}}]}}


def run_jobs(d, names, replicas):
    """Submit to Succeeded of all, in seconds; and how many did not succeed."""
    c, ended, all_ended = d.connect(), {}, threading.Event()
    revision = json.loads(d.call(c, "GET", JOBS + "?limit=1")[1])["metadata"]["resourceVersion"]
    wanted, opened = set(names), threading.Event()

    def watch():
        w = d.connect()
        w.request("GET", f"{JOBS}?watch=1&resourceVersion={revision}", None, d.headers)
        answer = w.getresponse()
        opened.set()
        while len(ended) < len(wanted):
            o = json.loads(answer.readline())["object"]
            phase = o.get("status", {}).get("phase")
            if phase in ("Succeeded", "Failed") and o["metadata"]["name"] in wanted:
                ended[o["metadata"]["name"]] = phase
        all_ended.set()

    threading.Thread(target=watch, daemon=True).start()
    opened.wait()
    left, lock, began = iter(names), threading.Lock(), time.monotonic()

    def submit():
        k = d.connect()
        while True:
            with lock:
                name = next(left, None)
            if name is None:
                return
            status, answer = d.call(k, "POST", JOBS, job(name, replicas))
            assert status == 201, answer

    threads = [threading.Thread(target=submit) for _ in range(CLIENTS)]
    for t in threads:
        t.start()
    if not all_ended.wait(600):
        raise SystemExit(f"{len(ended)} of {len(wanted)} jobs have ended after 600 s")
    return time.monotonic() - began, sum(p != "Succeeded" for p in ended.values())


def measure_runs(o, count, replicas):
    home = tempfile.mkdtemp(prefix="muster-jobs-")
    d = Daemon(o.binary, home)
    d.up()
    try:
        run_jobs(d, ["warm"], 1)
        memory, cpu = d.memory_mb(), d.cpu_s()
        took, failed = run_jobs(d, [f"j-{i}" for i in range(count)], replicas)
        cpu = d.cpu_s() - cpu
        d.rest()
        return {"jobs": count, "replicas": replicas, "jobs_per_s": round(count / took, 1), "failed": failed,
                "daemon_cpu_ms_per_job": round(1000 * cpu / count, 2), "memory_mb": round(d.memory_mb(), 1),
                "memory_kb_per_job": round(1024 * (d.memory_mb() - memory) / count, 1), "down_s": round(d.down(), 2),
                "ready_after_restart_s": round(d.up(), 2)}
    finally:
        d.down()
        shutil.rmtree(home, ignore_errors=True)


def list_cost(d, path, accept):
    """Milliseconds of the daemon's CPU for one answer."""
    c, rounds = d.connect(), 50
    d.call(c, "GET", path, Accept=accept)
    before = d.cpu_s()
    for _ in range(rounds):
        status, answer = d.call(c, "GET", path, Accept=accept)
        assert status == 200, answer
    return round(1000 * (d.cpu_s() - before) / rounds, 2)


def measure_finished(o, count):
    home = tempfile.mkdtemp(prefix="muster-jobs-")
    d = Daemon(o.binary, home)
    d.up()
    try:
        run_jobs(d, ["seed-0000000"], 1)
        d.rest(1)
        idle = d.memory_mb()
        d.down()
        subprocess.run([o.fill, home, str(count)], check=True)
        figures = {"finished_jobs": count, "ready_after_restart_s": round(d.up(), 2)}
        took, failed = run_jobs(d, ["first"], 1)
        figures.update(first_job_s=round(took, 2), first_job_failed=failed, at_rest_s=round(d.rest(), 1),
                       cpu_until_rest_s=round(d.cpu_s(), 2), memory_mb=round(d.memory_mb(), 1),
                       memory_kb_per_job=round(1024 * (d.memory_mb() - idle) / count, 2))
        figures["list_1000_pods_cpu_ms"] = list_cost(d, PODS + "?limit=1000", "application/json")
        figures["table_1000_pods_cpu_ms"] = list_cost(d, PODS + "?limit=1000", TABLE)
        took, failed = run_jobs(d, [f"after-{i}" for i in range(100)], 1)
        figures["jobs_per_s"] = round(100 / took, 1)
        figures["down_s"] = round(d.down(), 2)
        figures["ready_again_s"] = round(d.up(), 2)
        return figures
    finally:
        d.down()
        shutil.rmtree(home, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default="build/muster")
    p.add_argument("--fill", default="build/bench/jobs_fill")
    p.add_argument("--run", default="1000x1,300x4", help="JOBSxREPLICAS, ...")
    p.add_argument("--finished", default="1000,10000,100000")
    p.add_argument("--json")
    o = p.parse_args()
    o.binary, o.fill = os.path.abspath(o.binary), os.path.abspath(o.fill)
    figures = []
    for text in filter(None, o.run.split(",")):
        figures.append(measure_runs(o, *map(int, text.split("x"))))
        print(json.dumps(figures[-1]), flush=True)
    for text in filter(None, o.finished.split(",")):
        figures.append(measure_finished(o, int(text)))
        print(json.dumps(figures[-1]), flush=True)
    if o.json:
        with open(o.json, "w") as f:
            json.dump(figures, f, indent=1)


if __name__ == "__main__":
    main()

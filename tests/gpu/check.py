"""What check.sh runs: a daemon, jobs on its API, and what they and the samples say."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MUSTER = sys.argv[1]
PATIENCE = float(os.environ.get("PATIENCE", "120"))
JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
PODS = "/api/v1/namespaces/default/pods"
MEMORY = 512 << 20
# The driver's own API is enough to see a GPU, to take memory of it and to keep it busy.
PROGRAM = f"""
import ctypes, os, sys
print("CUDA_VISIBLE_DEVICES", repr(os.environ.get("CUDA_VISIBLE_DEVICES")), flush=True)
cuda = ctypes.CDLL("libcuda.so.1")
rc, count = cuda.cuInit(0), ctypes.c_int(0)
if rc == 0:
    cuda.cuDeviceGetCount(ctypes.byref(count))
print("sees", count.value, "devices; cuInit gave", rc, flush=True)
if len(sys.argv) < 2:
    sys.exit(0)
name, context, memory = ctypes.create_string_buffer(100), ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuDeviceGetName(name, 100, 0) == 0
print("device 0 is", name.value.decode(), flush=True)
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t({MEMORY})) == 0
print("working", flush=True)
while not os.path.exists(sys.argv[1]):
    for i in range(200):
        assert cuda.cuMemsetD32_v2(memory, i, ctypes.c_size_t({MEMORY} // 4)) == 0
    assert cuda.cuCtxSynchronize() == 0
print("done", flush=True)
"""
REAL_TORCHRUN = shutil.which("torchrun") is not None
results = {"PASS": 0, "FAIL": 0}


def say(kind, text):
    results[kind] = results.get(kind, 0) + 1
    print(kind, text, flush=True)


class Failed(Exception):
    pass


def need(condition, text, detail=""):
    say("PASS" if condition else "FAIL", text + (f": {detail}" if detail else ""))
    if not condition:
        raise Failed


class Cluster:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="muster-gpu-")
        self.data = os.path.join(self.folder, "data")  # which pods do not see
        os.mkdir(self.data)
        self.environment = dict(os.environ, MUSTER_HOME=self.data)
        self.log = open(os.path.join(self.folder, "daemon.txt"), "wb")
        self.process = subprocess.Popen([MUSTER, "up", "--listen", "127.0.0.1:0", "--overcommit"], env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.until("the daemon to be ready", self.find)

    def find(self):
        with contextlib.suppress(OSError, ValueError):
            pid, address = open(os.path.join(self.data, "muster.pid")).read().split()
            self.token = open(os.path.join(self.data, "token")).read().strip()
            self.url = "http://127.0.0.1:" + address.rsplit(":", 1)[1]
            return self.text("/readyz")
        return None

    def text(self, path, body=None, method=None):
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(),
                                         {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"},
                                         method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def get(self, path):
        return json.loads(self.text(path))

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end or self.process.poll() is not None:
                say("FAIL", f"waited in vain for {what}")
                raise Failed
            time.sleep(0.2)

    def job(self, name, gpus, command=None, **spec):
        container = {"name": "pytorch", "image": "none", "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}}
        container.update(command or {})
        self.text(JOBS, {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
                         "metadata": {"name": name}, "spec": {**spec, "replicaSpecs": [
                             {"type": "worker", "replicas": 1, "restartPolicy": "Never", "template": {"spec": {
                                 "terminationGracePeriodSeconds": 1, "containers": [container]}}}]}})

    def worker(self, name, *arguments, gpus):
        self.job(name, gpus, {"command": ["python3", os.path.join(self.folder, "program.py"), *arguments]})

    def status(self, name):
        return self.get(f"{JOBS}/{name}").get("status", {})

    def pod(self, job):
        for item in self.get(PODS)["items"]:
            if item["metadata"]["labels"].get("tensorstack.dev/owner-name") == job:
                return item
        return None

    def output(self, job):
        pod = self.pod(job)
        with contextlib.suppress(urllib.error.HTTPError):
            return self.text(f"{PODS}/{pod['metadata']['name']}/log") if pod else ""
        return ""

    def wait_output(self, job, text):
        def there():
            if self.status(job).get("phase") == "Failed":
                say("FAIL", f"job {job} failed: {self.status(job)}\n{self.output(job)}")
                raise Failed
            return text in self.output(job)
        self.until(f"\"{text}\" from job {job}", there)

    def close(self):
        with contextlib.suppress(Exception):
            for item in self.get(JOBS)["items"]:
                subprocess.run([MUSTER, "rm", item["metadata"]["name"]], env=self.environment, timeout=60,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
        if results["FAIL"]:
            print(open(os.path.join(self.folder, "daemon.txt"), errors="replace").read()[-3000:])
        shutil.rmtree(self.folder, ignore_errors=True)


def why(status):
    """The sentence of the job's status that speaks of GPUs, or ""."""
    said = [c.get("message", "") for c in status.get("conditions", [])]
    return next((text for text in said if "gpu" in text.lower()), "")


def check_node(c):
    node = c.until("the node", lambda: c.get("/api/v1/nodes")["items"])[0]
    c.until("the node's capacity", lambda: c.get("/api/v1/nodes")["items"][0].get("status", {}).get("capacity"))
    node = c.get("/api/v1/nodes")["items"][0]
    gpus = int(node["status"]["capacity"]["nvidia.com/gpu"])
    need(gpus > 0, "the node has GPUs", gpus)
    need(node["status"]["allocatable"]["nvidia.com/gpu"] == str(gpus), "all of them can be given to jobs")
    labels = {k: v for k, v in node["metadata"]["labels"].items() if k.startswith("nvidia.com/")}
    need("nvidia.com/gpu.product" in labels, "the node's labels say what they are", labels)
    return gpus


def check_leases(c, gpus):
    """One job with every GPU, so that the second has to wait however many there are."""
    stop = os.path.join(c.folder, "stop")
    c.worker("first", stop, gpus=gpus)
    c.wait_output("first", "working")
    output = c.output("first")
    need(f"sees {gpus} devices" in output, "the first job sees its GPUs", " / ".join(output.split("\n")[:3]))
    c.worker("second", stop, gpus=gpus)
    waiting = c.until("the second job to say why it waits", lambda: why(c.status("second")))
    need(c.status("second").get("phase") != "Running", "the second job waits and says why", waiting)
    check_samples(c, gpus)
    open(stop, "w").close()
    c.until("the first job to succeed", lambda: c.status("first").get("phase") == "Succeeded")
    c.until("the second job to succeed", lambda: c.status("second").get("phase") == "Succeeded")
    need(f"sees {gpus} devices" in c.output("second"), "then the second job runs and sees the same GPUs")
    c.worker("none", gpus=0)
    c.until("the job without GPUs to end", lambda: c.status("none").get("phase") == "Succeeded")
    need("sees 0 devices" in c.output("none"), "a job that asks for none sees none", c.output("none").strip())


def check_samples(c, gpus):
    pod = c.pod("first")["metadata"]["name"]

    def busy():
        columns = c.get(f"{PODS}/{pod}/samples")["columns"]
        newest = {name: (columns[name]["values"] or [None])[-1] for name in ("gpu", "gpuMemory")}
        return newest if newest["gpu"] and (newest["gpuMemory"] or 0) >= MEMORY else None
    found = c.until("NVML's figures in the pod's samples", busy)
    need(0 < found["gpu"] <= gpus, "NVML's figures are in the pod's samples",
         f"{found['gpu']:.2f} GPUs busy, {found['gpuMemory'] / 2**20:.0f} MiB")
    node = c.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
    columns = c.get(f"/api/v1/nodes/{node}/samples")["columns"]
    need((columns["gpuMemory"]["values"][-1] or 0) >= MEMORY, "and in the node's",
         f"{columns['gpuMemory']['values'][-1] / 2**20:.0f} MiB")


def check_torchrun(c):
    if not REAL_TORCHRUN:
        print("NOTE torch is not installed here: procPerNode gpu is shown with a torchrun of our own that prints its words")
    script = os.path.join(c.folder, "rank.py")
    with open(script, "w") as f:
        f.write("import os\nprint('process', os.environ['LOCAL_RANK'], 'of', os.environ['LOCAL_WORLD_SIZE'], flush=True)\n")
    c.job("procs", 1, {"args": [script]}, torchrunConfig={"enabled": True, "procPerNode": "gpu"})
    c.until("the torchrun job to end", lambda: c.status("procs").get("phase") in ("Succeeded", "Failed"))
    output = c.output("procs")
    if REAL_TORCHRUN:
        lines = [line for line in output.splitlines() if line.startswith("process ")]
        need(lines == ["process 0 of 1"], "procPerNode gpu starts one process with one GPU", lines or output)
    else:
        need("--nproc_per_node 1" in output, "procPerNode gpu asks torchrun for one process", output.strip())


def main():
    stand_in = tempfile.mkdtemp(prefix="muster-gpu-bin-")
    if not REAL_TORCHRUN:
        with open(os.path.join(stand_in, "torchrun"), "w") as f:
            f.write("#!/bin/sh\necho torchrun \"$@\"\n")
        os.chmod(os.path.join(stand_in, "torchrun"), 0o755)
    os.environ["PATH"] += os.pathsep + stand_in
    cluster = Cluster()
    try:
        with open(os.path.join(cluster.folder, "program.py"), "w") as f:
            f.write(PROGRAM)
        gpus = check_node(cluster)
        check_leases(cluster, gpus)
        check_torchrun(cluster)
    except Failed:
        pass
    finally:
        cluster.close()
        shutil.rmtree(stand_in, ignore_errors=True)
    print(f"{results['PASS']} passed, {results['FAIL']} failed")
    return 1 if results["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Our image on a kubelet with containerd: the Deployments that `muster manifests` prints, and a job of theirs in containers.
In a network of its own, without a registry or kube-proxy; names are told by a few lines of DNS."""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

from control_plane import KUBE, KUBECTLS, MUSTER, NODE, NODES, PATIENCE_S, ROOT, SERVICE_ADDRESS, Client, ControlPlane, free_port
from install_test import JOBS, job

IMAGE, BASE, PAUSE = "localhost/muster:test", "localhost/muster-base:latest", "localhost/pause:1"
NEEDS = ("buildah", "containerd", "ctr", "runc", "debootstrap", "gcc")
SYSTEM = "/apis/apps/v1/namespaces/muster-system/deployments"
PODS = "/api/v1/namespaces/default/pods"
MACHINE, GATEWAY = "10.99.0.1", "10.99.0.2"
UNSHARE = ("unshare", "--net", "--mount", "--propagation", "private")
INSIDE = "MUSTER_TEST_INSIDE"  # the namespaces that are made for it
DOMAIN = "cluster.local"
# The first replica is asked for its rank by the second, at the name and port that the job gave them.
RANKS = {"0": "$l = IO::Socket::INET->new(Listen => 5, LocalPort => $ENV{MASTER_PORT}, ReuseAddr => 1) or die $!;"
              "$c = $l->accept; print 'heard of ', scalar <$c>; print $c qq(rank $ENV{RANK}\\n);",
         "1": "until ($c = IO::Socket::INET->new(qq($ENV{MASTER_ADDR}:$ENV{MASTER_PORT}))) { sleep 1 }"
              "print $c qq(rank $ENV{RANK} of $ENV{WORLD_SIZE} at ), $c->sockhost, qq(\\n);"
              "print 'answered by ', scalar <$c>;"}


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, "%s: %s" % (command, done.stderr[-2000:])
    return done.stdout.strip()


class Names(threading.Thread):
    """What a cluster's DNS says of headless Services: the addresses in their EndpointSlices."""

    def __init__(self, plane):
        super().__init__(daemon=True)
        self.api = Client(plane.port, plane.admin.token)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((MACHINE, 53))

    def addresses(self, name):
        """None: there is no such name."""
        service, namespace, kind, rest = (name.split(".", 3) + [""] * 3)[:4]
        if (kind, rest) != ("svc", DOMAIN):
            return None
        slices = self.api.get("/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices?labelSelector=kubernetes.io/service-name=%s"
                              % (namespace, service))["items"]
        return [a for s in slices for e in s["endpoints"] or [] for a in e["addresses"]] or None

    def run(self):
        while True:
            query, client = self.socket.recvfrom(512)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            question = query[12:at + 5]
            found = self.addresses(".".join(labels).lower())
            wanted = (found or []) if question[-4:-2] == b"\0\1" else []  # A
            self.socket.sendto(query[:2] + struct.pack(">5H", 0x8580 | (3 if found is None else 0), 1, len(wanted), 0, 0) + question +
                               b"".join(b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 1, 4) + socket.inet_aton(a) for a in wanted), client)


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = plane = ControlPlane.of(cls)
        cls.folder = plane.folder
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", SERVICE_ADDRESS + "/32", "dev", "lo")
        run("ip", "link", "add", "machine0", "type", "veth", "peer", "name", "outside0")
        run("ip", "link", "set", "outside0", "up")
        run("ip", "link", "set", "machine0", "up")
        run("ip", "address", "add", MACHINE + "/24", "dev", "machine0")
        run("ip", "route", "add", "default", "via", GATEWAY)  # which leads nowhere
        plane.port = plane.admin.port = 443  # so that the Service `kubernetes` is the server itself
        plane.server_options.append("--bind-address=0.0.0.0")
        plane.start("deployment-controller", "replicaset-controller", "endpointslice-controller", nodes=True)
        Names(plane).start()
        plane.start_scheduler()
        plane.let_in_to_nodes()
        cls.start_containerd()
        cls.load_images()
        cls.start_kubelet()
        cls.addClassCleanup(cls.end_containers)
        cls.api = plane.admin
        cls.api.wait("/api/v1/nodes", lambda nodes: NODE in nodes and not nodes[NODE]["spec"].get("taints"), "the kubelet")
        plane.install("--image", IMAGE)
        plane.wait_established()
        plane.kubectl("get", "pj,podgroups,queues")
        plane.make_queue()

    @classmethod
    def start_containerd(cls):
        networks = cls.folder / "networks"
        networks.mkdir()
        (networks / "10-pods.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipam": {
                "type": "host-local", "dataDir": str(cls.folder / "addresses"), "ranges": [[{"subnet": "10.88.0.0/16"}]],
                "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        cls.socket = cls.folder / "containerd.sock"
        (cls.folder / "containerd.toml").write_text("""
version = 2
root = "%(f)s/containerd"
state = "%(f)s/containerd-state"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
address = "%(s)s"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "%(p)s"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "%(f)s/networks"
""" % {"f": cls.folder, "s": cls.socket, "p": PAUSE})
        cls.plane.spawn("containerd", "containerd", "--config", str(cls.folder / "containerd.toml"))
        end = time.monotonic() + PATIENCE_S
        while subprocess.run(["ctr", "-a", str(cls.socket), "version"], capture_output=True).returncode:
            assert time.monotonic() < end, "containerd does not answer"
            time.sleep(0.2)  # nobody tells

    @classmethod
    def load_images(cls):
        """What holds a pod's network is two lines of C."""
        (cls.folder / "pause.c").write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
        run("gcc", "-static", "-O", "-o", cls.folder / "pause", cls.folder / "pause.c")
        container = run("buildah", "from", "scratch")
        run("buildah", "copy", container, cls.folder / "pause", "/pause")
        run("buildah", "config", "--entrypoint", '["/pause"]', container)
        run("buildah", "commit", "--rm", container, PAUSE)
        for image in (IMAGE, BASE, PAUSE):
            archive = cls.folder / "image.tar"
            run("buildah", "push", image, "docker-archive:%s:%s" % (archive, image))
            run("ctr", "-a", cls.socket, "-n", "k8s.io", "images", "import", archive)
            archive.unlink()

    @classmethod
    def start_kubelet(cls):
        config = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
                  "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                                     "x509": {"clientCAFile": str(cls.plane.authority)}},
                  "authorization": {"mode": "Webhook"}, "cgroupDriver": "cgroupfs", "failSwapOn": False, "failCgroupV1": False,
                  "cgroupsPerQOS": False, "enforceNodeAllocatable": [], "containerRuntimeEndpoint": "unix://%s" % cls.socket,
                  "makeIPTablesUtilChains": False, "oomScoreAdj": 0, "healthzPort": 0, "port": free_port(),
                  "address": MACHINE, "podLogsDir": str(cls.folder / "pod-logs"), "resolvConf": "",
                  "clusterDNS": [MACHINE], "clusterDomain": DOMAIN,
                  "staticPodPath": "", "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%",
                                                       "nodefs.inodesFree": "0%"}}
        (cls.folder / "kubelet.json").write_text(json.dumps(config))
        cls.kubelet = cls.plane.spawn("kubelet", KUBE / "kubelet", "--config=%s" % (cls.folder / "kubelet.json"),
                                        "--kubeconfig=%s" % cls.plane.kubeconfig("kubelet", NODES[NODE]), "--hostname-override=" + NODE,
                                        "--node-ip=" + MACHINE, "--root-dir=%s" % (cls.folder / "kubelet"), "--cert-dir=%s" % (cls.folder / "kubelet-certs"))

    @classmethod
    def end_containers(cls):
        """Their shims would outlive containerd."""
        cls.kubelet.terminate()
        cls.kubelet.wait()
        ctr = ("ctr", "-a", cls.socket, "-n", "k8s.io", "tasks")
        end = time.monotonic() + PATIENCE_S
        while (tasks := run(*ctr, "list", "-q").split()) and time.monotonic() < end:
            for task in tasks:  # one that is just ending cannot be deleted, and is gone the next time
                subprocess.run([*map(str, ctr), "delete", "--force", task], capture_output=True)

    def test_1_the_deployments_are_ready(self):
        self.api.wait(SYSTEM, lambda found: len(found) == 3 and all(
            d.get("status", {}).get("readyReplicas") == d["spec"]["replicas"] for d in found.values()), "all Deployments to be ready")
        logs = self.plane.kubectl("-n", "muster-system", "logs", "deployment/muster-controller").stdout
        self.assertNotIn("orbidden", logs)

    def test_2_a_job_in_containers(self):
        what = job("boxed", scheduler={"t9kScheduler": {"queue": "default"}})
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0].update(
            image=BASE, imagePullPolicy="Never", command=["sh", "-c", "echo rank $RANK of $WORLD_SIZE"])
        self.api.create(JOBS, what)
        done = self.api.wait(JOBS, lambda jobs: jobs["boxed"]["status"] if jobs["boxed"].get("status", {}).get("phase") in (
            "Succeeded", "Failed") else None, "its end")
        self.assertEqual(done["phase"], "Succeeded", done)
        pods = sorted(n for p in self.api.get(PODS)["items"] if (n := p["metadata"]["name"]).startswith("boxed-"))
        self.assertEqual([self.plane.kubectl("logs", p).stdout for p in pods], ["rank 0 of 2\n", "rank 1 of 2\n"])

    def test_2_replicas_meet_by_name(self):
        """In networks of their own: by the headless Service of the first, at the port that all jobs have."""
        what = job("meeting", scheduler={"t9kScheduler": {"queue": "default"}})
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0].update(
            image=BASE, imagePullPolicy="Never", command=["sh", "-c", 'eval "program=\\$PROGRAM_$RANK"; exec perl -MIO::Socket::INET -e "$program"'],
            env=[{"name": "PROGRAM_" + rank, "value": program} for rank, program in RANKS.items()])
        self.api.create(JOBS, what)
        done = self.api.wait(JOBS, lambda jobs: jobs["meeting"]["status"] if jobs["meeting"].get("status", {}).get("phase") in (
            "Succeeded", "Failed") else None, "its end")
        self.assertEqual(done["phase"], "Succeeded", done)
        first, second = sorted((p for p in self.api.get(PODS)["items"] if p["metadata"]["name"].startswith("meeting-")),
                               key=lambda p: p["metadata"]["name"])
        self.assertNotEqual(first["status"]["podIP"], second["status"]["podIP"])
        self.assertEqual([self.plane.kubectl("logs", p["metadata"]["name"]).stdout for p in (first, second)],
                         ["heard of rank 1 of 2 at %s\n" % second["status"]["podIP"], "answered by rank 0\n"])

    def test_3_the_images_absence_stands_in_the_job(self):
        what = job("absent", scheduler={"t9kScheduler": {"queue": "default"}})
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0].update(image="localhost/none:1", imagePullPolicy="Never")
        self.api.create(JOBS, what)
        self.api.wait(JOBS, lambda jobs: "localhost/none:1" in jobs["absent"].get("status", {}).get("message", ""),
                      "the kubelet's words")

    def test_4_the_console_answers(self):
        environment = dict(os.environ, HOME=str(self.folder), KUBECONFIG=str(self.plane.config))
        forward = subprocess.Popen([str(KUBECTLS[-1]), "-n", "muster-system", "port-forward", "service/muster-console", ":8443"],
                                   env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(forward.stdout.close)
        self.addCleanup(forward.wait)
        self.addCleanup(forward.terminate)
        port = forward.stdout.readline().split(" -> ")[0].rsplit(":", 1)[1]
        request = urllib.request.Request("http://127.0.0.1:%s/" % port, headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            self.assertIn(b"<html", answer.read())


def problem():
    """Why no kubelet can run here."""
    missing = [name for name in NEEDS if not shutil.which(name)]
    if missing:
        return "there is no " + " ".join(missing)
    if os.geteuid() != 0 or not any(os.access("/sys/fs/cgroup/" + name, os.W_OK) for name in ("memory", "cgroup.procs")):
        return "it needs root and control groups that can be written"
    if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode:
        return "it needs a network of its own"
    return None


if __name__ == "__main__":
    if INSIDE not in os.environ:
        why = problem()
        if why:
            print("NOT RUN  cluster/image_test: no kubelet can run here: " + why)
            sys.exit(75)
        os.environ.update({INSIDE: "1", "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"})
        run(ROOT / "tools/image.sh", MUSTER, IMAGE)  # which fetches packages
        os.execvp(UNSHARE[0], [*UNSHARE, sys.executable, *sys.argv])
    unittest.main(verbosity=2)

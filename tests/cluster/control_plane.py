"""A real Kubernetes control plane on loopback: etcd, kube-apiserver with RBAC and an audit log, kube-controller-manager and,
where asked for, kube-scheduler. Built by tests/cluster/build-kube."""
import base64
import collections
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
KUBE = pathlib.Path(os.environ.get("MUSTER_KUBE") or CACHE + "/muster/kube")
MUSTER = os.environ.get("MUSTER_BIN", str(ROOT / "build/muster"))
KUBECTLS = [pathlib.Path(os.environ["MUSTER_KUBECTL"])] if os.environ.get("MUSTER_KUBECTL") else [
    ROOT / "build/kubectl-1.20/usr/bin/kubectl", ROOT / "build/kubectl-1.32/usr/bin/kubectl"]
PATIENCE_S = float(os.environ.get("MUSTER_TEST_PATIENCE", "300"))  # of a busy machine; what comes at all comes sooner
ADMIN = "owner-of-this-cluster"
NODE = "box"
NODES = {name: "machine-%s-of-this-cluster" % name for name in (NODE, "east", "west")}  # those that may join: their tokens
# The last two: accounts and authorities for the admission of pods
CONTROLLERS = ("garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
               "root-ca-certificate-publisher-controller")
NODE_CONTROLLERS = ("node-lifecycle-controller", "taint-eviction-controller")
SERVICE_ADDRESS = "10.0.0.1"  # of the Service `kubernetes`, the first of the range
GRACE_S = 21  # of silent nodes; a kubelet renews every ten seconds
IDLE_S = 60  # a connection that long unused is made anew: kube-apiserver closes it after 90

AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
                "rules": [{"level": "Metadata"}]}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__("%d: %s" % (status, body.get("message", body) if isinstance(body, dict) else body))
        self.status, self.body = status, body


class Client:
    """One kept-alive connection with one identity."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.connection, self.used_at = None, 0

    def send(self, method, path, body=None, content_type="application/json", accept="application/json"):
        if time.monotonic() - self.used_at > IDLE_S:
            self.close()
        self.used_at = time.monotonic()
        if not self.connection:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S,
                                                          context=ssl._create_unverified_context())
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": content_type, "Accept": accept}
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body), headers)
            return self.connection.getresponse()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise

    def call(self, method, path, body=None, content_type="application/json"):
        answer = self.send(method, path, body, content_type)
        text = answer.read()
        end = time.monotonic() + PATIENCE_S
        while answer.status == 429 and answer.headers["Retry-After"] and time.monotonic() < end:
            time.sleep(float(answer.headers["Retry-After"]))  # as it asks, such as while a definition changes
            answer = self.send(method, path, body, content_type)
            text = answer.read()
        try:
            value = json.loads(text)
        except ValueError:
            value = text.decode()
        if answer.status >= 300:
            raise Refused(answer.status, value)
        return value

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def get(self, path):
        return self.call("GET", path)

    def create(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body):
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        return self.call("DELETE", path)

    @staticmethod
    def follow(lines, objects, done):
        for line in lines:
            event = json.loads(line)
            name = event["object"].get("metadata", {}).get("name")
            if event["type"] == "DELETED":
                objects.pop(name, None)
            elif event["type"] in ("ADDED", "MODIFIED"):
                objects[name] = event["object"]
            else:
                return None
            found = done(objects)
            if found:
                return found
        return None

    def wait(self, path, done, what):
        """Follows a collection, or with a field selector one object, until done(objects by name) gives something."""
        end = time.monotonic() + PATIENCE_S
        query = "&" if "?" in path else "?"
        while time.monotonic() < end:
            listed = self.get(path)
            objects = {o["metadata"]["name"]: o for o in listed.get("items") or []}
            found = done(objects)
            if found:
                return found
            watch = Client(self.port, self.token)
            answer = watch.send("GET", "%s%swatch=1&timeoutSeconds=30&resourceVersion=%s" % (
                path, query, listed["metadata"]["resourceVersion"]))
            with contextlib.closing(watch.connection), contextlib.closing(answer):
                found = self.follow(answer, objects, done)
            if found:
                return found
        raise AssertionError("waited in vain for %s; there is %s" % (what, json.dumps({n: o.get("status") for n, o in objects.items()})[:4000]))


class ControlPlane:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-cluster-"))
        self.port = free_port()
        self.processes = []
        self.server_options = []  # more, of kube-apiserver
        self.authority = self.folder / "certs/apiserver.crt"  # who vouches for it; it makes one itself
        self.admin = Client(self.port, ADMIN)

    # --- life ---

    @classmethod
    def of(cls, test):
        """Of a class of tests, which stops it."""
        plane = test.plane = cls()
        test.addClassCleanup(plane.stop)
        test.api = plane.admin
        return plane

    def spawn(self, name, *command, env=None):
        log = open(self.folder / (name + ".log"), "ab")
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
        log.close()
        process.log = self.folder / (name + ".log")
        self.processes.append(process)
        return process

    def start(self, *more, nodes=False, alone=False):
        """more: controllers of kube-controller-manager. nodes: with what clusters have for theirs, which are given up when they
        are silent and reached with a certificate. alone: without any controller, and so without accounts for pods."""
        controllers = (*CONTROLLERS, *more, *(NODE_CONTROLLERS if nodes else ()))
        folder, etcd_port = self.folder, free_port()
        if nodes:
            self.make_certificates()
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", folder / "sa.key", "-pubout", "-out", folder / "sa.pub"], check=True,
                       capture_output=True)
        (folder / "tokens.csv").write_text("%s,admin,1,system:masters\n" % ADMIN + "".join(
            "%s,system:node:%s,%s,system:nodes\n" % (token, name, name) for name, token in NODES.items()))
        (folder / "audit.yaml").write_text(json.dumps(AUDIT_POLICY))
        etcd = "http://127.0.0.1:%d" % etcd_port
        self.etcd = self.spawn("etcd", KUBE / "etcd", "--data-dir", folder / "etcd", "--listen-client-urls", etcd,
                               "--advertise-client-urls", etcd, "--listen-peer-urls", "http://127.0.0.1:%d" % free_port(),
                               "--unsafe-no-fsync")
        self.server_command = (
            KUBE / "kube-apiserver", "--etcd-servers=" + etcd, "--cert-dir=%s" % (folder / "certs"),
            "--secure-port=%d" % self.port, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",  # no route is needed
            "--service-cluster-ip-range=10.0.0.0/16",
            "--service-account-issuer=https://127.0.0.1:%d/" % self.port,
            "--service-account-key-file=%s" % (folder / "sa.pub"),
            "--service-account-signing-key-file=%s" % (folder / "sa.key"), "--authorization-mode=Node,RBAC",
            "--token-auth-file=%s" % (folder / "tokens.csv"), "--enable-admission-plugins=NodeRestriction",
            "--disable-admission-plugins=" + ("ServiceAccount" if alone else ""),
            "--endpoint-reconciler-type=none", "--audit-policy-file=%s" % (folder / "audit.yaml"),
            "--audit-log-path=%s" % (folder / "audit.log"), *self.server_options)
        self.start_server()
        self.config = self.kubeconfig("admin", ADMIN)
        if not alone:
            self.spawn("kube-controller-manager", KUBE / "kube-controller-manager", "--kubeconfig=%s" % self.config, "--leader-elect=false",
                       "--controllers=" + ",".join(controllers), "--secure-port=0", "--root-ca-file=%s" % self.authority,
                       "--service-account-private-key-file=%s" % (folder / "sa.key"), "--use-service-account-credentials=false",
                       "--node-monitor-grace-period=%ds" % GRACE_S, "--node-monitor-period=2s")
            self.wait_admits("default")
        return self

    def wait_admits(self, namespace):
        """Until pods of the namespace get an account and the cluster's authority."""
        for what, name in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
            self.admin.wait("/api/v1/namespaces/%s/%s" % (namespace, what), lambda found: name in found, name)

    def make_namespace(self, name):
        self.admin.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.wait_admits(name)

    def start_node(self, *options, name=NODE, env=None):
        """A machine of ours with the rights that the documentation asks for, in a folder of its name; ready when it returns."""
        folder = self.folder / name
        folder.mkdir(0o700)
        self.kubectl("create", "clusterrolebinding", "reviews-by-" + name, "--clusterrole=system:auth-delegator",
                     "--user=system:node:" + name)
        process = self.start_node_again(*options, name=name, env=env)
        self.admin.wait("/api/v1/nodes", lambda nodes: name in nodes and "'node.kubernetes.io/" not in str(nodes[name]["spec"]) and nodes[
            name]["status"].get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port"), "the node")
        return process

    def start_node_again(self, *options, name=NODE, env=None):
        return self.spawn(name, MUSTER, "node", "--kubeconfig", str(self.kubeconfig(name, NODES[name])), "--dir",
                          str(self.folder / name), "--node-name", name, *options, env=env)

    def let_in_to_nodes(self):
        """The API server, which asks them for logs and the like."""
        self.kubectl("create", "clusterrolebinding", "kubelet-client", "--clusterrole=system:kubelet-api-admin",
                     "--user=kube-apiserver-kubelet-client")

    def make_certificates(self):
        """One authority, as clusters have it: for the server, and for the server as a client of kubelets."""
        folder = self.folder
        self.authority = folder / "ca.crt"

        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=cluster")
        for name, subject, extensions in (
                ("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,IP:%s\nextendedKeyUsage=serverAuth\n" % SERVICE_ADDRESS),
                ("client", "/CN=kube-apiserver-kubelet-client", "extendedKeyUsage=clientAuth\n"),
                ("proxy", "/CN=front-proxy", "extendedKeyUsage=clientAuth\n")):
            (folder / "extensions").write_text(extensions)
            openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", name + ".key", "-out", "request",
                    "-subj", subject)
            openssl("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                    "-extfile", "extensions", "-out", name + ".crt")
        self.server_options += [
            "--tls-cert-file=%s" % (folder / "server.crt"), "--tls-private-key-file=%s" % (folder / "server.key"),
            "--client-ca-file=%s" % (folder / "ca.crt"), "--kubelet-client-certificate=%s" % (folder / "client.crt"),
            "--kubelet-client-key=%s" % (folder / "client.key"), "--kubelet-preferred-address-types=InternalIP",
            "--requestheader-client-ca-file=%s" % (folder / "ca.crt"), "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-", "--proxy-client-cert-file=%s" % (folder / "proxy.crt"),
            "--proxy-client-key-file=%s" % (folder / "proxy.key")]

    def start_metrics_server(self):
        """With the rights its own manifests give it; behind a name, because no Service leads to the loopback."""
        port, account = free_port(), "--serviceaccount=kube-system:metrics-server"
        self.kubectl("-n", "kube-system", "create", "serviceaccount", "metrics-server")
        self.admin.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"kind": "ClusterRole", "metadata": {
            "name": "system:metrics-server"}, "rules": [
                {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}]})
        for role in ("system:metrics-server", "system:auth-delegator"):
            self.kubectl("create", "clusterrolebinding", "metrics-server:" + role, "--clusterrole=" + role, account)
        self.kubectl("-n", "kube-system", "create", "rolebinding", "metrics-server",
                      "--role=extension-apiserver-authentication-reader", account)
        config = self.kubeconfig("metrics-server", self.account_token("kube-system", "metrics-server"))
        self.spawn("metrics-server", KUBE / "metrics-server", *("--%s=%s" % (o, config) for o in (
            "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")), "--secure-port=%d" % port,
            "--bind-address=127.0.0.1", "--cert-dir=%s" % (self.folder / "metrics"), "--metric-resolution=10s",
            "--kubelet-request-timeout=9s",
            "--kubelet-preferred-address-types=InternalIP", "--kubelet-use-node-status-port",
            "--kubelet-certificate-authority=%s" % (self.folder / NODE / "ca.pem"))
        self.kubectl("-n", "kube-system", "create", "service", "externalname", "metrics-server", "--external-name=localhost",
                      "--tcp=%d" % port)
        self.admin.create("/apis/apiregistration.k8s.io/v1/apiservices", {
            "kind": "APIService", "metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": {
                "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                "insecureSkipTLSVerify": True, "service": {"namespace": "kube-system", "name": "metrics-server", "port": port}}})

    def start_scheduler(self):
        return self.spawn("kube-scheduler", KUBE / "kube-scheduler", "--kubeconfig=%s" % self.config, "--leader-elect=false",
                          "--secure-port=0")

    def start_server(self):
        self.server = self.spawn("kube-apiserver", *self.server_command)
        self.wait_ready()

    def wait_ready(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            assert self.server.poll() is None, self.server.log.read_text()[-2000:]
            try:
                if self.admin.get("/readyz") == "ok":
                    return
            except (OSError, http.client.HTTPException, Refused):
                pass
            assert time.monotonic() < end, "kube-apiserver is not ready: " + self.server.log.read_text()[-2000:]
            time.sleep(0.2)  # nobody tells of this

    def listening(self, process, pid_file):
        """The port of a `muster up` that was just started."""
        end = time.monotonic() + PATIENCE_S
        while True:
            assert process.poll() is None, process.log.read_text()[-2000:]
            with contextlib.suppress(OSError, ValueError):
                pid, address = pid_file.read_text().split()
                if int(pid) == process.pid:
                    port = int(address.rsplit(":", 1)[1])
                    socket.create_connection(("127.0.0.1", port)).close()
                    return port
            assert time.monotonic() < end, "muster up does not listen: " + process.log.read_text()[-2000:]
            time.sleep(0.05)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.end_pods()
        shutil.rmtree(self.folder, True)

    def end_pods(self):
        """Pods outlive their agents: those of a test that failed would run for ever."""
        marks = [b"MUSTER_POD_UID=" + os.fsencode(pod.name) for pod in self.folder.glob("**/pods/*")]
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command, environment = ((entry / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
                of_folder = any(os.fsencode(self.folder) in word for word in command)
                if b"supervise" in command and of_folder or any(mark in environment for mark in marks):
                    os.kill(int(entry.name), signal.SIGKILL)

    # --- callers ---

    def kubeconfig(self, name, token=None, token_file=None, port=None):
        certificate = self.authority.read_bytes()
        user = {"token": token} if token else {"tokenFile": str(token_file)}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                  "clusters": [{"name": "c", "cluster": {
                      "server": "https://127.0.0.1:%d" % (port or self.port),
                      "certificate-authority-data": base64.b64encode(certificate).decode()}}],
                  "users": [{"name": "u", "user": user}],
                  "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}
        path = self.folder / (name + ".kubeconfig")
        path.write_text(json.dumps(config))
        return path

    def account_token(self, namespace, account):
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        answer = self.admin.create("/api/v1/namespaces/%s/serviceaccounts/%s/token" % (namespace, account), request)
        return answer["status"]["token"]

    def muster(self, *arguments, account=None, namespace="muster-system", name=None, port=None, env=None):
        """A program of ours with the rights that `muster manifests` gives its ServiceAccount; port: of a proxy."""
        name = name or arguments[0]
        config = self.kubeconfig(name, self.account_token(namespace, account or "muster-" + arguments[0]), port=port)
        return self.spawn("muster-" + name, MUSTER, *arguments, "--kubeconfig", str(config),
                          env=dict(os.environ, **(env or {})))

    def kubectl(self, *arguments, program=None, text=None, check=True):
        environment = dict(os.environ, HOME=str(self.folder), KUBECONFIG=str(self.config))
        done = subprocess.run([str(program or KUBECTLS[-1]), *arguments], input=text, env=environment, text=True,
                              capture_output=True)
        if check:
            assert done.returncode == 0, "kubectl %s: %s" % (" ".join(arguments), done.stderr)
        return done

    def install(self, *options):
        """Applies what `muster manifests` prints."""
        text = subprocess.run([MUSTER, "manifests", *options], check=True, capture_output=True, text=True).stdout
        return self.kubectl("apply", "--server-side", "-f", "-", text=text)

    def wait_established(self):
        """`kubectl wait` gives up on a definition that has no conditions yet."""
        self.admin.wait("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", lambda crds: crds and all(
            any(c["type"] == "Established" and c["status"] == "True" for c in crd.get("status", {}).get("conditions") or [])
            for crd in crds.values()), "the definitions to be established")

    def make_queue(self):
        self.admin.create("/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues", {
            "apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "Queue", "metadata": {"name": "default"}, "spec": {}})

    def prepare(self):
        """What is installed and served, and a queue."""
        self.install()
        self.wait_established()
        self.kubectl("get", "pj,mj,podgroups,queues")  # new kinds are not served at once, and kubectl asks again
        self.make_queue()
        return self

    def prepare_for_jobs(self):
        """And a node with room, on which nobody runs anything."""
        self.prepare()
        self.add_node("n1")
        return self

    def start_ours(self, controller=(), scheduler=()):
        where = ("--namespace", "muster-system")
        return self.muster("controller", "--no-scheduler", *controller, *where), self.muster("scheduler", *scheduler, *where)

    def add_node(self, name, cpus="64", memory="256Gi", taints=(), ready="True"):
        self.admin.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self.admin.patch("/api/v1/nodes/" + name, {"spec": {"taints": list(taints)}})  # every new one is not-ready
        self.admin.patch("/api/v1/nodes/%s/status" % name, {"status": {
            "capacity": {"cpu": cpus, "memory": memory, "pods": "10000"},
            "allocatable": {"cpu": cpus, "memory": memory, "pods": "10000"},
            "conditions": [{"type": "Ready", "status": ready, "reason": "Kubelet"}]}})

    # --- what was asked ---

    def requests(self, user):
        """How often each verb of each resource was asked by a service account: {(verb, resource, code class): count}."""
        counts = collections.Counter()
        for event in self.audit(user):
            what = event.get("objectRef", {})
            resource = "/".join(x for x in (what.get("resource"), what.get("subresource")) if x)
            counts[event["verb"], resource or urllib.parse.urlparse(event["requestURI"]).path,
                   event["responseStatus"]["code"]] += 1
        return counts

    def audit(self, user):
        """What the server noted of a user's requests."""
        with open(self.folder / "audit.log") as log:
            for line in log:
                if line.endswith("\n"):
                    event = json.loads(line)
                    if (":" + event["user"]["username"]).endswith(":" + user):
                        yield event

#!/usr/bin/python3
"""`muster node` behind a real API server: logs, exec, attach, port-forward and, through metrics-server, top, with stock kubectl,
old and current."""
import base64
import collections
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

from control_plane import GRACE_S, KUBECTLS, NODE, PATIENCE_S, ControlPlane, free_port

PODS = "/api/v1/namespaces/default/pods"
PORT = str(free_port())
SCRIPT = "echo one; echo two; exec python3 -u -m http.server --bind 127.0.0.1 " + PORT


class Node(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane.of(cls).start("persistentvolume-binder-controller", nodes=True)
        cls.node = plane.start_node()
        plane.start_metrics_server()
        plane.admin.create(PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talk"},
            "spec": {"nodeName": "box", "tolerations": [{"operator": "Exists"}],
                     "containers": [{"name": "main", "image": "none", "command": ["/bin/sh", "-c", SCRIPT]}]}})
        plane.admin.wait(PODS, lambda pods: pods["talk"].get("status", {}).get("phase") == "Running", "the pod to run")

    @classmethod
    def tearDownClass(cls):
        cls.plane.admin.delete(PODS + "/talk")
        cls.plane.admin.wait(PODS, lambda pods: "talk" not in pods, "the pod to be gone")

    def test_1_the_server_needs_the_right(self):
        refused = self.plane.kubectl("logs", "talk", check=False)
        self.assertIn("Forbidden (user=kube-apiserver-kubelet-client, verb=get, resource=nodes, subresource=proxy)",
                      refused.stderr)
        self.plane.let_in_to_nodes()
        self.plane.admin.wait("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                              lambda found: "kubelet-client" in found, "the binding")
        while self.plane.kubectl("logs", "talk", check=False).returncode:
            pass  # the server's own authoriser reads the binding when it comes to it

    def test_2_token(self):
        """What the admission of pods mounts is the pod's own, and lets it in."""
        program = ("import json, os, ssl, urllib.request as u\n"
                   "at = '/var/run/secrets/kubernetes.io/serviceaccount/'\n"
                   "text = {n: open(at + n).read() for n in ('token', 'namespace')}\n"
                   "e = os.environ\n"
                   "server = 'https://%s:%s' % (e['KUBERNETES_SERVICE_HOST'], e['KUBERNETES_SERVICE_PORT'])\n"
                   "r = u.Request(server + '/apis/authentication.k8s.io/v1/selfsubjectreviews', method='POST', data=b'{}', headers={\n"
                   "    'Authorization': 'Bearer ' + text['token'], 'Content-Type': 'application/json'})\n"
                   "who = json.load(u.urlopen(r, context=ssl.create_default_context(cafile=at + 'ca.crt')))['status']['userInfo']\n"
                   "print(text['namespace'], who['username'], who['extra']['authentication.kubernetes.io/pod-name'][0])\n")
        done = self.plane.kubectl("exec", "talk", "--", "python3", "-c", program)
        self.assertEqual(done.stdout, "default system:serviceaccount:default:default talk\n")
        token = self.plane.kubectl("exec", "talk", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token").stdout
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        # asked for for as long as the admission says, and not for a year; the server bears its use for longer, and says so
        self.assertEqual(claims["kubernetes.io"]["warnafter"] - claims["iat"], 3607)

    def test_3_the_token_is_renewed(self):
        """A node that has just begun does not know how old it is; and the program has the file open under its name only."""
        read = "/var/run/secrets/kubernetes.io/serviceaccount/token"
        old = self.plane.kubectl("exec", "talk", "--", "cat", read).stdout
        node = type(self).node
        node.terminate()
        node.wait()
        type(self).node = self.plane.start_node_again()
        end = time.monotonic() + PATIENCE_S
        while True:
            done = self.plane.kubectl("exec", "talk", "--", "cat", read, check=False)
            if done.returncode == 0 and done.stdout != old:
                break
            self.assertLess(time.monotonic(), end, done.stderr)
            time.sleep(0.1)  # nobody tells of this
        self.assertEqual(done.stdout.count("."), 2)
        self.test_2_token()

    def test_2_lease(self):
        """Renewed by itself for longer than silent nodes are borne, all the while Ready and without a taint."""
        admin, leases = self.plane.admin, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        renewals, begin = set(), time.monotonic()

        def see(found):
            lease = found.get(NODE, {})
            if lease:
                self.assertEqual((lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"],
                                  lease["metadata"]["ownerReferences"][0]["kind"]), (NODE, 40, "Node"))
                renewals.add(lease["spec"]["renewTime"])
            node = admin.get("/api/v1/nodes/" + NODE)
            ready = [c for c in node["status"]["conditions"] if c["type"] == "Ready"][0]
            self.assertEqual(ready["status"], "True", ready)
            self.assertNotIn("unreachable", str(node["spec"].get("taints")))
            return len(renewals) > 5 and time.monotonic() - begin > 2 * GRACE_S
        admin.wait(leases, see, "renewals of the node's lease")

    def asked(self):
        """What the node was answered: {(verb, path without query, code): count}."""
        counts = collections.Counter()
        for event in self.plane.audit("system:node:" + NODE):
            if "no relationship found" in event["responseStatus"].get("message", "") and event["verb"] in ("get", "create"):
                continue  # of a pod bound this moment: the server's own authoriser reads it when it comes to it
            counts[event["verb"], event["requestURI"].partition("?")[0] if event["verb"] != "create" else event["responseStatus"].get(
                "message", event["requestURI"]), event["responseStatus"]["code"]] += 1
        return counts

    def test_2_a_pod_that_cannot_start_is_no_loop(self):
        """Nothing is refused that a node's rights do not allow, no event is made twice, and what is missing is looked for
        ever more seldom."""
        admin, leases = self.plane.admin, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        admin.create(PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lacks"},
            "spec": {"nodeName": NODE, "tolerations": [{"operator": "Exists"}], "containers": [{
                "name": "main", "image": "none", "command": ["true"], "envFrom": [{"configMapRef": {"name": "missing"}}]}]}})
        admin.wait(PODS, lambda pods: "missing" in str(pods["lacks"].get("status", {}).get("containerStatuses")), "what it lacks")
        renewals = set()
        admin.wait(leases, lambda found: renewals.add(found[NODE]["spec"]["renewTime"]) or len(renewals) > 3, "half a minute")
        admin.delete(PODS + "/lacks")
        admin.wait(PODS, lambda pods: "lacks" not in pods, "the pod to be gone")
        asked = self.asked()
        self.assertEqual([], [what for what in asked if what[2] in (401, 403)])
        self.assertEqual([], [what for what, times in asked.items() if what[2] == 409 and times > 1])
        looks = asked["get", "/api/v1/namespaces/default/configmaps/missing", 404]
        self.assertTrue(1 < looks < 9, looks)

    def test_2_a_pod_deleted_by_force_ends(self):
        """The server tells a node nothing of a pod that is gone, but that it may not ask."""
        self.plane.admin.create(PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "forced"},
            "spec": {"nodeName": NODE, "tolerations": [{"operator": "Exists"}], "containers": [{
                "name": "main", "image": "none", "command": ["sleep", "3600"]}]}})
        uid = self.plane.admin.wait(PODS, lambda pods: pods["forced"].get("status", {}).get("phase") == "Running" and
                                    pods["forced"]["metadata"]["uid"], "the pod to run")
        folder = self.plane.folder / NODE / "pods" / uid
        self.assertTrue(folder.exists())
        self.plane.kubectl("delete", "pod", "forced", "--force", "--grace-period=0")
        end = time.monotonic() + PATIENCE_S
        while folder.exists():
            self.assertLess(time.monotonic(), end, "the pod's folder stays")
            time.sleep(0.1)  # nobody tells of this

    def test_2_environments_are_for_their_own_user(self):
        """The cluster gives pods no users, as our own server does: a securityContext says who must not see whom."""
        words = {"keeps": "exec sleep 3600", **{name: "grep -lz ^JUPYTER_TOKEN=hush /proc/[0-9]*/environ 2>/dev/null; id -u"
                                               for name in ("looks", "same")}}
        users = {"keeps": 20001, "looks": 20002, "same": 20001}

        def run(name, phase):
            self.plane.admin.create(PODS, {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {"nodeName": NODE, "restartPolicy": "Never", "automountServiceAccountToken": False,
                         "tolerations": [{"operator": "Exists"}], "securityContext": {"runAsUser": users[name]}, "containers": [{
                             "name": "main", "image": "none", "command": ["sh", "-c", words[name]],
                             "env": [{"name": "JUPYTER_TOKEN", "value": "hush"}] if name == "keeps" else []}]}})
            self.addCleanup(self.gone, name)
            self.plane.admin.wait(PODS, lambda pods: pods[name].get("status", {}).get("phase") == phase, name)
            return self.plane.kubectl("logs", name).stdout

        run("keeps", "Running")
        self.assertEqual(run("looks", "Succeeded"), "20002\n")
        self.assertRegex(run("same", "Succeeded"), r"\A/proc/\d+/environ\n(.*\n)*20001\n\Z")

    def test_2_logs(self):
        for program in KUBECTLS:
            self.assertIn("one\ntwo\n", self.plane.kubectl("logs", "talk", program=program).stdout)
        self.assertEqual(self.plane.kubectl("logs", "talk", "--limit-bytes=4").stdout, "one\n")

    def test_2_exec(self):
        for program in KUBECTLS:
            done = self.plane.kubectl("exec", "-i", "talk", "--", "sh", "-c", "cat; echo no >&2; exit 3", program=program,
                                      text="typed", check=False)
            self.assertEqual((done.returncode, done.stdout), (3, "typed"))
            self.assertIn("no\n", done.stderr)

    def popen(self, *arguments):
        environment = dict(os.environ, HOME=str(self.plane.folder), KUBECONFIG=str(self.plane.config))
        process = subprocess.Popen([str(KUBECTLS[-1]), *arguments], env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    # --- claims, which the cluster binds to its volumes ---

    def volume(self, name, **spec):
        self.plane.admin.create("/api/v1/persistentvolumes", {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "none",
                "claimRef": {"namespace": "default", "name": name}, **spec}})
        self.addCleanup(self.plane.admin.delete, "/api/v1/persistentvolumes/" + name)

    def claim(self, name):
        claims = "/api/v1/namespaces/default/persistentvolumeclaims"
        self.plane.admin.create(claims, {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
                "accessModes": ["ReadWriteMany"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}})
        self.addCleanup(self.plane.admin.delete, claims + "/" + name)

    def user_of(self, name):
        """A pod that mounts the claim."""
        self.plane.admin.create(PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeName": "box", "automountServiceAccountToken": False, "restartPolicy": "Never",
                     "tolerations": [{"operator": "Exists"}],
                     "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
                     "containers": [{"name": "main", "image": "none", "command": ["/bin/sh", "-c", "cp /data/word /data/answer"],
                                     "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}})
        self.addCleanup(self.gone, name)

    def gone(self, name):
        self.plane.admin.delete(PODS + "/" + name)
        self.plane.admin.wait(PODS, lambda pods: name not in pods, "the pod to be gone")

    def answers(self, name, folder):
        self.plane.admin.wait(PODS, lambda pods: pods[name].get("status", {}).get("phase") == "Succeeded", "the pod to end")
        self.assertEqual((folder / "answer").read_text(), name)
        self.assertFalse((self.plane.folder / NODE / "volumes/default" / name).exists())

    def says(self, name, sentence):
        self.plane.admin.wait(PODS, lambda pods: any(
            sentence in c.get("state", {}).get("waiting", {}).get("message", "")
            for c in pods[name].get("status", {}).get("containerStatuses", [])), f"the pod to say: {sentence}")

    def disk(self, name):
        folder = self.plane.folder / ("disk-" + name)
        folder.mkdir()
        (folder / "word").write_text(name)
        return folder

    def test_2_a_claim_is_the_volume_it_is_bound_to(self):
        only_on = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["box"]}]}]}}
        for name, spec in (("host", lambda path: {"hostPath": {"path": path}}),
                           ("disk", lambda path: {"local": {"path": path}, "nodeAffinity": only_on})):
            folder = self.disk(name)
            self.volume(name, **spec(str(folder)))
            self.claim(name)
            self.user_of(name)
            self.answers(name, folder)

    def test_2_a_claim_that_is_not_bound(self):
        folder = self.disk("late")
        self.claim("late")
        self.user_of("late")
        self.says("late", 'persistentvolumeclaim "late" is not bound to a volume: it is Pending')
        self.volume("late", hostPath={"path": str(folder)})
        self.answers("late", folder)

    def test_2_volumes_that_are_not_for_this_node(self):
        elsewhere = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["another"]}]}]}}
        for name, spec, sentence in (
                ("share", {"nfs": {"server": "127.0.0.1", "path": "/"}},
                 "the volume's source nfs is not supported by muster node; supported: hostPath, local"),
                ("far", {"local": {"path": "/tmp"}, "nodeAffinity": elsewhere},
                 'persistentvolume "far" is not for this node, as its nodeAffinity says')):
            self.volume(name, **spec)
            self.claim(name)
            self.user_of(name)
            self.says(name, sentence)

    def test_3_a_node_that_was_silent_is_ready_again(self):
        """Given up while it stands still, it says that it is there long before it would have reported by itself."""
        def ready(nodes):
            return [c for c in nodes[NODE]["status"]["conditions"] if c["type"] == "Ready"][0]["status"]

        node, nodes = type(self).node, "/api/v1/nodes"
        node.send_signal(signal.SIGSTOP)
        try:
            self.plane.admin.wait(nodes, lambda found: ready(found) == "Unknown", "the node to be given up")
        finally:
            node.send_signal(signal.SIGCONT)
        begin = time.monotonic()
        self.plane.admin.wait(nodes, lambda found: ready(found) == "True", "the node to be ready")
        self.assertLess(time.monotonic() - begin, 60)

    def test_2_port_forward(self):
        line = self.popen("port-forward", "talk", ":" + PORT).stdout.readline()
        port = int(line.split(":")[1].split()[0])
        with urllib.request.urlopen("http://127.0.0.1:%d/?mark" % port, timeout=PATIENCE_S) as answer:
            self.assertEqual(answer.status, 200)

    def test_2_attach(self):
        """Requests are made until one is seen: nobody tells when the client is attached."""
        seen = threading.Event()

        def knock():
            while not seen.is_set():
                self.plane.kubectl("exec", "talk", "--", "python3", "-c",
                                   "import urllib.request; urllib.request.urlopen('http://127.0.0.1:%s/')" % PORT)
        attached = self.popen("attach", "talk")
        thread = threading.Thread(target=knock)
        thread.start()
        try:
            self.assertTrue(any("GET / " in line for line in attached.stdout))
        finally:
            seen.set()
            thread.join()

    def test_2_top(self):
        """Twice measured, ten seconds apart, before metrics-server tells anything; and nobody tells when."""
        for program in KUBECTLS:
            for what, row in ((("pod", "talk", "--containers"), r"talk +main +\d+m +[1-9]\d*Mi"),
                              (("node", "box"), r"box +\d+m +\d+% +[1-9]\d*Mi +\d+%")):
                end = time.monotonic() + PATIENCE_S
                while True:
                    done = self.plane.kubectl("top", *what, "--no-headers", program=program, check=False)
                    if re.fullmatch(row + r" *\n", done.stdout):
                        break
                    self.assertLess(time.monotonic(), end, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

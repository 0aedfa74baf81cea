#!/usr/bin/python3
"""Where root runs the pods: who has rights in one namespace only is that namespace's own user on the machine."""
import http.client
import json
import os
import pathlib
import pwd
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import app_client  # noqa: E402
import harness  # noqa: E402

sys.path.insert(0, str(harness.ROOT / "examples/ddp"))

from eventfile import EventWriter  # noqa: E402

NAMESPACES = "/api/v1/namespaces"
MPI_JOBS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/{ns}/mpijobs"
BOARDS = "/apis/tensorstack.dev/v1beta1/namespaces/{ns}/tensorboards"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
FIRST = 2001000000
FORGED = {"annotations": {"muster.dev/run-as": str(FIRST)}}
MERGE = {"content_type": "application/merge-patch+json"}
APPLY = {"content_type": "application/apply-patch+yaml"}
LEAVE_OUT = "this annotation is reserved for muster itself; leave it out"


def pod(name, script, container=None, **spec):
    return {"metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **spec,
        "containers": [{"name": "c", "image": "none", "command": ["sh", "-c", script], **(container or {})}]}}


def job(name, script, ns="a", **how):
    return harness.job(name, ["sh", "-c", script], ns=ns, replicas=1, **how)


def paused(what):
    what["spec"]["runMode"] = {"pause": {"enabled": True}}
    return what


def template(what, index=0):
    return what["spec"]["replicaSpecs"][index]["template"]["spec"]


# Wants its token, and says who it is.
JUPYTER = """#!/usr/bin/python3
import http.server, os, sys
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_GET(self):
        known = self.headers.get("Authorization") == "token " + os.environ["JUPYTER_TOKEN"]
        self.send_response(200 if known else 403)
        self.end_headers()
        self.wfile.write(str(os.getuid()).encode())
http.server.ThreadingHTTPServer(("127.0.0.1", int(options["ServerApp.port"])), Handler).serve_forever()
"""


class Browser(app_client.AppClient, unittest.TestCase):
    daemon = None


class Users(harness.WithDaemon):
    """Accounts that may do everything in the namespaces a and b, the one's in the one's."""

    @classmethod
    def setUpClass(cls):
        # The checkout may be in a folder that others cannot enter, and `muster mpi-launch` is run by them.
        cls.folder, cls.binary = tempfile.mkdtemp(prefix="muster-user-"), harness.BIN
        os.chmod(cls.folder, 0o755)
        harness.BIN = shutil.copy(harness.BIN, cls.folder)
        jupyter = pathlib.Path(cls.folder, "jupyter-lab")
        jupyter.write_text(JUPYTER)
        jupyter.chmod(0o755)
        cls.environment = {"PATH": f"{cls.folder}:{os.environ['PATH']}"}
        super().setUpClass()
        cls.tokens = {}
        for ns in "ab":
            cls.daemon.call("POST", NAMESPACES, {"metadata": {"name": ns}})
            cls.let_in(ns, "guest", {"verbs": ["*"], "resources": ["*"], "apiGroups": ["*"]})

    @classmethod
    def tearDownClass(cls):
        harness.BIN = cls.binary
        shutil.rmtree(cls.folder, True)
        super().tearDownClass()

    @classmethod
    def let_in(cls, ns, name, *rules):
        accounts = f"{NAMESPACES}/{ns}/serviceaccounts"
        cls.daemon.call("POST", accounts, {"metadata": {"name": name}})
        cls.daemon.call("POST", RBAC.format(ns=ns) + "/roles", {"metadata": {"name": name}, "rules": rules})
        cls.daemon.call("POST", RBAC.format(ns=ns) + "/rolebindings", {
            "metadata": {"name": name}, "roleRef": {"kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": ns}]})
        cls.tokens[ns, name] = cls.daemon.call("POST", f"{accounts}/{name}/token", {})["status"]["token"]

    def setUp(self):
        self.browser = Browser()
        self.browser.daemon = self.daemon
        self.pods = harness.PODS.format(ns="a")
        self.jobs = harness.JOBS.format(ns="a")

    def tearDown(self):
        for ns in "ab":
            for path in (harness.JOBS, MPI_JOBS, BOARDS, harness.PODS):
                self.daemon.call("DELETE", path.format(ns=ns))
            self.daemon.wait_for(harness.PODS.format(ns=ns), lambda pods: not pods, "pods to be gone")

    def ask(self, method, path, body=None, ns="a", who="guest", **how):
        status, text = self.daemon.request(method, path, body,
                                           headers={"Authorization": f"Bearer {self.tokens[ns, who]}"}, **how)
        return status, json.loads(text)

    def make(self, path, what, ns="a", **how):
        status, answer = self.ask("POST", path, what, ns, **how)
        self.assertEqual(status, 201, answer)
        return answer

    def refused(self, words, *request, code=403, **how):
        status, answer = self.ask(*request, **how)
        self.assertEqual(status, code, answer)
        self.assertIn(words, answer["message"])

    def number(self, ns):
        found = self.daemon.call("GET", f"{NAMESPACES}/{ns}")["metadata"].get("annotations", {})
        return int(found.get("muster.dev/uid", 0))

    def guest(self):
        """Its number, which the first pod has the namespace given."""
        self.make(self.pods, pod("first", "id -u"))
        self.assertEqual(self.log_of("first"), f"{self.number('a')}\n")
        return self.number("a")

    def mark(self):
        return {"muster.dev/run-as": str(self.number("a"))}

    def log_of(self, name, ns="a"):
        def ended(pods):
            return pods[name]["status"].get("phase") in ("Succeeded", "Failed")
        self.daemon.wait_for(harness.PODS.format(ns=ns), ended, f"{name} to end")
        return self.daemon.log(name, ns=ns)

    def running(self, name, ns="a"):
        """The number of its program."""
        path = harness.PODS.format(ns=ns)
        found = self.daemon.wait_for(path, lambda pods: pods[name] if pods[name]["status"].get("phase") == "Running"
                                     else None, f"{name} to run")
        (process,) = self.daemon.main_processes(found["metadata"]["uid"])
        return process

    def check_restricted(self, found, ns="a"):
        number = self.number(ns)
        self.assertGreater(number, 0)
        self.assertEqual({key: found["spec"]["securityContext"][key] for key in ("runAsUser", "runAsGroup", "fsGroup")},
                         {"runAsUser": number, "runAsGroup": number, "fsGroup": number})
        for container in found["spec"]["containers"] + found["spec"].get("initContainers", []):
            self.assertIs(container["securityContext"]["allowPrivilegeEscalation"], False)
        self.assertEqual(found["metadata"]["annotations"]["muster.dev/run-as"], str(number))

    def pods_of(self, name, count, ns="a"):
        def made(pods):
            mine = {n: p for n, p in pods.items()
                    if p["metadata"].get("labels", {}).get("tensorstack.dev/owner-name") == name}
            return mine if len(mine) == count else None
        return self.daemon.wait_for(harness.PODS.format(ns=ns), made, f"{count} pods of {name}")

    def test_a_pod_is_the_namespaces_user_and_reaches_nothing_of_others(self):
        with tempfile.NamedTemporaryFile(prefix="muster-user-") as secret:
            os.write(secret.fileno(), b"hush")
            self.make(harness.PODS.format(ns="b"), pod("victim", "exec sleep 1000", container={
                "env": [{"name": "SECRET", "value": "hush"}]}), ns="b")
            victim = self.running("victim", "b")
            self.daemon.call("POST", harness.PODS.format(ns="b"), pod("owners", "exec sleep 1000"))
            owners = self.running("owners", "b")
            # A passwd file of one's own would make a root of who runs su, if that could give him rights.
            self.make(f"{NAMESPACES}/a/configmaps", {"metadata": {"name": "accounts"}, "data": {
                "passwd": "root::0:0::/:/bin/sh\n", "shadow": "root::1:::::::\n", "su": "auth sufficient pam_permit.so\n"}})
            made = self.make(self.pods, pod("prober", f"""
                id -u; id -g; id -G
                for i in {victim} {owners}; do
                    cat /proc/$i/environ >/dev/null && echo read the environment of $i
                    ls /proc/$i/root/ >/dev/null && echo looked into $i
                    kill $i && echo signalled $i
                done
                touch /etc/muster-forged && echo wrote to /etc
                cat {secret.name} && echo read the file
                su -c 'echo became root'
                exit 0""", initContainers=[{"name": "first", "command": ["id", "-u"]}],
                volumes=[{"name": "accounts", "configMap": {"name": "accounts"}}],
                container={"volumeMounts": [
                    {"name": "accounts", "mountPath": f"/etc/{path}", "subPath": part}
                    for path, part in (("passwd", "passwd"), ("shadow", "shadow"), ("pam.d/su", "su"))]}))
            self.check_restricted(made)
            self.addCleanup(pathlib.Path("/etc/muster-forged").unlink, missing_ok=True)
            log = self.log_of("prober")
        number = str(self.number("a"))
        self.assertEqual(log.split("\n")[:3], [number] * 3, log)
        for words in ("read the", "looked into", "signalled", "wrote to", "became", "hush"):
            self.assertNotIn(words, log)
        self.assertEqual(self.daemon.log("prober", ns="a", query="?container=first"), number + "\n")
        self.assertFalse(os.path.exists("/etc/muster-forged"))
        self.assertNotEqual(self.number("a"), self.number("b"))
        for process, uid in ((victim, self.number("b")), (owners, 0)):
            self.assertEqual(os.stat(f"/proc/{process}").st_uid, uid)

    def test_a_folder_is_entered_with_ones_own_rights(self):
        folder = tempfile.mkdtemp(prefix="muster-user-")  # 0700
        self.addCleanup(shutil.rmtree, folder, True)
        inner = pathlib.Path(folder, "inner")
        inner.mkdir()
        (inner / "file").write_text("hush", "ascii")
        there = {"annotations": {"muster.dev/folder": str(inner)}}
        self.make(self.pods, pod("direct", "cat file", container={"workingDir": str(inner)}))
        self.make(self.pods, {**pod("marked", "cat file"), "metadata": {**there, "name": "marked"}})
        for name in ("direct", "marked"):
            def failed(pods, name=name):
                (status,) = pods[name]["status"].get("containerStatuses") or [{}]
                state = status.get("state", {})
                return state.get("terminated") or (state.get("waiting", {}).get("message") and state["waiting"])
            state = self.daemon.wait_for(self.pods, failed, f"{name} to fail")
            self.assertIn(str(inner), state["message"])
            self.assertIn("Permission denied", state["message"])

    def shared_claim(self):
        """A claim whose folder has another user's closed folder in it, and the guest's own."""
        self.make(f"{NAMESPACES}/a/persistentvolumeclaims", {"metadata": {"name": "shared"}, "spec": {
            "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.addCleanup(self.daemon.call, "DELETE", f"{NAMESPACES}/a/persistentvolumeclaims/shared")
        folder = pathlib.Path(self.daemon.folder, "volumes/a/shared")
        self.daemon.wait_for(f"{NAMESPACES}/a/persistentvolumeclaims",
                             lambda found: found["shared"].get("status", {}).get("phase") == "Bound" or None)
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "carol/papers").mkdir(parents=True)
        (folder / "carol/papers/one").write_text("hush", "ascii")
        for path, mode in ((folder / "carol", 0o700), (folder / "carol/papers", 0o755)):
            os.chown(path, 65534, 65534)
            path.chmod(mode)
        return folder

    def files(self, method, path, body=None, token=None):
        return self.daemon.request(method, f"/console/v1/volumes/a/shared/files/{path}", body, headers={
            "Authorization": f"Bearer {token or self.tokens['a', 'guest']}"}, content_type="application/octet-stream")

    def test_files_of_a_claim_are_used_as_the_namespaces_user(self):
        folder = self.shared_claim()
        self.make(self.pods, pod("first", "true"))  # which allots the number
        (folder / "private").write_text("hush", "ascii")
        (folder / "private").chmod(0o600)
        for method, path, body in (("GET", "carol", None), ("GET", "carol/papers/one", None), ("GET", "private", None),
                                   ("PUT", "carol/planted", "x"), ("PUT", "carol/papers/one?replace=1", "x"),
                                   ("PUT", "carol/papers/two", "x"), ("POST", "carol/made", None)):
            status, text = self.files(method, path, body)
            self.assertEqual(status, 403, (method, path, text))
            self.assertIn(f"user {self.number('a')}, as which your pods run", json.loads(text)["message"])
        self.assertEqual(sorted(p.name for p in (folder / "carol").rglob("*")), ["one", "papers"])
        self.assertEqual((folder / "carol/papers/one").read_text(), "hush")
        for method, path in (("POST", "mine"), ("PUT", "mine/file")):
            status, text = self.files(method, path, "x" if method == "PUT" else None)
            self.assertEqual(status, 201, text)
        self.assertEqual({os.stat(folder / path).st_uid for path in ("mine", "mine/file")}, {self.number("a")})
        self.make(self.pods, pod("user", "cd /d/mine && echo y >>file && touch made && cat file", container={
            "volumeMounts": [{"name": "d", "mountPath": "/d"}]}, volumes=[
                {"name": "d", "persistentVolumeClaim": {"claimName": "shared"}}]))
        self.assertEqual(self.log_of("user"), '"x"y\n')
        status, text = self.files("GET", "carol/papers/one", token=self.daemon.token)
        self.assertEqual((status, text), (200, b"hush"))
        # What the owner makes in it is the folder's owner's from the first moment: made with that user's rights.
        self.assertEqual(self.files("POST", "mine/by-owner", token=self.daemon.token)[0], 201)
        self.assertEqual(os.stat(folder / "mine/by-owner").st_uid, self.number("a"))
        (folder / "mine").chmod(0o555)
        status, text = self.files("POST", "mine/closed", token=self.daemon.token)
        self.assertEqual(status, 403, text)
        self.assertIn("the owner of the folder, may not do that", json.loads(text)["message"])

    def test_slow_uploads_of_one_account_leave_room_for_others(self):
        self.shared_claim()
        uploads = []
        for number in range(5):  # an eighth of the places is four
            upload = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
            self.addCleanup(upload.close)
            upload.putrequest("PUT", f"/console/v1/volumes/a/shared/files/slow-{number}")
            upload.putheader("Authorization", f"Bearer {self.tokens['a', 'guest']}")
            upload.putheader("Content-Length", "1000000")
            upload.endheaders()
            upload.send(b"x")
            uploads.append(upload)
        # Whichever comes last is refused; the others wait for their bytes.
        ready, _, _ = select.select([upload.sock for upload in uploads], [], [], harness.PATIENCE)
        (refused,) = [upload for upload in uploads if upload.sock in ready]
        self.assertEqual(refused.getresponse().status, 429)
        self.assertEqual(self.files("GET", "")[0], 429)
        self.assertEqual(self.files("GET", "", token=self.daemon.token)[0], 200)

    def test_curves_are_read_as_the_jobs_user(self):
        folder = self.shared_claim()
        for name, mode in (("open", 0o755), ("closed", 0o700)):
            events = EventWriter(str(folder / name))
            events.add_scalar("loss", 0.5, 1)
            events.close()
            (folder / name).chmod(mode)
            made = job(name, "true")
            made["spec"]["tensorboardSpec"] = {"trainingLogFilesets": [f"t9k://pvc/shared/{name}"]}
            self.make(self.jobs, made)

        def curves(name, token):
            status, text = self.daemon.request(
                "GET", f"/board/api/pytorchtrainingjobs/a/{name}/points?run=.&tag=loss",
                headers={"Authorization": f"Bearer {token}"})
            return status, text.decode()
        self.assertEqual(curves("open", self.tokens["a", "guest"])[0], 200)
        self.assertIn("0.5", curves("open", self.tokens["a", "guest"])[1])
        status, text = curves("closed", self.tokens["a", "guest"])
        self.assertEqual(status, 403, text)
        self.assertNotIn("0.5", text)

    def test_a_sub_path_is_entered_as_the_containers_user(self):
        folder = self.shared_claim()
        claim = [{"name": "d", "persistentVolumeClaim": {"claimName": "shared"}}]
        for name, path in (("reads", "carol/papers"), ("makes", "carol/new")):
            self.make(self.pods, pod(name, "cat /d/one", volumes=claim, container={
                "volumeMounts": [{"name": "d", "mountPath": "/d", "subPath": path}]}))
            self.assertIn(f'subPath "{path}" of volume "d": user {self.number("a")}', self.message_of(name))
        self.assertFalse((folder / "carol/new").exists())
        self.make(self.pods, pod("own", "touch /d/file && id -u", volumes=claim, container={
            "volumeMounts": [{"name": "d", "mountPath": "/d", "subPath": "runs/1"}]}))
        self.assertEqual(self.log_of("own"), f"{self.number('a')}\n")
        self.assertEqual(os.stat(folder / "runs/1").st_uid, self.number("a"))

    def test_mount_points_in_a_claim_are_made_as_the_containers_user(self):
        folder = self.shared_claim()
        self.make(f"{NAMESPACES}/a/configmaps", {"metadata": {"name": "planted"}, "data": {"f": "text"}})
        volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "shared"}}, {"name": "e", "emptyDir": {}},
                   {"name": "c", "configMap": {"name": "planted"}}]
        before = sorted((folder / "carol").rglob("*"))
        for name, mount in (("plants", {"name": "e", "mountPath": "/d/carol/planted/a"}),
                            ("writes", {"name": "c", "mountPath": "/d/carol/file", "subPath": "f"})):
            self.make(self.pods, pod(name, "true", volumes=volumes, container={
                "volumeMounts": [{"name": "d", "mountPath": "/d"}, mount]}))
            self.assertIn(f'cannot be mounted at {mount["mountPath"]}: user {self.number("a")}, as which the container runs, '
                          "may not make this folder", self.message_of(name))
        self.assertEqual(sorted((folder / "carol").rglob("*")), before)
        self.make(self.pods, pod("own", "cat /d/mine/file && touch /d/mine/a/b/x", volumes=volumes, container={
            "volumeMounts": [{"name": "d", "mountPath": "/d"}, {"name": "e", "mountPath": "/d/mine/a/b"},
                             {"name": "c", "mountPath": "/d/mine/file", "subPath": "f"}]}))
        self.assertEqual(self.log_of("own"), "text\n")
        self.assertEqual({os.stat(folder / "mine" / path).st_uid for path in (".", "a", "a/b", "file")}, {self.number("a")})

    def message_of(self, name):
        (state,) = self.daemon.wait_for(self.pods, lambda pods: [
            s["state"]["terminated"] for s in pods[name]["status"].get("containerStatuses", [])
            if s["state"].get("terminated")] or None, f"{name} to end")
        return state.get("message", "")

    def test_a_mount_point_opens_no_folder_that_a_list_closes(self):
        """In a read-only volume and on the machine, where the folder around the point is shown through another."""
        shared = self.shared_claim()
        machine = pathlib.Path(self.folder, "machine")
        machine.mkdir()
        self.addCleanup(shutil.rmtree, machine)
        entries = ((1, 7, 2**32 - 1), (2, 0, self.guest()), (4, 5, 2**32 - 1), (16, 5, 2**32 - 1), (32, 5, 2**32 - 1))
        denied = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        for folder in (shared / "denied", machine):
            folder.mkdir(exist_ok=True)
            (folder / "secret").write_text("secret")
            os.setxattr(folder, "system.posix_acl_access", denied)
        volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "shared"}}, {"name": "e", "emptyDir": {}}]
        user = f"user {self.number('a')}, as which the container runs, may not "
        for name, around, said in (("volume", "/d/denied", f"the volume it is in is read-only, and {user}list the folder around"),
                                   ("machine", str(machine), f"{user}make this folder")):
            self.make(self.pods, pod(name, f"cat {around}/secret", volumes=volumes, container={"volumeMounts": [
                {"name": "d", "mountPath": "/d", "readOnly": True}, {"name": "e", "mountPath": f"{around}/e"}]}))
            self.assertIn(f'volume "e" cannot be mounted at {around}/e: {said}', self.message_of(name))
        owners = pod("owner", "true", volumes=volumes, container={
            "volumeMounts": [{"name": "e", "mountPath": f"{machine}/e"}]})
        self.daemon.call("POST", self.pods, owners)
        self.assertIn("has an access control list: make it there first", self.message_of("owner"))

    def test_nothing_is_written_where_it_would_be_lost(self):
        shared, guest = self.shared_claim(), self.guest()
        for name in ("kept", "full"):
            (shared / name).mkdir()
            os.chown(shared / name, guest, guest)
        (shared / "kept").chmod(0o555)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=1m,nr_inodes=1,uid={guest}", "tmpfs", shared / "full"], check=True)
        self.addCleanup(subprocess.run, ["umount", shared / "full"], check=True)
        volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "shared"}}, {"name": "e", "emptyDir": {}}]
        for name, read_only, point, said in (
                ("full", False, "/d/full/e", "No space left on device"),
                ("own", False, "/d/kept/e", "may not make this folder"),
                ("reads", True, "/d/kept/e", "")):
            self.make(self.pods, pod(name, "chmod u+w /d/kept; touch /d/kept/new", volumes=volumes, container={"volumeMounts": [
                {"name": "d", "mountPath": "/d", "readOnly": read_only}, {"name": "e", "mountPath": point}]}))
            self.assertIn(said, self.message_of(name))
        self.assertEqual(self.log_of("reads").count("Read-only file system"), 2)
        self.assertEqual(list((shared / "kept").iterdir()), [])

    def test_a_probe_by_address_is_the_containers_user(self):
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(harness.PATIENCE)
        self.addCleanup(server.close)
        address = {"host": "127.0.0.1", "port": server.getsockname()[1]}
        probe = {"periodSeconds": 1, "timeoutSeconds": 60}
        self.refused("httpGet.path: Invalid value", "POST", self.pods, pod("splits", "exec sleep 1000", container={
            "readinessProbe": {"httpGet": {**address, "path": "/ HTTP/1.1\r\nHost: x\r\n\r\nGET /"}}}), code=422)
        self.make(self.pods, pod("asks", "exec sleep 1000", container={"readinessProbe": {**probe, "httpGet": {
            **address, "path": "a b?q", "httpHeaders": [{"name": "Host", "value": "model"}]}}}))
        client, (_, port) = server.accept()
        with client:
            ends = [f"0100007F:{number:04X}" for number in (port, address["port"])]  # the same port may lead elsewhere too
            owner = next(line.split()[7] for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
                         if line.split()[1:3] == ends)
            text = client.recv(65536).decode()
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        self.assertEqual(int(owner), self.number("a"))
        self.assertTrue(text.startswith("GET /a%20b?q HTTP/1.1\r\n"), text)
        self.assertEqual([line for line in text.split("\r\n") if line.lower().startswith("host:")], ["Host: model"])

    def test_the_owners_pods_are_as_they_were(self):
        made = self.daemon.call("POST", self.pods, pod("plain", "id -u"))
        self.assertNotIn("runAsUser", made["spec"]["securityContext"])
        self.assertNotIn("securityContext", made["spec"]["containers"][0])
        self.assertEqual(self.log_of("plain"), "0\n")
        self.daemon.create(job("plain", "id -u"), ns="a")
        self.daemon.wait_phase("plain", "Succeeded", ns="a")
        (name,) = self.daemon.pods("plain", ns="a")
        self.assertEqual(self.daemon.log(name, ns="a"), "0\n")
        for found in (self.daemon.get_job("plain", ns="a"), self.daemon.pods(ns="a")[name]):
            self.assertNotIn("muster.dev/run-as", found["metadata"].get("annotations", {}))

    def test_a_job_of_the_guests(self):
        made = self.make(self.jobs, job("mine", "id -u; echo x >$HOME/x && echo home"))
        self.assertEqual(made["metadata"]["annotations"], self.mark())
        self.assertNotIn("securityContext", template(made))
        self.daemon.wait_phase("mine", "Succeeded", ns="a")
        for name, found in self.pods_of("mine", 1).items():
            self.check_restricted(found)
            self.assertEqual(self.daemon.log(name, ns="a"), f"{self.number('a')}\nhome\n")
        # Nothing of it is in what he wrote: to write it again changes nothing, and no field of his is another's.
        kubeconfig = self.daemon.kubeconfig(self.tokens["a", "guest"])
        for way, says in (((), "configured"), ((), "unchanged"), (("--server-side", "--force-conflicts"), "applied")):
            done = subprocess.run([harness.KUBECTL, "--kubeconfig", kubeconfig, "apply", "-n", "a", "-f", "-", *way],
                                  input=json.dumps(job("mine", "id -u; echo x >$HOME/x && echo home")),
                                  capture_output=True, text=True, timeout=harness.PATIENCE)
            self.assertIn(says, done.stdout + done.stderr)
        self.assertNotIn("run-as", json.dumps(self.daemon.get_job("mine", ns="a")["metadata"]["managedFields"]))

    def test_an_mpi_job_of_the_guests(self):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        small = {"resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}
        what = {"metadata": {"name": "mpi"}, "spec": {
            "mpiConfig": {"script": ["sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK is $(id -u)"]}, "replicaSpecs": [
                {"type": "launcher", "template": {"spec": {"containers": [{"name": "launcher", **small}]}}},
                {"type": "worker", "replicas": 2, "template": {"spec": {"containers": [{"name": "worker", **small}]}}}]}}
        self.make(MPI_JOBS.format(ns="a"), what)

        def ended(jobs):
            return jobs["mpi"].get("status", {}).get("phase") in ("Succeeded", "Failed")
        self.daemon.wait_for(MPI_JOBS.format(ns="a"), ended, "the job to end")
        found = self.pods_of("mpi", 3)
        (launcher,) = (name for name in found if "launcher" in name)
        text = self.daemon.log(launcher, ns="a")
        for rank in (0, 1):
            self.assertIn(f"rank {rank} is {self.number('a')}\n", text)
        for one in found.values():
            self.check_restricted(one)

    def settled(self, name):
        """A paused job, once nobody writes to it any more."""
        return self.daemon.wait_for(self.jobs, lambda jobs: jobs[name] if jobs[name].get("status", {}).get("phase") ==
                                    "Paused" else None, f"{name} to be paused")

    def resume(self, ask, name):
        ask("PATCH", f"{self.jobs}/{name}", {"spec": {"runMode": {"pause": {"enabled": False}}}}, **MERGE)

    def test_an_owners_job_that_the_guest_changes(self):
        """A script without its path is then another one."""
        folder = {"muster.dev/folder": "/tmp"}

        def put(name):
            there = self.settled(name)
            there["metadata"]["annotations"] = folder
            return "PUT", there, {}
        changes = {
            "merge": lambda name: ("PATCH", {"metadata": {"annotations": folder}}, MERGE),
            "json": lambda name: ("PATCH", [{"op": "add", "path": "/metadata/annotations", "value": folder}],
                                  {"content_type": "application/json-patch+json"}),
            "apply": lambda name: ("PATCH", {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
                                             "metadata": {"name": name, "annotations": folder}}, APPLY),
            "update": put,
            "board": lambda name: ("PATCH", {"spec": {"tensorboardSpec": {"logDir": {"pvc": [{"name": "x"}]}}}}, MERGE),
        }
        for name, change in changes.items():
            with self.subTest(change=name):
                self.daemon.create(paused(job(name, "id -u")), ns="a")
                self.settled(name)
                method, body, how = change(name)
                query = "?fieldManager=guest&force=true" if how == APPLY else ""
                status, answer = self.ask(method, f"{self.jobs}/{name}{query}", body, **how)
                self.assertEqual(status, 200, answer)
                self.assertEqual(answer["metadata"]["annotations"]["muster.dev/run-as"], str(self.number("a")))
                self.resume(self.daemon.call, name)  # even if the owner resumes it
                (pod_name,) = (found["metadata"]["name"] for found in self.daemon.wait_for(
                    self.pods, lambda pods: [p for p in pods.values() if p["metadata"].get("labels", {}).get(
                        "tensorstack.dev/owner-kind") == "PyTorchTrainingJob"], "its pod"))
                self.assertEqual(self.log_of(pod_name), f"{self.number('a')}\n")
                self.check_restricted(self.daemon.pods(ns="a")[pod_name])
                self.daemon.call("DELETE", f"{self.jobs}/{name}")
                self.daemon.wait_for(self.pods, lambda pods: not pods, "its pods to be gone")
        # What only says how many and when leaves it the owner's.
        self.daemon.create(job("stopped", "id -u; exec sleep 1000"), ns="a")
        status, answer = self.ask("PATCH", f"{self.jobs}/stopped", {"spec": {"runMode": {"pause": {"enabled": True}}}},
                                  **MERGE)
        self.assertEqual(status, 200, answer)
        self.assertNotIn("muster.dev/run-as", answer["metadata"].get("annotations", {}))
        self.daemon.create(paused(job("scaled", "id -u")), ns="a")
        self.assertEqual(self.ask("PATCH", f"{self.jobs}/scaled", {"metadata": {"labels": {"x": "y"}}}, **MERGE)[0], 200)
        self.resume(self.ask, "scaled")
        self.daemon.wait_phase("scaled", "Succeeded", ns="a")
        (name,) = self.daemon.pods("scaled", ns="a")
        self.assertEqual(self.daemon.log(name, ns="a"), "0\n")
        root = paused(job("root", "true"))
        template(root)["securityContext"] = {"runAsUser": 0}
        self.daemon.create(root, ns="a")
        self.refused("template.spec.securityContext.runAsUser: 0", "PATCH", f"{self.jobs}/root",
                     {"metadata": {"annotations": folder}}, **MERGE)

    def test_who_may_be_anyone_takes_the_mark_away(self):
        self.make(self.jobs, paused(job("mine", "id -u")))
        there = self.settled("mine")
        del there["metadata"]["annotations"]
        self.assertEqual(self.ask("PUT", f"{self.jobs}/mine", there)[1]["metadata"]["annotations"], self.mark())
        scaled = self.daemon.call("PATCH", f"{self.jobs}/mine", {"spec": {"replicaSpecs": there["spec"]["replicaSpecs"]}},
                                  **MERGE)
        self.assertEqual(scaled["metadata"]["annotations"], self.mark())
        free = self.daemon.call("PATCH", f"{self.jobs}/mine", {"metadata": {"annotations": {"muster.dev/run-as": None}}},
                                **MERGE)
        self.assertFalse(free["metadata"].get("annotations"))
        self.resume(self.daemon.call, "mine")
        self.daemon.wait_phase("mine", "Succeeded", ns="a")
        (name,) = self.daemon.pods("mine", ns="a")
        self.assertEqual(self.daemon.log(name, ns="a"), "0\n")

    def test_a_job_is_run_again_as_who_it_was_run_as(self):
        self.make(self.jobs, job("mine", "id -u"))
        self.daemon.wait_phase("mine", "Succeeded", ns="a")
        for words, number in (((), self.number("a")), (("--own",), 0)):
            name = f"again-{len(words)}"
            done = subprocess.run([harness.BIN, "rerun", "mine", "--name", name, "-n", "a", "--detach", *words, "--kubeconfig",
                                   self.daemon.kubeconfig(self.daemon.token)], capture_output=True, text=True,
                                  timeout=harness.PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.daemon.wait_phase(name, "Succeeded", ns="a")
            (made,) = self.daemon.pods(name, ns="a")
            self.assertEqual(self.daemon.log(made, ns="a"), f"{number}\n")
        # A number is still muster's alone to write, and the word is good for what pods are made of.
        asked = {"annotations": {"muster.dev/run-as": "namespace"}}
        found = self.daemon.call("POST", self.pods, {**pod("asked", "true", schedulerName="nobody"),
                                                     "metadata": {"name": "asked", **asked}})
        self.check_restricted(found)
        for extra in ({"privileged": True}, {"capabilities": {"add": ["SYS_ADMIN"]}}):  # which that user has not
            status, answer = self.daemon.request("POST", self.pods, {
                **pod("too-much", "true", container={"securityContext": extra}, schedulerName="nobody"),
                "metadata": {"name": "too-much", **asked}})
            self.assertEqual(status, 422, answer)
            self.assertIn(b"allowPrivilegeEscalation", answer)
        status, _ = self.daemon.request("POST", f"{NAMESPACES}/a/configmaps", {"metadata": {"name": "asked", **asked}})
        self.assertEqual(status, 400)

    def test_a_notebook_of_the_owners_is_entered_as_its_pod_is(self):
        books = "/apis/tensorstack.dev/v1beta1/namespaces/a/notebooks"

        def entered(name, token):
            own = self.browser.enter(f"/notebook/a/{name}/", self.browser.sign_in(token))
            return self.browser.ask("GET", f"/notebook/a/{name}/", headers=own)[::2]
        for name, make in (("owners", self.daemon.call), ("mine", lambda _, *what: self.make(*what))):
            make("POST", books, {"metadata": {"name": name}, "spec": {"type": "jupyter", "template": {"spec": {"containers": [
                {"name": "notebook", "image": "none"}]}}}})
            self.daemon.wait_for(books, lambda found: found[name].get("status", {}).get("phase") == "Running",
                                 f"{name} to run")
        guest = self.tokens["a", "guest"]
        self.assertEqual(entered("owners", self.daemon.token), (200, b"0"))
        self.assertEqual(entered("mine", guest), (200, str(self.number("a")).encode()))
        # Neither opened, nor used by what was opened while the right was there.
        path = "/notebook/a/owners/"
        binding = RBAC.format(ns="a") + "/rolebindings"
        self.daemon.call("POST", RBAC.format(ns="a") + "/roles", {"metadata": {"name": "anyone"}, "rules": [
            {"verbs": ["use"], "resources": ["machineaccess"], "apiGroups": ["muster.dev"], "resourceNames": ["anyuser"]}]})
        self.daemon.call("POST", binding, {
            "metadata": {"name": "anyone"}, "roleRef": {"kind": "Role", "name": "anyone"},
            "subjects": [{"kind": "ServiceAccount", "name": "guest", "namespace": "a"}]})
        session = self.browser.sign_in(guest)
        own = self.browser.enter(path, session)
        self.assertEqual(self.browser.ask("GET", path, headers=own)[::2], (200, b"0"))
        self.daemon.call("DELETE", f"{binding}/anyone")
        for refused in (self.browser.ask("GET", path, headers=own),
                        self.browser.ask("POST", "/console/v1/open", json.dumps({"path": path}), session)):
            self.assertEqual(refused[0], 403, refused[2])
            self.assertIn('named "anyuser"', json.loads(refused[2])["message"])
        self.assertEqual(self.daemon.list(f"{NAMESPACES}/a/secrets"), [])
        self.daemon.call("DELETE", books)

    def test_who_names_other_keys_does_not_become_the_owner(self):
        books, pods = "/apis/tensorstack.dev/v1beta1/namespaces/a/notebooks", harness.PODS.format(ns="a")
        guest = {"Authorization": f"Bearer {self.tokens['a', 'guest']}"}
        self.daemon.call("POST", books, {"metadata": {"name": "keyed"}, "spec": {
            "type": "jupyter", "ssh": {"enabled": True, "authorized_keys": ["owners"]},
            "template": {"spec": {"containers": [{"name": "notebook", "image": "none"}]}}}})
        before = self.daemon.wait_for(pods, lambda found: found["keyed-nb"]["metadata"]["uid"] if found.get("keyed-nb", {}).get(
            "status", {}).get("phase") == "Running" else None)
        status, text = self.daemon.request("PATCH", f"{books}/keyed", {"spec": {"ssh": {"authorized_keys": ["guests"]}}},
                                           headers=guest, content_type="application/merge-patch+json")
        self.assertEqual(status, 200, text)
        after = self.daemon.wait_for(pods, lambda found: found["keyed-nb"] if "keyed-nb" in found and
                                     found["keyed-nb"]["metadata"]["uid"] != before else None)
        self.check_restricted(after)
        self.daemon.call("DELETE", f"{books}/keyed")
        self.daemon.wait_for(f"{NAMESPACES}/a/secrets", lambda found: not found or None)

    def test_keys_of_a_secret_count_where_its_writers_may_enter(self):
        """A Notebook of the owner's, root's pod, and one of the guest's; `files` may write Secrets and enter no pod."""
        books, secrets = "/apis/tensorstack.dev/v1beta1/namespaces/a/notebooks", f"{NAMESPACES}/a/secrets"
        self.let_in("a", "files", {"verbs": ["*"], "resources": ["secrets"], "apiGroups": [""]})
        files = {"Authorization": f"Bearer {self.tokens['a', 'files']}"}
        enters = "muster.dev/writer-enters"

        def key(name, who):
            return {"metadata": {"name": name}, "stringData": {"k": f"ssh-ed25519 AAAA{who}"}}

        def recorded(name):
            return self.daemon.call("GET", f"{secrets}/{name}")["metadata"].get("annotations", {}).get(enters)

        def condition(name):
            def look(found):
                said = {c["type"]: c for c in found[name].get("status", {}).get("conditions", [])}.get("SshReady")
                return said if said and said["reason"] != "NotRunning" else None
            return self.daemon.wait_for(books, look, f"SshReady of {name}")

        def accepted(name):
            uid = self.daemon.call("GET", f"{self.pods}/{name}-nb")["metadata"]["uid"]
            (process, *_) = self.daemon.main_processes(uid)
            path = pathlib.Path(f"/proc/{process}/root/t9k/ssh/authorized")
            return sorted(line.split("AAAA")[1] for line in path.read_text().splitlines())
        for name in ("owners", "changed", "adopted"):
            self.daemon.call("POST", secrets, key(name, name))
            self.assertIsNone(recorded(name))
        self.make(secrets, key("guests", "guests"))
        status, text = self.daemon.request("POST", secrets, key("filed", "filed"), headers=files)
        self.assertEqual(status, 201, text)
        for name in ("changed", "adopted"):
            self.assertEqual(self.ask("PATCH", f"{secrets}/{name}", {"stringData": {"more": "ssh-ed25519 AAAAmore"}}, **MERGE)[0], 200)
        # A label is no key; the record goes neither by another change nor by those who may enter no more.
        self.assertEqual(self.ask("PATCH", f"{secrets}/owners", {"metadata": {"labels": {"a": "b"}}}, **MERGE)[0], 200)
        self.daemon.call("PATCH", f"{secrets}/changed", {"stringData": {"own": "ssh-ed25519 AAAAown"}}, **MERGE)
        self.assertEqual(self.ask("PATCH", f"{secrets}/changed", {"metadata": {"annotations": {enters: None}}}, **MERGE)[0], 200)
        self.refused("reserved for muster itself", "PATCH", f"{secrets}/filed", {"metadata": {"annotations": {
            enters: "namespace-user"}}}, code=422, **MERGE)
        self.daemon.call("PATCH", f"{secrets}/adopted", {"metadata": {"annotations": {enters: None}}}, **MERGE)
        self.assertEqual([recorded(name) for name in ("owners", "changed", "adopted", "guests", "filed")],
                         [None, "namespace-user", None, "namespace-user", "none"])
        ssh = {"enabled": True, "authorized_keys": ["owners", "changed", "adopted", "guests", "filed"]}
        spec = {"type": "jupyter", "ssh": ssh, "template": {"spec": {"containers": [{"name": "notebook", "image": "none"}]}}}
        self.daemon.call("POST", books, {"metadata": {"name": "roots"}, "spec": spec})
        said = condition("roots")
        self.assertEqual((said["status"], said["reason"]), ("True", "KeysRefused"), said)
        self.assertIn("wrote them: changed guests filed.", said["message"])
        self.assertEqual(accepted("roots"), ["adopted", "more", "owners"])
        self.make(books, {"metadata": {"name": "guests"}, "spec": spec})
        self.assertIn("wrote them: filed.", condition("guests")["message"])
        self.assertEqual(accepted("guests"), ["adopted", "changed", "guests", "more", "more", "own", "owners"])
        self.daemon.call("POST", books, {"metadata": {"name": "none"}, "spec": {
            **spec, "ssh": {"enabled": True, "authorized_keys": ["changed"]}}})
        said = condition("none")
        self.assertEqual((said["status"], said["reason"]), ("False", "KeysRefused"), said)
        self.assertIn("kubectl annotate secret changed muster.dev/writer-enters-", said["message"])
        for path in (books, secrets):
            self.daemon.call("DELETE", path)
        self.daemon.wait_for(secrets, lambda found: not found or None)

    def test_a_tensorboard_of_the_guests(self):
        spec = {"logDir": {"pvc": [{"name": "runs"}]}}
        self.assertEqual(self.make(BOARDS.format(ns="a"), {"metadata": {"name": "own"}, "spec": spec})
                         ["metadata"]["annotations"], self.mark())
        what = job("boarded", "exec sleep 1000")
        what["spec"]["tensorboardSpec"] = spec
        self.make(self.jobs, what)
        # Three of the guest's: his own board's, his job's, and that of his job's board.
        for name in ("own", "boarded"):
            for found in self.pods_of(name, 1).values():
                self.check_restricted(found)
        board = self.daemon.wait_for(BOARDS.format(ns="a"), lambda boards: next(
            (name for name in boards if name != "own"), None), "the job's board")
        for found in self.pods_of(board, 1).values():
            self.check_restricted(found)
        self.daemon.call("POST", BOARDS.format(ns="a"), {"metadata": {"name": "owners"}, "spec": spec})
        for found in self.pods_of("owners", 1).values():
            self.assertNotIn("runAsUser", found["spec"].get("securityContext", {}))

    def test_explicit_users_are_refused(self):
        self.make(self.pods, pod("first", "true"))
        number = self.number("a")
        for context, where in (({"runAsUser": 0}, "runAsUser: 0"), ({"runAsUser": 1000}, "runAsUser: 1000"),
                               ({"runAsGroup": 0}, "runAsGroup: 0"), ({"fsGroup": 6}, "fsGroup: 6"),
                               ({"supplementalGroups": [number, 6]}, "supplementalGroups[1]: 6")):
            with self.subTest(where=where):
                words = f'named "anyuser", which spec.securityContext.{where} needs; leave it out: pods run as the ' \
                        f"namespace's own user, {number},"
                self.refused(words, "POST", self.pods, pod("other", "true", securityContext=context))
                what = job("other", "true")
                template(what)["securityContext"] = context
                self.refused(f"spec.replicaSpecs[0].template.spec.securityContext.{where} needs", "POST", self.jobs, what)
        for context, where in (({"runAsUser": 0}, "runAsUser: 0"), ({"runAsGroup": 0}, "runAsGroup: 0"),
                               ({"allowPrivilegeEscalation": True}, "allowPrivilegeEscalation: true")):
            with self.subTest(where=where):
                self.refused(f"spec.containers[0].securityContext.{where} needs", "POST", self.pods,
                             pod("other", "true", container={"securityContext": context}))
                self.refused(f"spec.initContainers[0].securityContext.{where} needs", "POST", self.pods,
                             pod("other", "true", initContainers=[{"name": "i", "command": ["true"],
                                                                   "securityContext": context}]))
        self.make(self.pods, pod("own", "id -u", securityContext={
            "runAsUser": number, "runAsGroup": number, "fsGroup": number, "supplementalGroups": [number]}))
        self.assertEqual(self.log_of("own"), f"{number}\n")
        # With the right to it, given by name, anything goes.
        for right, code in (("hostpath", 403), ("anyuser", 201), ("privileged", 201)):
            self.let_in("a", f"with-{right}", {"verbs": ["*"], "resources": ["pods"], "apiGroups": [""]}, {
                "verbs": ["use"], "resources": ["machineaccess"], "apiGroups": ["muster.dev"], "resourceNames": [right]})
            status, answer = self.ask("POST", self.pods, pod(f"with-{right}", "id -u", securityContext={"runAsUser": 0}),
                                      who=f"with-{right}")
            self.assertEqual(status, code, answer)

    def test_nothing_is_forged(self):
        what = job("forged", "true")
        self.refused(LEAVE_OUT, "POST", self.jobs, {**what, "metadata": {"name": "forged", **FORGED}}, code=422)
        what["spec"]["replicaSpecs"][0]["template"]["metadata"] = FORGED
        self.refused(LEAVE_OUT, "POST", self.jobs, what, code=422)
        self.refused(LEAVE_OUT, "POST", self.pods, {**pod("forged", "true"), "metadata": {"name": "forged", **FORGED}},
                     code=422)
        self.daemon.call("POST", self.pods, pod("owners", "true", schedulerName="nobody"))
        for body in ({"metadata": FORGED}, {"metadata": {"annotations": {"muster.dev/folder": "/tmp"}}}):
            self.assertIn(self.ask("PATCH", f"{self.pods}/owners", body, **MERGE)[0], (403, 422))
            self.assertIn(self.ask("POST", f"{self.pods}/owners/binding",
                                   {**body, "target": {"kind": "Node", "name": "nowhere"}})[0], (403, 409, 422))
        self.assertNotIn("annotations", self.daemon.call("GET", f"{self.pods}/owners")["metadata"])
        # A controller of one's own choice makes no other of a pod.
        self.daemon.create(paused(job("owners", "true")), ns="a")
        owner = self.daemon.get_job("owners", ns="a")
        mine = pod("mine", "true", schedulerName="nobody")
        mine["metadata"]["ownerReferences"] = [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owners",
                                                "uid": owner["metadata"]["uid"], "controller": True}]
        self.check_restricted(self.make(self.pods, mine))

    def test_a_namespaces_user_is_the_owners_to_say(self):
        self.daemon.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
            "metadata": {"name": "spaces"}, "rules": [{"verbs": ["*"], "resources": ["namespaces"], "apiGroups": [""]}]})
        self.daemon.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
            "metadata": {"name": "spaces"}, "roleRef": {"kind": "ClusterRole", "name": "spaces"},
            "subjects": [{"kind": "ServiceAccount", "name": "guest", "namespace": "a"}]})
        self.addCleanup(self.daemon.call, "DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/spaces")
        self.make(self.pods, pod("first", "true"))
        for annotations in ({"muster.dev/uid": "1000"}, {"muster.dev/uid": None}, {"muster.dev/last-uid": "5"}):
            with self.subTest(annotations=annotations):
                self.refused(f'named "anyuser", which the annotation {list(annotations)[0]} needs', "PATCH",
                             f"{NAMESPACES}/a", {"metadata": {"annotations": annotations}}, **MERGE)
        self.refused('named "anyuser"', "POST", NAMESPACES, {
            "metadata": {"name": "c", "annotations": {"muster.dev/uid": "1000"}}})
        for text in ("0", "-1", "root", "", "1e3", "2147483648", "99999999999999999999", "01"):
            with self.subTest(text=text):
                status, answer = self.daemon.request("POST", NAMESPACES, {
                    "metadata": {"name": "c", "annotations": {"muster.dev/uid": text}}})
                self.assertEqual(status, 422, answer)
                self.assertIn(b"must be a user ID", answer)
        nobody = pwd.getpwnam("nobody")
        self.daemon.call("POST", NAMESPACES, {"metadata": {"name": "c", "annotations": {
            "muster.dev/uid": str(nobody.pw_uid)}}})
        self.let_in("c", "guest", {"verbs": ["*"], "resources": ["*"], "apiGroups": ["*"]})
        path = harness.PODS.format(ns="c")
        self.make(path, pod("mapped", "id -u; id -g"), ns="c")
        self.assertEqual(self.log_of("mapped", "c"), f"{nobody.pw_uid}\n{nobody.pw_gid}\n")
        self.daemon.call("DELETE", f"{NAMESPACES}/c")
        self.daemon.wait_for(NAMESPACES, lambda found: "c" not in found, "the namespace to go")

    def test_another_daemon_of_the_machine_gives_other_numbers(self):
        other = harness.Daemon()
        self.addCleanup(other.close)
        self.make(self.pods, pod("p", "true", schedulerName="nobody"))
        other.call("POST", NAMESPACES, {"metadata": {"name": "a"}})
        other.call("POST", RBAC.format(ns="a") + "/rolebindings", {
            "metadata": {"name": "g"}, "roleRef": {"kind": "ClusterRole", "name": "edit"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "a"}]})
        other.wait_for(f"{NAMESPACES}/a/serviceaccounts", lambda found: "default" in found or None)
        token = other.call("POST", f"{NAMESPACES}/a/serviceaccounts/default/token", {})["status"]["token"]
        status, made = other.request("POST", self.pods, pod("p", "true"), headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(status, 201, made)
        user = json.loads(made)["spec"]["securityContext"]["runAsUser"]
        self.assertNotEqual(user // 10000, self.number("a") // 10000)

    def test_a_number_is_given_once(self):
        def use(ns):
            self.daemon.call("POST", NAMESPACES, {"metadata": {"name": ns}})
            self.let_in(ns, "guest", {"verbs": ["*"], "resources": ["*"], "apiGroups": ["*"]})
            path = harness.PODS.format(ns=ns)
            self.assertGreaterEqual(self.make(f"{path}?dryRun=All", pod("p", "true", schedulerName="nobody"), ns=ns)
                                    ["spec"]["securityContext"]["runAsUser"], FIRST)
            self.assertEqual(self.number(ns), 0)
            self.make(path, pod("p", "true", schedulerName="nobody"), ns=ns)
            return self.number(ns)
        seen = [use("n0")]
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.number("n0"), seen[0])
        self.assertEqual(self.make(harness.PODS.format(ns="n0"), pod("q", "true", schedulerName="nobody"), ns="n0")
                         ["spec"]["securityContext"]["runAsUser"], seen[0])
        seen.append(use("n1"))
        self.daemon.call("DELETE", f"{NAMESPACES}/n1")
        self.daemon.wait_for(NAMESPACES, lambda found: "n1" not in found, "the namespace to go")
        # One that the owner has said is nobody else's either.
        self.daemon.call("PATCH", f"{NAMESPACES}/n0", {"metadata": {"annotations": {"muster.dev/uid": str(seen[1] + 1)}}},
                         **MERGE)
        seen += [seen[1] + 1, use("n1"), use("n2")]
        self.assertEqual(len(set(seen)), 5, seen)
        for ns in ("n0", "n1", "n2"):
            self.daemon.call("DELETE", f"{NAMESPACES}/{ns}")
        self.daemon.wait_for(NAMESPACES, lambda found: not {"n0", "n1", "n2"} & set(found), "the namespaces to go")

    def test_nobody_enters_a_pod_of_others(self):
        self.daemon.call("POST", self.pods, pod("owners", "exec sleep 1000", serviceAccountName="guest"))
        self.make(self.pods, pod("mine", "exec sleep 1000"))
        kubeconfig = self.daemon.kubeconfig(self.tokens["a", "guest"])

        def run(*words):
            return subprocess.run([harness.KUBECTL, "--kubeconfig", kubeconfig, "-n", "a", *words], capture_output=True,
                                  text=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL)
        self.running("owners")
        self.running("mine")
        self.assertEqual(run("exec", "mine", "--", "id", "-u").stdout, f"{self.number('a')}\n")
        for verb in ("exec", "attach"):
            done = run(verb, "owners", *(("--", "id", "-u") if verb == "exec" else ()))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn('named "anyuser", which being in a pod', done.stderr)
        self.refused('named "anyuser"', "POST", f"{NAMESPACES}/a/serviceaccounts/guest/token",
                     {"spec": {"boundObjectRef": {"kind": "Pod", "name": "owners"}}})

    def test_an_ephemeral_container_is_no_more_than_its_pod(self):
        """Nobody adds one to a pod of others; in his own it is the namespace's user, like the pod's program."""
        def add(to, name, **more):
            container = {"name": name, "image": "none", "command": ["sh", "-c", "id -u; grep NoNewPrivs /proc/self/status"], **more}
            return ("PATCH", f"{self.pods}/{to}/ephemeralcontainers", {"spec": {"ephemeralContainers": [container]}})
        merge = {"content_type": "application/strategic-merge-patch+json"}
        self.daemon.call("POST", self.pods, pod("owners", "exec sleep 1000"))
        self.make(self.pods, pod("mine", "exec sleep 1000"))
        self.running("owners")
        self.running("mine")
        self.refused('named "anyuser", which being in a pod', *add("owners", "a"), **merge)
        self.refused('named "privileged"', *add("mine", "a", securityContext={"privileged": True}), **merge)
        self.refused('named "anyuser"', *add("mine", "a", securityContext={"runAsUser": 0}), **merge)
        status, answer = self.ask(*add("mine", "a"), **merge)
        self.assertEqual(status, 200, answer)
        self.daemon.call(*add("mine", "b"), **merge)  # by the owner: the pod's programs could use it for themselves
        self.daemon.wait_for(self.pods, lambda pods: True if [
            "terminated" in c["state"] for c in pods["mine"]["status"].get("ephemeralContainerStatuses", [])] == [True, True]
            else None)
        for name in "ab":
            self.assertEqual(self.daemon.log("mine", "a", f"?container={name}"), f"{self.number('a')}\nNoNewPrivs:\t1\n")


if __name__ == "__main__":
    harness.main()

#!/usr/bin/python3
"""Notebooks: made, opened through the console's address, paused, resumed, deleted; what its pod may do at the API; what is
said when there is no JupyterLab; and a daemon that is killed meanwhile. JupyterLab is a stand-in with its options."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

import app_client
import gpu_stand_in
import harness

NOTEBOOKS = "/apis/tensorstack.dev/v1beta1/namespaces/default/notebooks"
MERGE = "application/merge-patch+json"
KUBECTL = harness.ROOT / "build/bin/kubectl-1.32"

# Requires its token, counts requests in a variable of its process as a kernel would, and runs what is posted.
FAKE = """#!/usr/bin/python3
import http.server, json, os, subprocess, sys
options = dict(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
count = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def do_POST(self):
        global count
        if self.headers.get("Authorization") != "token " + os.environ["JUPYTER_TOKEN"]:
            self.send_response(403); self.end_headers(); return
        count += 1
        command = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = subprocess.run(command, capture_output=True, text=True) if command else None
        body = json.dumps({"count": count, "pid": os.getpid(), "options": options, "home": os.environ["HOME"],
            "cwd": os.getcwd(), "path": self.path, "out": done and done.stdout + done.stderr}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer((options["ServerApp.ip"], int(options["ServerApp.port"])), Handler).serve_forever()
"""


def notebook(name, **spec):
    return {"apiVersion": "tensorstack.dev/v1beta1", "kind": "Notebook", "metadata": {"name": name}, "spec": {
        "type": "jupyter", **spec, "template": {"spec": {
            "containers": [{"name": "notebook", "image": "none", "volumeMounts": [{"name": "w", "mountPath": "/t9k/mnt"}]}],
            "volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "work"}}]}}}}


class Notebooks(app_client.AppClient, harness.WithDaemon):
    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.mkdtemp(prefix="muster-programs-")
        os.chmod(cls.programs, 0o755)
        gpu_stand_in.write(pathlib.Path(cls.programs))
        cls.environment = {"PATH": f"{cls.programs}:/usr/bin:/bin", "HOME": cls.programs, "LD_LIBRARY_PATH": cls.programs}
        os.environ.pop("VIRTUAL_ENV", None)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        try:
            super().tearDownClass()
        finally:
            shutil.rmtree(cls.programs, ignore_errors=True)

    def setUp(self):
        path = pathlib.Path(self.programs, "jupyter-lab")
        path.write_text(FAKE)
        path.chmod(0o755)

    def tearDown(self):
        for item in self.daemon.list(NOTEBOOKS):
            self.daemon.call("DELETE", f"{NOTEBOOKS}/{item['metadata']['name']}", expect=(200, 404))
        for path in (NOTEBOOKS, harness.PODS.format(ns="default"), harness.SERVICES.format(ns="default"),
                     "/api/v1/namespaces/default/secrets",
                     "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"):
            self.daemon.wait_for(path, lambda found: True if not [n for n in found if n.startswith(("nb", "managed"))]
                                 else None, f"{path} to be empty")

    def wait_phase(self, name, phase):
        return self.daemon.wait_for(
            NOTEBOOKS, lambda found: found[name] if found.get(name, {}).get("status", {}).get("phase") == phase else None,
            f"Notebook {name} to be {phase}")

    def patch(self, name, spec):
        self.daemon.call("PATCH", f"{NOTEBOOKS}/{name}", {"spec": spec}, content_type=MERGE)

    def start(self, name="nb", **spec):
        self.daemon.call("POST", NOTEBOOKS, notebook(name, **spec))
        return self.wait_phase(name, "Running")

    def tell(self, *command, own=None):
        """What the program answers, having run the command."""
        own = own or self.enter("/notebook/default/nb/")
        status, _, body = self.ask("POST", "/notebook/default/nb/api/run", json.dumps(command),
                                   {**own, "Origin": f"http://{own['Host']}"})
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_made_opened_paused_resumed(self):
        found = self.start()
        self.assertEqual(found["status"]["url"], "/notebook/default/nb/")
        self.assertEqual(found["status"]["pod"]["reference"]["name"], "nb-nb")
        self.assertIn("managed-notebook-http-nb", [s["metadata"]["name"] for s in
                                                   self.daemon.list(harness.SERVICES.format(ns="default"))])
        answer = self.tell()
        self.assertEqual((answer["home"], answer["cwd"]), ("/t9k/mnt", "/t9k/mnt"))
        self.assertEqual(answer["options"]["ServerApp.base_url"], "/notebook/default/nb/")
        self.assertEqual(answer["path"], "/notebook/default/nb/api/run")
        self.tell("touch", "kept")
        self.patch("nb", {"suspend": True})
        self.assertEqual(self.wait_phase("nb", "Paused")["status"]["reason"], "Suspended")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: True if not pods else None)
        self.patch("nb", {"suspend": False})
        self.wait_phase("nb", "Running")
        self.assertEqual(self.tell("ls", "kept")["out"], "kept\n")

    def test_other_users_of_the_machine_have_no_token(self):
        port = self.start()["status"]["port"]
        import urllib.error
        import urllib.request
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", b"[]", timeout=harness.PATIENCE)
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()

    def test_its_pod_works_in_its_namespace_only(self):
        self.start()
        own = self.enter("/notebook/default/nb/")
        kubectl = str(KUBECTL)
        self.assertIn("nb-nb", self.tell(kubectl, "get", "pods", own=own)["out"])
        self.assertEqual(self.tell(kubectl, "auth", "can-i", "create", "pytorchtrainingjobs", own=own)["out"], "yes\n")
        for verb, what, ns in (("list", "secrets", "default"), ("list", "pods", "kube-system"), ("create", "pods", "default"),
                               ("create", "rolebindings", "default")):
            self.assertEqual(self.tell(kubectl, "auth", "can-i", verb, what, "-n", ns, own=own)["out"].strip(), "no")
        self.assertIn("no jobs in namespace default", self.tell("sh", "-c", "muster ps", own=own)["out"])

    def test_a_job_made_in_it_needs_no_daemon_of_its_own(self):
        self.start()
        said = self.tell("sh", "-c", "MUSTER_HOME=/t9k/mnt/own muster run --detach --name inner -- true; ls -A /t9k/mnt")["out"]
        self.daemon.wait_for(harness.JOBS.format(ns="default"), lambda found: found.get("inner"), f"the job: {said}")
        self.assertNotIn("own\n", said)
        self.daemon.call("DELETE", harness.JOBS.format(ns="default"))
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: list(pods) == ["nb-nb"] or None)

    def test_the_token_is_nowhere_in_the_api(self):
        self.start()
        token = self.tell("sh", "-c", "echo $JUPYTER_TOKEN")["out"].strip()
        self.assertRegex(token, "^[0-9a-f]{64}$")
        for path in ("/api/v1/secrets", "/api/v1/pods", NOTEBOOKS):
            self.assertNotIn(token, json.dumps(self.daemon.call("GET", path)))
        self.assertFalse([s for s in self.daemon.list("/api/v1/secrets") if s["metadata"]["name"].startswith("nb")])

    def test_what_another_made_is_not_its_own(self):
        rbac, accounts = "/apis/rbac.authorization.k8s.io/v1/namespaces/default", "/api/v1/namespaces/default/serviceaccounts"
        service = {"metadata": {"name": "managed-notebook-http-nb"}, "spec": {"ports": [{"port": 80}], "clusterIP": "None"}}
        for path, body in ((f"{rbac}/rolebindings", {"metadata": {"name": "nb-nb"}, "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}}),
                (accounts, {"metadata": {"name": "nb-nb"}}), (harness.SERVICES.format(ns="default"), service)):
            kind = self.daemon.call("POST", path, body)["kind"]
            name = body["metadata"]["name"]
            self.daemon.call("POST", NOTEBOOKS, notebook("nb"))
            said = self.daemon.wait_for(NOTEBOOKS, lambda found: found["nb"]["status"] if "belongs to another object" in found["nb"].get(
                "status", {}).get("message", "") else None, f"the {kind} to be told of")
            self.assertIn(f"{kind} {name}".lower(), said["message"].lower())
            self.assertIn(said["reason"], ("Refused", "NameTaken"))
            self.assertEqual(self.daemon.list(harness.PODS.format(ns="default")), [])
            self.daemon.call("DELETE", f"{NOTEBOOKS}/nb")
            self.daemon.call("DELETE", f"{path}/{name}")
            self.tearDown()

    def test_an_account_in_its_template_needs_the_right_to_make_pods(self):
        rbac, accounts = "/apis/rbac.authorization.k8s.io/v1/namespaces/default", "/api/v1/namespaces/default/serviceaccounts"
        self.daemon.call("POST", accounts, {"metadata": {"name": "maker"}})
        self.daemon.call("POST", f"{rbac}/roles", {"metadata": {"name": "maker"}, "rules": [
            {"apiGroups": ["tensorstack.dev"], "resources": ["notebooks"], "verbs": ["*"]}]})
        self.daemon.call("POST", f"{rbac}/rolebindings", {
            "metadata": {"name": "maker"}, "subjects": [{"kind": "ServiceAccount", "name": "maker", "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maker"}})
        token = self.daemon.call("POST", f"{accounts}/maker/token", {})["status"]["token"]
        what = notebook("nb", suspend=True)
        what["spec"]["template"]["spec"]["serviceAccountName"] = "other"
        status, body = self.daemon.request("POST", NOTEBOOKS, what, headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(status, 403)
        self.assertIn("cannot create pods", json.loads(body)["message"])
        del what["spec"]["template"]["spec"]["serviceAccountName"]
        self.assertEqual(self.daemon.request("POST", NOTEBOOKS, what, headers={"Authorization": f"Bearer {token}"})[0], 201)

    def test_who_may_only_look_does_not_open_it(self):
        self.start()
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "viewer"}})
        self.daemon.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
            "metadata": {"name": "viewer"}, "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}})
        token = self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts/viewer/token", {})["status"]["token"]
        status, _, body = self.ask("POST", "/console/v1/open", json.dumps({"path": "/notebook/default/nb/"}),
                                   self.sign_in(token))
        self.assertEqual(status, 403)
        self.assertIn("pods/exec", json.loads(body)["message"])

    def test_a_kernel_outlives_the_daemon(self):
        self.start()
        before = self.tell()
        self.daemon.kill()
        self.daemon.start()
        self.wait_phase("nb", "Running")
        after = self.tell()
        self.assertEqual((after["pid"], after["count"]), (before["pid"], before["count"] + 1))

    def test_what_setup_installs_is_found(self):
        """Where `muster notebook --setup` puts it, which is not in any PATH."""
        folder = pathlib.Path(self.programs, ".local/share/muster/jupyter")
        self.addCleanup(shutil.rmtree, folder)
        (folder / "bin").mkdir(parents=True)
        pathlib.Path(self.programs, "jupyter-lab").rename(folder / "bin/jupyter-lab")
        self.start()
        self.assertEqual(self.tell("sh", "-c", "command -v jupyter-lab")["out"], f"{folder}/bin/jupyter-lab\n")

    def test_not_installed_says_how_to_get_it(self):
        pathlib.Path(self.programs, "jupyter-lab").unlink()
        self.daemon.call("POST", NOTEBOOKS, notebook("nb"))
        found = self.wait_phase("nb", "Failed")
        self.assertEqual(found["status"]["reason"], "NotInstalled")
        ready = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
        events = self.daemon.wait_for("/api/v1/namespaces/default/events", lambda found: [
            e["message"] for e in found.values() if e["involvedObject"]["kind"] == "Notebook" and e["reason"] == "Failed"])
        for text in (ready["message"], events[0]):
            self.assertIn("muster notebook --setup", text)

    def test_refusals_and_warnings_name_the_field(self):
        bad = notebook("nb")
        bad["spec"]["template"]["spec"]["containers"][0]["name"] = "other"
        status, text = self.daemon.request("POST", NOTEBOOKS, notebook("nb", scheduler={"t9kScheduler": {"queue": "none"}}))
        self.assertEqual(status, 403, text)
        self.assertIn("spec.scheduler.t9kScheduler.queue: there is no queue", json.loads(text)["message"])
        for what, words in ((bad, "spec.template.spec.containers: Required value: a container named \"notebook\""),
                            (notebook("nb", type="rstudio"), "spec.type"),
                            (notebook("nb", ssh={"authorized_keys": ["../x"]}), "spec.ssh.authorized_keys[0]"),
                            (notebook("nb", ssh={"authorized_keys": ["k"] * 17}), "spec.ssh.authorized_keys"), (notebook("n" * 42), "metadata.name")):
            status, text = self.daemon.request("POST", NOTEBOOKS, what)
            self.assertEqual(status, 422, text)
            self.assertIn(words, json.loads(text)["message"])
        warned = notebook("nb", suspend=True, ssh={"enabled": True, "serviceType": "NodePort"})
        warned["spec"]["template"]["spec"].pop("volumes")
        warned["spec"]["template"]["spec"]["containers"][0].pop("volumeMounts")
        status, headers, text = self.ask("POST", NOTEBOOKS, json.dumps(warned), {
            "Authorization": f"Bearer {self.daemon.token}", "Content-Type": "application/json"})
        self.assertEqual(status, 201, text)
        said = " ".join(headers.get_all("Warning"))
        for field in ("spec.ssh.serviceType", "spec.ssh.authorized_keys: no Secret", "spec.template.spec.volumes"):
            self.assertIn(field, said)
        self.patch("nb", {"suspend": True})
        status, text = self.daemon.request("PATCH", f"{NOTEBOOKS}/nb", {"spec": {"template": {"spec": {
            "hostname": "x"}}}}, content_type=MERGE)
        self.assertEqual(status, 422, text)
        self.assertIn("spec.template", text if isinstance(text, str) else text.decode())

    def test_it_waits_in_its_queue_and_leaves_it_when_paused(self):
        groups = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups"
        self.daemon.call("POST", "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/t9k-system/queues", {
            "metadata": {"name": "small"}, "spec": {"namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "Exists"}]}, "quota": {"requests": {"cpu": "100m"}}}})
        first, second = (notebook(name, scheduler={"t9kScheduler": {"queue": "small", "priority": 7}})
                         for name in ("nb", "nb-two"))
        for one in (first, second):
            one["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
        self.daemon.call("POST", NOTEBOOKS, first)
        self.wait_phase("nb", "Running")
        group = self.daemon.list(groups)[0]
        self.assertEqual((group["spec"]["queue"], group["spec"]["priority"], group["spec"]["minMember"]), ("small", 7, 1))
        self.daemon.call("POST", NOTEBOOKS, second)
        self.daemon.wait_for(NOTEBOOKS, lambda found: 'waiting for the quota of queue "small"' in
                             found["nb-two"].get("status", {}).get("message", "") or None, "it to say why it waits")
        self.patch("nb", {"suspend": True})
        self.wait_phase("nb-two", "Running")
        self.daemon.wait_for(groups, lambda found: len(found) == 1 or None, "the paused one's group to be gone")

    @unittest.skipUnless(os.geteuid() == 0, "an ordinary user's pods are all that user")
    def test_it_is_the_user_its_manifest_names(self):
        what = notebook("nb")
        what["spec"]["template"]["spec"]["securityContext"] = {"runAsUser": 1000, "runAsGroup": 1000}
        self.daemon.call("POST", NOTEBOOKS, what)
        self.wait_phase("nb", "Running")
        own = self.enter("/notebook/default/nb/")
        self.assertEqual(self.tell("sh", "-c", "id -u; id -g; touch mine; stat -c %u mine; pwd", own=own)["out"].split(),
                         ["1000", "1000", "1000", "/t9k/mnt"])
        self.assertNotIn("allow-root", str(self.tell(own=own)["options"]))
        self.assertIn("nb-nb", self.tell(str(KUBECTL), "get", "pods", own=own)["out"])

    @unittest.skipUnless(os.geteuid() == 0, "an ordinary user's pods are all that user")
    def test_a_job_made_in_it_may_write_what_its_folder_lets_all_users_write(self):
        self.start()
        own = self.enter("/notebook/default/nb/")
        muster = os.environ.get("MUSTER_BIN", str(harness.ROOT / "build/muster"))

        def write(name):
            return self.tell(muster, "run", "--name", name, "--volume", "work:/t9k/mnt", "--cpus", "10m", "--memory", "16Mi",
                             "--", "sh", "-c", "echo new >/t9k/mnt/top-$0 && echo new >/t9k/mnt/made/file", name, own=own)["out"]
        self.tell("sh", "-c", "mkdir made && echo old >made/file", own=own)
        said = write("refused")
        self.assertRegex(said, 'in claim "work" user 2[0-9]{9} may not write what root made \\(made\\); chmod -R a\\+rwX')
        # The folder itself is everybody's, and root reads and changes whatever they make.
        self.assertEqual(self.tell("sh", "-c", "cat top-refused && echo more >>top-refused", own=own)["out"], "new\n")
        self.tell("chmod", "-R", "a+rwX", "made", own=own)
        write("let")
        self.assertEqual(self.tell("cat", "made/file", own=own)["out"], "new\n")
        self.daemon.cli("rm", "refused", "let")

    def test_gpus_are_counted_and_given(self):
        first, second = (notebook(name) for name in ("nb-two", "nb"))
        for one, gpus in ((first, "2"), (second, "1")):
            one["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
        self.daemon.call("POST", NOTEBOOKS, first)
        self.wait_phase("nb-two", "Running")
        pod = self.daemon.call("GET", f"{harness.PODS.format(ns='default')}/nb-two-nb")
        self.assertEqual(pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"], "2")
        self.daemon.call("POST", NOTEBOOKS, second)
        self.daemon.wait_for(NOTEBOOKS, lambda found: "0 of 2 GPU is free" in found["nb"].get("status", {}).get(
            "message", "") or None, "it to say that no GPU is free")
        self.patch("nb-two", {"suspend": True})
        self.wait_phase("nb", "Running")
        # Its own only, which a job takes into account too.
        self.assertEqual(self.tell("sh", "-c", "echo $CUDA_VISIBLE_DEVICES")["out"], "0\n")
        job = harness.job("wants", ["sh", "-c", "echo sees $CUDA_VISIBLE_DEVICES"], 1)
        job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
        self.daemon.call("POST", harness.JOBS.format(ns="default"), job)
        self.daemon.wait_phase("wants", "Succeeded")
        self.assertIn("sees 1", self.daemon.log(next(iter(self.daemon.pods("wants")))))
        self.daemon.cli("rm", "wants")

    def test_kubeflows_notebooks_are_ours(self):
        theirs = "/apis/kubeflow.org/v1/namespaces/default/notebooks"
        self.daemon.call("POST", theirs, {
            "apiVersion": "kubeflow.org/v1", "kind": "Notebook", "metadata": {"name": "nb"}, "spec": {"template": {"spec": {
                "containers": [{"name": "nb", "image": "none", "volumeMounts": [{"name": "w", "mountPath": "/home/jovyan"}]}],
                "volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "work"}}]}}}})
        self.wait_phase("nb", "Running")
        self.assertEqual(self.tell()["home"], "/home/jovyan")
        self.daemon.call("PATCH", f"{theirs}/nb", {"metadata": {"annotations": {"kubeflow-resource-stopped": "now"}}},
                         content_type=MERGE)
        self.wait_phase("nb", "Paused")
        self.assertEqual(self.daemon.call("GET", f"{theirs}/nb")["apiVersion"], "kubeflow.org/v1")
        self.patch("nb", {"suspend": False})
        self.wait_phase("nb", "Running")
        self.assertNotIn("kubeflow-resource-stopped", self.daemon.call("GET", f"{theirs}/nb")["metadata"]["annotations"])


if __name__ == "__main__":
    harness.main()

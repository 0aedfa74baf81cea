#!/usr/bin/python3
"""Admission webhooks: programs that check or change what is written, over HTTPS; with a real server and its own authority."""
import base64
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

GROUP = "/apis/admissionregistration.k8s.io/v1"
VALIDATING, MUTATING = f"{GROUP}/validatingwebhookconfigurations", f"{GROUP}/mutatingwebhookconfigurations"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = harness.PODS.format(ns="default")


def make_authority(folder, names):
    """ca.crt and a server's certificate for these names in the folder; the authority's certificate."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=hooks", "-days", "2")
    openssl(*new, "-keyout", "server.key", "-out", "request", "-subj", "/CN=hook")
    pathlib.Path(folder, "names").write_text("subjectAltName=" + ",".join(names))
    openssl("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.crt",
            "-days", "2", "-extfile", "names")
    return pathlib.Path(folder, "ca.crt").read_text()


class Hooks:
    """An HTTPS server; answers[path] makes the answer to an AdmissionReview's request: a response without its uid, bytes, or
    None to hang until it is closed."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="muster-hooks-")
        self.ca = make_authority(self.folder, ["DNS:localhost", "IP:127.0.0.1"])
        self.answers, self.asked, self.changed = {}, [], threading.Condition()
        self.over = threading.Event()
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                path = self.path.split("?")[0]
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with hooks.changed:
                    hooks.asked.append((path, review["request"]))
                    hooks.changed.notify_all()
                answer = hooks.answers[path](review["request"])
                if answer is None:
                    hooks.over.wait()
                    self.close_connection = True
                    return
                if isinstance(answer, dict):
                    answer = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                                         "response": {"uid": review["request"]["uid"], **answer}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # clients that do not trust us

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, "server.crt"), os.path.join(self.folder, "server.key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.folder)

    def paths(self):
        return [path for path, _ in self.asked]

    def wait_asked(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.asked) >= count, harness.PATIENCE), self.asked


def allow(_):
    return {"allowed": True}


def patch(*operations):
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}


def config_map(name, data=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": data or {}}


def pod(name, command=("true",), **meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "none", "command": list(command)}]}}


def make_account(daemon, name):
    """A service account that may edit in its namespace; its token."""
    accounts, rights = "/api/v1/namespaces/default/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    daemon.call("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    daemon.call("POST", f"{rights}/rolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        "roleRef": {"kind": "ClusterRole", "name": "edit", "apiGroup": "rbac.authorization.k8s.io"}})
    return daemon.call("POST", f"{accounts}/{name}/token", {})["status"]["token"]


class WithHooks(harness.WithDaemon):
    options = ("--only", "api")

    def setUp(self):
        self.hooks = Hooks()
        self.addCleanup(self.hooks.close)
        self.addCleanup(self.clean)

    def clean(self):
        for path in (VALIDATING, MUTATING):
            for item in self.daemon.list(path):
                self.daemon.call("DELETE", f"{path}/{item['metadata']['name']}")
        self.daemon.call("DELETE", MAPS)

    def hook(self, path="/", operations=("CREATE", "UPDATE"), resources=("configmaps",), groups=("",), versions=("v1",), ca=None,
             name=None, **more):
        client = {"url": f"https://127.0.0.1:{self.hooks.port}{path}",
                  "caBundle": base64.b64encode((ca or self.hooks.ca).encode()).decode()}
        return {"name": name or f"{path.strip('/') or 'root'}.example.com", "clientConfig": client, "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
                "rules": [{"operations": list(operations), "apiGroups": list(groups), "apiVersions": list(versions),
                           "resources": list(resources)}], **more}

    def configure(self, where, name, *hooks, expect=(201,)):
        kind = "ValidatingWebhookConfiguration" if where == VALIDATING else "MutatingWebhookConfiguration"
        return self.daemon.call("POST", where, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                                                "metadata": {"name": name}, "webhooks": list(hooks)}, expect=expect)

    def validate(self, answer, path="/check", **how):
        self.hooks.answers[path] = answer
        self.configure(VALIDATING, path.strip("/"), self.hook(path, **how))

    def mutate(self, answer, path="/change", **how):
        self.hooks.answers[path] = answer
        self.configure(MUTATING, path.strip("/"), self.hook(path, **how))

    def refused(self, method, path, body=None, **how):
        status, text, _ = self.daemon.exchange(method, path, body, **how)
        answer = json.loads(text)
        self.assertGreaterEqual(status, 400, answer)
        self.assertEqual(status, answer["code"])
        return status, answer["reason"], answer["message"]


class Validating(WithHooks):
    def test_a_webhook_allows_and_denies(self):
        self.validate(lambda request: {"allowed": request["object"]["data"].get("good") == "yes",
                                       "status": {"message": "not good", "code": 403, "reason": "Forbidden"}})
        self.daemon.call("POST", MAPS, config_map("a", {"good": "yes"}))
        self.assertEqual(self.refused("POST", MAPS, config_map("b")),
                         (403, "Forbidden", 'admission webhook "check.example.com" denied the request: not good'))
        self.daemon.call("GET", f"{MAPS}/b", expect=(404,))
        self.assertEqual(self.refused("PATCH", f"{MAPS}/a", {"data": {"good": "no"}},
                                      content_type="application/merge-patch+json")[0], 403)
        self.daemon.call("DELETE", f"{MAPS}/a")

    def test_the_question_describes_the_write(self):
        self.validate(allow, operations=("*",), resources=("*/*",), groups=("*",), versions=("*",))
        made = self.daemon.call("POST", f"{MAPS}?fieldManager=me", config_map("a", {"k": "1"}))
        self.daemon.call("PUT", f"{MAPS}/a?dryRun=All", config_map("a", {"k": "2"}))
        self.daemon.call("DELETE", f"{MAPS}/a")
        created, updated, deleted = [request for _, request in self.hooks.asked]
        self.assertEqual(created["kind"], {"group": "", "version": "v1", "kind": "ConfigMap"})
        self.assertEqual(created["requestResource"], {"group": "", "version": "v1", "resource": "configmaps"})
        self.assertEqual([created[key] for key in ("name", "namespace", "operation", "dryRun", "oldObject")],
                         ["a", "default", "CREATE", False, None])
        self.assertEqual(created["options"], {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"})
        self.assertIn("system:masters", created["userInfo"]["groups"])
        self.assertEqual(created["object"]["metadata"]["uid"], made["metadata"]["uid"])
        self.assertNotIn("managedFields", created["object"]["metadata"])
        self.assertNotIn("subResource", created)
        self.assertEqual((updated["operation"], updated["dryRun"], updated["oldObject"]["data"], updated["object"]["data"]),
                         ("UPDATE", True, {"k": "1"}, {"k": "2"}))
        self.assertEqual((deleted["operation"], deleted["object"], deleted["oldObject"]["data"], deleted["options"]["kind"]),
                         ("DELETE", None, {"k": "1"}, "DeleteOptions"))

    def test_a_generated_name_is_the_one_that_was_asked_about(self):
        self.validate(allow)
        what = config_map("x")
        what["metadata"] = {"generateName": "some-"}
        made = self.daemon.call("POST", MAPS, what)
        self.assertEqual([request["object"]["metadata"]["name"] for _, request in self.hooks.asked], [made["metadata"]["name"]])

    def test_only_what_matches_is_asked_about(self):
        self.daemon.call("POST", MAPS, config_map("was", labels={"watched": "yes"}))
        self.validate(lambda _: {"allowed": False}, objectSelector={"matchLabels": {"watched": "yes"}},
                      matchConditions=[{"name": "named", "expression": "object.metadata.name.startsWith('w')"}])
        self.daemon.call("POST", MAPS, config_map("wa"))
        self.daemon.call("POST", MAPS, config_map("a", labels={"watched": "yes"}))
        self.assertEqual(self.hooks.asked, [])
        self.assertEqual(self.refused("POST", MAPS, config_map("wb", labels={"watched": "yes"}))[2],
                         'admission webhook "check.example.com" denied the request without explanation')
        for name, label in (("wa", "yes"), ("was", None)):  # also one that loses the label
            self.assertEqual(self.refused("PATCH", f"{MAPS}/{name}", {"metadata": {"labels": {"watched": label}}},
                                          content_type="application/merge-patch+json")[0], 400)

    def test_a_deletion_is_not_selected_by_labels_that_it_lacks(self):
        self.daemon.call("POST", MAPS, config_map("a", labels={"team": "red"}))
        self.validate(lambda _: {"allowed": False}, operations=("DELETE",),
                      objectSelector={"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]})
        self.daemon.call("DELETE", f"{MAPS}/a")

    def test_a_collection_of_large_objects_is_deleted(self):
        """All of them together are more than the memory of one request."""
        self.validate(allow, rules=[{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}])
        for i in range(100):
            self.daemon.call("POST", MAPS, config_map(f"large-{i}", {"a": "x" * 900_000}, labels={"large": "yes"}))
        self.daemon.call("DELETE", f"{MAPS}?labelSelector=large")
        self.assertEqual(self.daemon.list(f"{MAPS}?labelSelector=large"), [])

    def test_deletions_are_refused_one_by_one_and_together(self):
        for i in range(40):
            self.daemon.call("POST", MAPS, config_map(f"a{i}"))
        self.validate(lambda request: {"allowed": request["name"] != "a39"}, operations=("DELETE",))
        self.assertEqual(self.refused("DELETE", f"{MAPS}/a39")[0], 400)
        self.assertEqual(self.refused("DELETE", MAPS)[0], 400)
        self.assertEqual(len(self.daemon.list(MAPS)), 40)
        self.daemon.call("DELETE", f"{VALIDATING}/check")
        self.validate(allow, operations=("DELETE",))
        self.hooks.asked.clear()
        self.daemon.call("DELETE", MAPS)
        self.assertEqual((self.daemon.list(MAPS), len(self.hooks.asked)), ([], 40))

    def test_warnings_reach_the_client(self):
        self.validate(lambda _: {"allowed": True, "warnings": ["mind the gap"]})
        _, _, headers = self.daemon.exchange("POST", MAPS, config_map("a"))
        self.assertEqual(headers.get_all("Warning"), ['299 - "mind the gap"'])

    def test_all_validating_webhooks_are_asked_at_the_same_time(self):
        both = threading.Barrier(2, timeout=harness.PATIENCE)

        def meet(_):
            both.wait()
            return {"allowed": True}

        self.hooks.answers.update({"/one": meet, "/two": meet})
        self.configure(VALIDATING, "both", self.hook("/one"), self.hook("/two"))
        self.daemon.call("POST", MAPS, config_map("a"))

    def test_status_is_a_resource_of_its_own(self):
        self.validate(lambda request: {"allowed": request.get("subResource") != "status"}, resources=("pods", "pods/status"))
        made = self.daemon.call("POST", PODS, pod("a"))
        made["status"]["phase"] = "Running"
        self.assertEqual(self.refused("PUT", f"{PODS}/a/status", made)[0], 400)
        self.daemon.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0")

    def test_an_object_changed_while_it_was_asked_about_is_not_overwritten(self):
        self.daemon.call("POST", MAPS, config_map("a", {"n": "0"}))
        first = []

        def answer(request):
            if not first:
                first.append(request)
                self.daemon.call("PATCH", f"{MAPS}/a", {"data": {"other": "yes"}}, content_type="application/merge-patch+json")
            return {"allowed": True}

        self.validate(answer)
        now = self.daemon.call("PATCH", f"{MAPS}/a", {"data": {"n": "1"}}, content_type="application/merge-patch+json")
        self.assertEqual(now["data"], {"n": "1", "other": "yes"})  # and the second question had both
        self.assertEqual([request["object"]["data"] for _, request in self.hooks.asked][-1], {"n": "1", "other": "yes"})

    def test_another_version_is_asked_about_in_the_version_of_the_rule(self):
        jobs = "/apis/batch/{}/namespaces/default/cronjobs"
        self.validate(lambda _: {"allowed": False}, groups=("batch",), resources=("cronjobs",), versions=("v1",))
        what = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "a"},
                "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": pod("x")["spec"]}}}}}
        self.assertEqual(self.refused("POST", jobs.format("v1beta1"), what)[0], 400)
        request = self.hooks.asked[0][1]
        self.assertEqual((request["kind"]["version"], request["requestKind"]["version"], request["object"]["apiVersion"]),
                         ("v1", "v1beta1", "batch/v1"))


class Mutating(WithHooks):
    def test_a_webhook_changes_what_is_written(self):
        self.mutate(lambda request: patch({"op": "add", "path": "/data/added", "value": request["operation"]}))
        made = self.daemon.call("POST", MAPS, config_map("a", {"own": "1"}))
        self.assertEqual(made["data"], {"own": "1", "added": "CREATE"})
        now = self.daemon.call("PATCH", f"{MAPS}/a", {"data": {"own": "2"}}, content_type="application/merge-patch+json")
        self.assertEqual(now["data"], {"own": "2", "added": "UPDATE"})
        applied = self.daemon.call("PATCH", f"{MAPS}/b?fieldManager=me", config_map("b", {"own": "3"}),
                                   content_type="application/apply-patch+yaml")
        self.assertEqual(applied["data"], {"own": "3", "added": "CREATE"})
        applied = self.daemon.call("PATCH", f"{MAPS}/b?fieldManager=me", config_map("b", {"own": "4"}),
                                   content_type="application/apply-patch+yaml")
        self.assertEqual(applied["data"], {"own": "4", "added": "UPDATE"})
        self.assertEqual(self.daemon.call("POST", f"{MAPS}?dryRun=All", config_map("c", {"own": "5"}))["data"]["added"], "CREATE")
        self.daemon.call("GET", f"{MAPS}/c", expect=(404,))

    def test_the_result_is_defaulted_and_validated(self):
        self.mutate(lambda _: patch({"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "none"}}),
                    resources=("pods",))
        made = self.daemon.call("POST", PODS, pod("a"))
        self.assertEqual(made["spec"]["containers"][1]["terminationMessagePath"], "/dev/termination-log")
        self.hooks.answers["/change"] = lambda _: patch({"op": "replace", "path": "/spec/restartPolicy", "value": "Perhaps"})
        self.assertEqual(self.refused("POST", PODS, pod("b"))[:2], (422, "Invalid"))
        self.daemon.call("DELETE", f"{PODS}/a?gracePeriodSeconds=0", expect=(200,))

    def test_what_belongs_to_the_server_stays(self):
        self.mutate(lambda _: patch({"op": "replace", "path": "/metadata/uid", "value": "mine"},
                                    {"op": "add", "path": "/metadata/resourceVersion", "value": "7"}))
        made = self.daemon.call("POST", MAPS, config_map("a"))
        self.assertNotEqual(made["metadata"]["uid"], "mine")
        self.assertNotEqual(made["metadata"]["resourceVersion"], "7")

    def test_the_order_is_by_name_and_validating_ones_see_the_result(self):
        def add(text):
            return lambda request: patch({"op": "add", "path": "/data/order",
                                          "value": request["object"]["data"].get("order", "") + text})

        self.hooks.answers.update({"/a": add("a"), "/b": add("b"), "/c": add("c")})
        self.configure(MUTATING, "z", self.hook("/c"))
        self.configure(MUTATING, "m", self.hook("/b"), self.hook("/a"))
        self.validate(lambda request: {"allowed": request["object"]["data"]["order"] == "bac"})
        self.daemon.call("POST", MAPS, config_map("x", {"own": "1"}))
        self.assertEqual(self.hooks.paths(), ["/b", "/a", "/c", "/check"])

    def test_a_webhook_is_called_again_when_others_changed_the_object(self):
        def count(request):
            return patch({"op": "add", "path": "/data/seen", "value": ",".join(sorted(request["object"]["data"]))})

        self.hooks.answers.update({"/first": count, "/last": lambda _: patch({"op": "add", "path": "/data/late", "value": "1"})})
        self.configure(MUTATING, "a", self.hook("/first", reinvocationPolicy="IfNeeded"))
        self.configure(MUTATING, "b", self.hook("/last"))
        made = self.daemon.call("POST", MAPS, config_map("x", {"own": "1"}))
        self.assertEqual(self.hooks.paths(), ["/first", "/last", "/first"])
        self.assertEqual(made["data"]["seen"], "late,own,seen")

    def test_patches_that_do_not_apply_are_refused(self):
        self.mutate(lambda _: patch({"op": "remove", "path": "/data/absent"}), failurePolicy="Ignore")
        status, _, message = self.refused("POST", MAPS, config_map("a"))
        self.assertEqual((status, 'admission webhook "change.example.com": its patch failed' in message), (500, True))
        self.hooks.answers["/change"] = lambda _: {**patch({"op": "test"}), "patchType": "Merge"}
        self.daemon.call("POST", MAPS, config_map("a"))

    def test_a_caller_gets_nothing_through_a_webhook_that_he_may_not_have(self):
        token = make_account(self.daemon, "some")
        self.mutate(lambda _: patch({"op": "add", "path": "/spec/volumes", "value": [{"name": "root", "hostPath": {"path": "/"}}]}),
                    resources=("pods",))
        status, _, message = self.refused("POST", PODS, pod("a"), headers={"Authorization": f"Bearer {token}"})
        self.assertEqual((status, "hostPath" in message), (403, True), message)
        status, _, message = self.refused("GET", MUTATING, headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(status, 403)


    def test_kubectl_applies_and_patches(self):
        self.mutate(lambda request: patch({"op": "add", "path": "/data/added", "value": "yes"}))
        self.validate(lambda request: {"allowed": request["object"]["data"].get("own") != "bad", "warnings": ["checked"],
                                       "status": {"message": "own is bad"}})

        def kubectl(*words, own=None):
            text = json.dumps(config_map("a", {"own": own})) if own else None
            done = subprocess.run([harness.KUBECTL, "--kubeconfig", self.daemon.kubeconfig(self.daemon.token), *words], input=text,
                                  capture_output=True, text=True, timeout=harness.PATIENCE)
            return done.returncode, done.stdout.strip(), done.stderr

        apply, server = ("apply", "-f", "-"), ("apply", "--server-side", "--force-conflicts", "-f", "-")
        code, said, warned = kubectl(*apply, own="1")
        self.assertEqual((code, said, "Warning: checked" in warned), (0, "configmap/a created", True), warned)
        self.assertEqual(kubectl(*apply, own="1")[:2], (0, "configmap/a unchanged"))
        self.assertEqual(kubectl(*apply, own="2")[:2], (0, "configmap/a configured"))
        self.assertEqual(kubectl(*server, own="3")[:2], (0, "configmap/a serverside-applied"))
        self.assertEqual(kubectl("patch", "configmap", "a", "--type=merge", "-p", '{"data":{"own":"4"}}')[:2],
                         (0, "configmap/a patched"))
        for words, own in ((apply, "bad"), (server, "bad"), (("patch", "configmap", "a", "-p", '{"data":{"own":"bad"}}'), None)):
            code, _, said = kubectl(*words, own=own)
            self.assertEqual((code, 'admission webhook "check.example.com" denied the request: own is bad' in said), (1, True), said)
        self.assertEqual(self.daemon.call("GET", f"{MAPS}/a")["data"], {"own": "4", "added": "yes"})
        self.assertIn("change   1 ", kubectl("get", "mutatingwebhookconfigurations")[1].replace("          ", "   "))


class Failing(WithHooks):
    def check(self, answer, words, **how):
        """A webhook that does not answer as it must refuses, or is ignored, by its policy."""
        self.validate(answer, **how)
        status, reason, message = self.refused("POST", MAPS, config_map("a"))
        self.assertEqual((status, reason), (500, "InternalError"))
        self.assertIn('Internal error occurred: failed calling webhook "check.example.com": ', message)
        self.assertIn(words, message)
        self.daemon.call("DELETE", f"{VALIDATING}/check")
        self.validate(answer, failurePolicy="Ignore", **how)
        self.daemon.call("POST", MAPS, config_map("a"))

    def test_a_wrong_uid(self):
        self.check(lambda _: {"allowed": True, "uid": "x"}, "expected response.uid=")

    def test_what_is_not_a_review(self):
        self.check(lambda _: b"<html>", "the answer is not JSON")

    def test_a_review_without_a_response(self):
        self.check(lambda _: b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "response was absent")

    def test_another_version(self):
        self.check(lambda _: b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}', "expected webhook response of")

    def test_an_answer_that_is_too_large(self):
        self.check(lambda _: b" " * (4 << 20), "too large")

    def test_an_authority_that_is_not_trusted(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(allow, "failed to call webhook: ", ca=make_authority(folder, ["DNS:other"]))
        self.assertEqual(self.hooks.asked, [])

    def test_no_answer_in_time(self):
        self.check(lambda _: None, f'Post "https://127.0.0.1:{self.hooks.port}/check?timeout=1s": context deadline exceeded',
                   timeoutSeconds=1)

    def test_nothing_listens(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.hooks.port = free.getsockname()[1]
            self.check(allow, "failed to call webhook: ")

    def test_a_broken_one_can_be_changed_and_removed(self):
        self.hooks.answers["/"] = lambda _: {"allowed": False}
        everything = self.hook("/", operations=("*",), resources=("*/*",), groups=("*",), versions=("*",))
        del everything["namespaceSelector"]
        self.configure(VALIDATING, "all", everything)
        self.refused("POST", MAPS, config_map("a"))
        asked = len(self.hooks.asked)
        self.daemon.call("PATCH", f"{VALIDATING}/all", {"metadata": {"labels": {"a": "b"}}},
                         content_type="application/merge-patch+json")
        self.daemon.call("DELETE", f"{VALIDATING}/all")
        self.assertEqual(len(self.hooks.asked), asked)
        self.daemon.call("POST", MAPS, config_map("a"))

    def test_a_webhook_that_writes_itself(self):
        def write(request):
            if request["name"] == "a":
                self.daemon.call("POST", MAPS, config_map("from-the-webhook"))
            return {"allowed": True}

        self.validate(write)
        self.daemon.call("POST", MAPS, config_map("a"))
        self.daemon.call("GET", f"{MAPS}/from-the-webhook")

    def test_a_client_that_goes_away_writes_nothing(self):
        self.validate(lambda request: None if request["name"] == "gone" else {"allowed": True})
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port)
        connection.request("POST", MAPS, json.dumps(config_map("gone")),
                           {"Authorization": f"Bearer {self.daemon.token}", "Content-Type": "application/json"})
        self.hooks.wait_asked(1)
        connection.close()
        self.daemon.call("POST", MAPS, config_map("a"))
        self.daemon.call("GET", f"{MAPS}/gone", expect=(404,))

    def test_one_account_does_not_take_all_calls(self):
        token = make_account(self.daemon, "many")
        self.validate(lambda request: None if request["userInfo"]["username"].endswith(":many") else {"allowed": True})

        def ask(name):
            connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
            self.addCleanup(connection.close)
            connection.request("POST", MAPS, json.dumps(config_map(name)),
                               {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            return connection

        for i in range(32):
            ask(f"a{i}")
        self.hooks.wait_asked(32)
        self.assertEqual(ask("b").getresponse().status, 429)
        self.daemon.call("POST", MAPS, config_map("c"))  # nor do others wait for them

    def test_a_daemon_that_stops_does_not_wait(self):
        daemon = harness.Daemon("--only", "api")
        with contextlib.closing(daemon):
            self.daemon = daemon  # instead of the class's
            self.validate(lambda _: None)
            del self.daemon
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
            connection.request("POST", MAPS, json.dumps(config_map("a")),
                               {"Authorization": f"Bearer {daemon.token}", "Content-Type": "application/json"})
            self.hooks.wait_asked(1)
            self.assertEqual(daemon.terminate(), 0)
            connection.close()


class Configurations(WithHooks):
    def wrong(self, **change):
        hook = self.hook("/")
        for key, value in change.items():
            hook[key] = value
        return self.configure(VALIDATING, "a", hook, expect=(422,))["message"]

    def test_what_cannot_be_carried_out_is_refused(self):
        self.assertIn("at least three segments", self.wrong(name="short"))
        self.assertIn("must include v1", self.wrong(admissionReviewVersions=["v1beta1"]))
        self.assertIn("webhooks[0].sideEffects", self.wrong(sideEffects="Unknown"))
        self.assertIn("webhooks[0].timeoutSeconds", self.wrong(timeoutSeconds=31))
        self.assertIn("only allowed URL scheme", self.wrong(clientConfig={"url": "http://127.0.0.1/"}))
        self.assertIn("user information", self.wrong(clientConfig={"url": "https://a@b/"}))
        self.assertIn("exactly one of url or service", self.wrong(clientConfig={}))
        self.assertIn("compilation failed", self.wrong(matchConditions=[{"name": "a", "expression": "object."}]))

    def test_defaults_and_columns(self):
        hook = self.hook("/")
        for key in ("timeoutSeconds", "namespaceSelector"):
            del hook[key]
        hook["clientConfig"] = {"service": {"namespace": "default", "name": "none"}}
        made = self.configure(MUTATING, "a", hook)["webhooks"][0]
        keys = ("timeoutSeconds", "failurePolicy", "matchPolicy", "reinvocationPolicy", "objectSelector")
        self.assertEqual([made[key] for key in keys], [10, "Fail", "Equivalent", "Never", {}])
        self.assertEqual(made["clientConfig"]["service"]["port"], 443)
        self.assertIn('service "none" not found', self.refused("POST", MAPS, config_map("a"))[2])

    def test_connections_are_not_asked_about(self):
        _, _, headers = self.daemon.exchange("POST", VALIDATING, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a"},
            "webhooks": [self.hook("/", operations=("CONNECT",))]})
        self.assertIn("CONNECT does nothing", headers["Warning"])


SERVER = """
import http.server, json, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        answer = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {
            "uid": asked["uid"], "allowed": asked["name"] != "bad",
            "status": {"message": self.path + " " + self.headers["Host"]}}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/server.crt", sys.argv[1] + "/server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


class InPods(WithHooks):
    options = ()

    def tearDown(self):
        self.clean()
        self.daemon.call("DELETE", f"{PODS}?gracePeriodSeconds=0")
        self.daemon.wait_for(PODS, lambda pods: not pods)

    def first_number(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", f"{PODS}/{name}/log?follow=true", headers={"Authorization": f"Bearer {self.daemon.token}"})
            return int(connection.getresponse().readline())

    def test_a_service_leads_to_a_pod(self):
        folder = os.path.join(self.daemon.folder, "hook")
        os.mkdir(folder)
        ca = make_authority(folder, ["DNS:hook.default.svc"])
        pathlib.Path(folder, "server.py").write_text(SERVER)
        for path in (folder, f"{folder}/server.key"):
            os.chmod(path, 0o755)
        self.daemon.call("POST", PODS, pod("hook", ["/usr/bin/python3", f"{folder}/server.py", folder], labels={"app": "hook"}))
        self.daemon.wait_for(PODS, lambda pods: pods["hook"]["status"].get("phase") == "Running")
        port = self.first_number("hook")
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
                   "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": port}]}}
        hook = self.hook("/")
        hook["clientConfig"] = {"service": {"namespace": "default", "name": "hook", "path": "/validate"},
                                "caBundle": base64.b64encode(ca.encode()).decode()}
        self.daemon.call("POST", harness.SERVICES.format(ns="default"), service)
        self.configure(VALIDATING, "hook", hook)
        self.daemon.call("POST", MAPS, config_map("good"))
        self.assertIn("denied the request: /validate?timeout=30s hook.default.svc",
                      self.refused("POST", MAPS, config_map("bad"))[2])
        # Another program's port is not connected to, even if the service names it.
        self.daemon.call("PATCH", f"{harness.SERVICES.format(ns='default')}/hook", {"spec": {"ports": [
            {"port": 443, "targetPort": self.hooks.port}]}}, content_type="application/merge-patch+json")
        self.assertIn("the pod cannot be connected to", self.refused("POST", MAPS, config_map("other"))[2])
        self.assertEqual(self.hooks.asked, [])

    def test_controllers_pods_are_seen(self):
        self.mutate(lambda _: patch({"op": "add", "path": "/metadata/annotations", "value": {"seen": "yes"}}), resources=("pods",),
                    operations=("CREATE",))
        self.daemon.create(harness.job("j", ["true"], replicas=2))
        self.daemon.wait_phase("j", "Succeeded")
        pods = self.daemon.pods("j")
        self.assertEqual([one["metadata"]["annotations"].get("seen") for one in pods.values()], ["yes", "yes"])
        self.hooks.answers["/change"] = lambda _: {"allowed": False, "status": {"message": "no pods today"}}
        self.daemon.create(harness.job("k", ["true"], replicas=1))
        self.daemon.wait_for(harness.JOBS.format(ns="default"),
                             lambda jobs: "no pods today" in json.dumps(jobs["k"].get("status", {})))
        for name in ("j", "k"):
            self.daemon.call("DELETE", f"{harness.JOBS.format(ns='default')}/{name}")


if __name__ == "__main__":
    unittest.main()

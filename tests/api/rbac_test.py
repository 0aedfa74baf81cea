#!/usr/bin/python3
"""Service accounts, their tokens and what Roles allow them: over HTTP and with stock kubectl, old and current."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

sys.path.insert(0, str(harness.ROOT / "examples/ddp"))

import eventfile  # noqa: E402

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
PODS = harness.PODS.format(ns="default")
ME = 'User "system:serviceaccount:default:launcher"'


def pod(name, account=None):
    spec = {"schedulerName": "nobody", "containers": [{"name": "main", "image": "none", "command": ["true"]}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {**spec, **({"serviceAccountName": account} if account else {})}}


def role(name, *rules, kind="Role"):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules}


def rule(verbs, resources, names=(), groups=("",)):
    return {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": list(groups),
            **({"resourceNames": list(names)} if names else {})}


def binding(name, role_name, account="launcher", kind="Role", binding_kind="RoleBinding"):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": binding_kind, "metadata": {"name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
            "roleRef": {"kind": kind, "name": role_name}}


def account(name):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


class Rbac(harness.WithDaemon):
    options = ("--only", "api")

    def tearDown(self):
        for path in (PODS, ROLES, BINDINGS):
            self.daemon.call("DELETE", path)
        self.daemon.call("DELETE", f"{ACCOUNTS}/launcher", expect=(200, 404))

    def token(self, name="launcher", **spec):
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return self.daemon.call("POST", f"{ACCOUNTS}/{name}/token", body)["status"]["token"]

    def as_account(self, token, method, path, body=None):
        status, text = self.daemon.request(method, path, body, headers={"Authorization": f"Bearer {token}"})
        return status, json.loads(text)

    def launcher(self, *rules):
        self.daemon.call("POST", ACCOUNTS, account("launcher"))
        self.daemon.call("POST", ROLES, role("launcher", *rules))
        self.daemon.call("POST", BINDINGS, binding("launcher", "launcher"))
        return self.token()

    def test_who_may_not_delete_may_not_have_it_deleted_later(self):
        jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
        token = self.launcher(rule("get patch", "pytorchtrainingjobs", groups=("batch.tensorstack.dev",)))
        self.daemon.call("POST", jobs, {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob",
                                        "metadata": {"name": "mine"}, "spec": {"replicaSpecs": [
                                            {"type": "worker", "template": pod("x")}]}})

        def later(at, path=f"{jobs}/mine", **who):
            body = {"metadata": {"annotations": {"muster.dev/delete-at": at}}}
            status, text = self.daemon.request("PATCH", path, body, "application/merge-patch+json", who)
            return status, json.loads(text)

        mine = {"Authorization": f"Bearer {token}"}
        status, answer = later("2099-01-01T00:00:00Z", **mine)
        self.assertEqual((status, answer["reason"]), (403, "Forbidden"))
        self.assertIn('cannot delete resource "pytorchtrainingjobs"', answer["message"])
        status, answer = later("tomorrow")
        self.assertEqual((status, answer["details"]["causes"][0]["field"]),
                         (422, "metadata.annotations[muster.dev/delete-at]"))
        self.daemon.call("POST", PODS, pod("not-a-job"))
        self.assertEqual(later("2099-01-01T00:00:00Z", f"{PODS}/not-a-job")[0], 422)
        self.assertEqual(later("2099-01-01T00:00:00Z")[0], 200)
        self.assertEqual(later(None, **mine)[0], 200)  # the undo deletes nothing
        self.daemon.call("DELETE", jobs)

    def test_who_may_not_delete_may_not_give_it_another_owner(self):
        """An object whose owners are not there is deleted; so changing them asks for delete, by whatever way."""
        jobs = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs"
        maps = "/api/v1/namespaces/default/configmaps"
        token = self.launcher(rule("get create patch update", "configmaps"),
                              rule("get patch update", "pytorchtrainingjobs", groups=("batch.tensorstack.dev",)))
        job = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "PyTorchTrainingJob", "metadata": {"name": "theirs"},
               "spec": {"runMode": {"pause": {"enabled": True}}, "replicaSpecs": [{"type": "worker", "template": pod("x")}]}}
        self.daemon.call("POST", jobs, job)
        self.daemon.call("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}})
        gone = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "11111111-2222-3333-4444-555555555555"}]
        mine = {"Authorization": f"Bearer {token}"}
        for path in (f"{jobs}/theirs", f"{maps}/theirs"):
            whole = self.daemon.call("GET", path)
            whole["metadata"]["ownerReferences"] = gone
            applied = {key: whole[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": "theirs", "ownerReferences": gone}}
            for method, kind, body, query in (
                    ("PATCH", "merge-patch+json", {"metadata": {"ownerReferences": gone}}, ""),
                    ("PATCH", "json-patch+json", [{"op": "add", "path": "/metadata/ownerReferences", "value": gone}], ""),
                    ("PATCH", "apply-patch+yaml", applied, "?fieldManager=m&force=true"), ("PUT", "json", whole, "")):
                with self.subTest(path=path, method=method, kind=kind):
                    status, text = self.daemon.request(method, path + query, body, f"application/{kind}", mine)
                    self.assertEqual((status, json.loads(text)["reason"]), (403, "Forbidden"))
                    self.assertRegex(json.loads(text)["message"], "metadata.ownerReferences.*cannot delete resource")
            labelled = {"metadata": {"labels": {"a": "b"}, "ownerReferences": []}}  # which changes no owner
            self.assertEqual(self.daemon.request("PATCH", path, labelled, "application/merge-patch+json", mine)[0], 200)
        new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "ownerReferences": gone}}
        self.assertEqual(self.as_account(token, "POST", maps, new)[0], 201)  # who makes an object deletes nothing of others
        body = {"metadata": {"ownerReferences": gone}}
        self.assertEqual(self.daemon.request("PATCH", f"{maps}/theirs", body, "application/merge-patch+json")[0], 200)
        self.daemon.call("DELETE", jobs)

    def test_a_role_allows_what_its_rules_say_and_nothing_else(self):
        token = self.launcher(rule("get list watch", "pods", ["a", "b"]), rule("create", "pods/exec", ["a"]))
        for name in "abc":
            self.daemon.call("POST", PODS, pod(name))
        for method, path, code in (
                ("GET", f"{PODS}/a", 200), ("GET", f"{PODS}/c", 403), ("GET", PODS, 403),
                ("GET", f"{PODS}?fieldSelector=metadata.name%3Da", 200),
                ("GET", f"{PODS}?fieldSelector=metadata.name%3Dc", 403),
                ("DELETE", f"{PODS}/a", 403), ("GET", f"{PODS}/a/log", 403), ("GET", f"{PODS}/a/status", 403),
                ("GET", f"{PODS}/b/exec?command=true&stdout=1", 403),
                ("GET", f"{PODS}/a/exec?command=true&stdout=1", 400),  # allowed, but the pod runs nowhere
                ("GET", "/api/v1/namespaces/kube-system/pods/a", 403), ("GET", "/api/v1/nodes", 403),
                ("GET", "/api/v1/pods", 403), ("GET", ROLES, 403), ("GET", "/apis", 200), ("GET", "/version", 200)):
            with self.subTest(path=path, method=method):
                status, answer = self.as_account(token, method, path)
                self.assertEqual(status, code, answer)
        self.assertEqual(self.as_account(token, "GET", f"{PODS}/c")[1]["message"],
                         f'pods "c" is forbidden: {ME} cannot get resource "pods" in API group "" in the namespace '
                         '"default"')
        self.assertEqual(self.as_account(token, "GET", f"{PODS}/b/exec?command=true")[1]["message"],
                         f'pods "b" is forbidden: {ME} cannot create resource "pods/exec" in API group "" in the '
                         'namespace "default"')
        self.assertEqual(self.as_account(token, "GET", "/api/v1/nodes")[1]["message"],
                         f'nodes is forbidden: {ME} cannot list resource "nodes" in API group "" at the cluster scope')
        self.assertEqual(self.as_account(token, "GET", ROLES)[1]["message"],
                         f'roles.rbac.authorization.k8s.io is forbidden: {ME} cannot list resource "roles" in API '
                         'group "rbac.authorization.k8s.io" in the namespace "default"')

    def test_metrics_are_for_the_owner_and_those_who_are_granted_them(self):
        """They count everybody's objects."""
        roles, bindings = (f"/apis/rbac.authorization.k8s.io/v1/{plural}" for plural in ("clusterroles", "clusterrolebindings"))
        token = self.launcher(rule("*", "*"))
        status, answer = self.as_account(token, "GET", "/metrics")
        self.assertEqual((status, answer["message"]), (403, f'forbidden: {ME} cannot get path "/metrics"'))

        def may(path):
            spec = {"nonResourceAttributes": {"verb": "get", "path": path}}
            return self.as_account(token, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                   {"kind": "SelfSubjectAccessReview", "spec": spec})[1]["status"]["allowed"]
        self.assertEqual([may("/metrics"), may("/healthz"), may("/version")], [False, True, True])
        self.daemon.call("POST", roles, {"metadata": {"name": "scraper"},
                                         "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]})
        self.daemon.call("POST", bindings, {
            "metadata": {"name": "scraper"}, "subjects": [{"kind": "ServiceAccount", "name": "launcher", "namespace": "default"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "scraper"}})
        self.assertTrue(may("/metrics"))
        status, text = self.daemon.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(status, 200)
        self.assertIn(b"apiserver_storage_objects", text)
        review = self.as_account(token, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                                 {"kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}})[1]["status"]
        self.assertEqual(review["nonResourceRules"], [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
        self.daemon.call("DELETE", f"{bindings}/scraper")
        self.assertEqual(self.as_account(token, "GET", "/metrics")[0], 403)
        self.daemon.call("DELETE", f"{roles}/scraper")

    def test_what_is_asked_about_others(self):
        """TokenReview and SubjectAccessReview: what a node asks about who comes to it."""
        tokens, access = (f"/apis/{group}/v1/{plural}" for group, plural in (
            ("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews")))
        token = self.launcher(rule("get", "pods", ["a"]))

        def who(text):
            return self.daemon.call("POST", tokens, {"kind": "TokenReview", "spec": {"token": text}})["status"]

        def may(user, groups, **attributes):
            spec = {"user": user, "groups": groups, "resourceAttributes": {"resource": "pods", **attributes}}
            return self.daemon.call("POST", access, {"kind": "SubjectAccessReview", "spec": spec})["status"]["allowed"]
        found = who(token)
        self.assertTrue(found["authenticated"])
        self.assertEqual(found["user"]["username"], "system:serviceaccount:default:launcher")
        self.assertIn("system:serviceaccounts:default", found["user"]["groups"])
        self.assertIn("system:masters", who(self.daemon.token)["user"]["groups"])
        self.assertNotIn("authenticated", who(token + "x"))
        me = (found["user"]["username"], found["user"]["groups"])
        self.assertTrue(may(*me, verb="get", namespace="default", name="a"))
        self.assertFalse(may(*me, verb="get", namespace="default", name="b"))
        self.assertFalse(may(*me, verb="get", namespace="kube-system", name="a"))
        self.assertFalse(may("somebody", [], verb="get", namespace="default", name="a"))
        self.assertTrue(may("somebody", ["system:masters"], verb="delete", namespace="default"))
        for path, spec in ((tokens, {"token": token}),
                           (access, {"user": "me", "resourceAttributes": {"resource": "pods", "verb": "get"}})):
            status, answer = self.as_account(token, "POST", path, {"spec": spec})
            self.assertEqual(status, 403, answer)
            self.assertIn("cannot create resource", answer["message"])
        for path, spec, says in ((tokens, {}, "token is required"), (access, {"user": "me"}, "exactly one of"),
                                 (access, {"resourceAttributes": {"resource": "pods"}}, "at least one of user or group")):
            status, text = self.daemon.request("POST", path, {"spec": spec})
            self.assertIn(status, (400, 422), text)
            self.assertIn(says, text.decode())

    def test_a_role_taken_back_counts_at_once(self):
        token = self.launcher(rule("*", "*", groups=["*"]))
        self.assertEqual(self.as_account(token, "GET", PODS)[0], 200)
        self.daemon.call("DELETE", f"{BINDINGS}/launcher")
        self.assertEqual(self.as_account(token, "GET", PODS)[0], 403)

    def test_cluster_roles_here_and_everywhere(self):
        self.daemon.call("POST", ACCOUNTS, account("launcher"))
        cluster = ROLES.replace("namespaces/default/roles", "clusterroles")
        self.daemon.call("POST", cluster, role("reader", rule("list", "pods nodes"), kind="ClusterRole"))
        self.daemon.call("POST", BINDINGS, binding("reader", "reader", kind="ClusterRole"))
        token = self.token()
        self.assertEqual(self.as_account(token, "GET", PODS)[0], 200)
        self.assertEqual(self.as_account(token, "GET", "/api/v1/nodes")[0], 403)
        self.daemon.call("POST", BINDINGS.replace("namespaces/default/rolebindings", "clusterrolebindings"),
                         binding("reader", "reader", kind="ClusterRole", binding_kind="ClusterRoleBinding"))
        self.assertEqual(self.as_account(token, "GET", "/api/v1/nodes")[0], 200)
        self.assertEqual(self.as_account(token, "GET", "/api/v1/pods")[0], 200)

    def test_a_namespace_is_in_itself(self):
        self.daemon.call("POST", ACCOUNTS, account("launcher"))
        self.daemon.call("POST", BINDINGS, binding("viewer", "view", kind="ClusterRole"))
        token = self.token()
        self.assertEqual(self.as_account(token, "GET", "/api/v1/namespaces/default")[0], 200)
        self.assertEqual(self.as_account(token, "GET", "/api/v1/namespaces/kube-system")[1]["message"],
                         f'namespaces "kube-system" is forbidden: {ME} cannot get resource "namespaces" in API group "" '
                         'in the namespace "kube-system"')
        self.assertEqual(self.as_account(token, "GET", "/api/v1/namespaces")[0], 403)
        self.assertEqual(self.as_account(token, "DELETE", "/api/v1/namespaces/default")[0], 403)

    def test_an_account_cannot_give_itself_more(self):
        token = self.launcher(rule("get create update patch", "roles rolebindings",
                                   groups=["rbac.authorization.k8s.io"]))
        status, answer = self.as_account(token, "POST", ROLES, role("more", rule("*", "*", groups=["*"])))
        self.assertEqual(status, 403)
        self.assertIn("cannot escalate resource", answer["message"])
        status, answer = self.as_account(token, "POST", BINDINGS, binding("more", "launcher"))
        self.assertEqual(status, 403)
        self.assertIn("cannot bind resource", answer["message"])

    def test_policies_are_the_owners(self):
        """They decide about everybody's writes, and their messages may tell what is in params."""
        group = "admissionregistration.k8s.io"
        policies = f"/apis/{group}/v1/validatingadmissionpolicies"
        policy = {"metadata": {"name": "p"}, "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "Secret"}, "validations": [{"expression": "true"}],
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"],
                                                    "resources": ["nodes"]}]}}}
        bound = {"metadata": {"name": "b"}, "spec": {
            "policyName": "p", "validationActions": ["Deny"],
            "paramRef": {"name": "s", "namespace": "kube-system", "parameterNotFoundAction": "Allow"}}}
        token = self.launcher()
        self.daemon.call("POST", BINDINGS, binding("admin", "admin", kind="ClusterRole"))
        for path in policies, f"/apis/{group}/v1/validatingadmissionpolicybindings":
            status, answer = self.as_account(token, "POST", path, policy)
            self.assertEqual(status, 403, answer)
        roles, bindings = (path.replace("/namespaces/default", "").replace(kind, "cluster" + kind)
                           for path, kind in ((ROLES, "roles"), (BINDINGS, "rolebindings")))
        self.daemon.call("POST", roles, role("policies", rule("*", "*", groups=(group,)), kind="ClusterRole"))
        self.daemon.call("POST", bindings, binding("policies", "policies", kind="ClusterRole",
                                                   binding_kind="ClusterRoleBinding"))
        status, answer = self.as_account(token, "POST", policies, policy)
        self.assertEqual(status, 403, answer)
        self.assertIn(f'{ME} cannot get resource "secrets"', answer["message"])
        self.daemon.call("POST", policies, policy)
        status, answer = self.as_account(token, "POST", policies.replace("policies", "policybindings"), bound)
        self.assertEqual(status, 403, answer)
        self.assertIn(f'{ME} cannot get resource "secrets"', answer["message"])
        status, answer = self.as_account(token, "DELETE", policies + "/p")
        self.assertEqual(status, 200, answer)
        for path in roles + "/policies", bindings + "/policies":
            self.daemon.call("DELETE", path)

    def test_applying_what_is_not_there_asks_for_create_too(self):
        token = self.launcher(rule("get patch", "configmaps"))
        path = "/api/v1/namespaces/default/configmaps/applied"
        self.addCleanup(self.daemon.call, "DELETE", path, expect=(200, 404))

        def apply(value):
            status, text = self.daemon.request(
                "PATCH", f"{path}?fieldManager=me&force=true",
                {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": value}},
                headers={"Authorization": f"Bearer {token}"},
                content_type="application/apply-patch+yaml")
            return status, json.loads(text)
        status, answer = apply("1")
        self.assertEqual(status, 403, answer)
        self.assertEqual(answer["message"], f'configmaps "applied" is forbidden: {ME} cannot create resource '
                                            '"configmaps" in API group "" in the namespace "default"')
        self.daemon.call("GET", path, expect=(404,))
        self.daemon.call("POST", path.rpartition("/")[0], {"metadata": {"name": "applied"}})
        self.assertEqual(apply("2")[0], 200)

    def test_a_token_ends_with_its_account_or_its_pod(self):
        token = self.launcher(rule("get", "pods"))
        self.daemon.call("POST", PODS, pod("p", "launcher"))
        bound = self.token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
        for one in (token, bound):
            self.assertEqual(self.as_account(one, "GET", f"{PODS}/p")[0], 200)
        self.daemon.call("DELETE", f"{PODS}/p")
        self.daemon.call("POST", PODS, pod("p", "launcher"))
        self.assertEqual(self.as_account(token, "GET", f"{PODS}/p")[0], 200)
        self.assertEqual(self.as_account(bound, "GET", f"{PODS}/p")[0], 401)
        self.daemon.call("DELETE", f"{ACCOUNTS}/launcher")
        self.daemon.call("POST", ACCOUNTS, account("launcher"))
        self.assertEqual(self.as_account(token, "GET", f"{PODS}/p")[0], 401)

    def test_a_changed_token_is_refused(self):
        token = self.launcher(rule("get", "pods"))
        head, claims, signature = token.split(".")
        text = base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).replace(b"launcher", b"default1")
        forged = base64.urlsafe_b64encode(text).decode().rstrip("=")
        other = signature[:-2] + ("AA" if signature[-2:] != "AA" else "BA")  # it may end like that
        for wrong in (f"{head}.{forged}.{signature}", f"{head}.{claims}.", f"{head}.{claims}.{other}",
                      f"{head}..{signature}", f"{head}.{claims}", "e30." + claims + "." + signature, ""):
            with self.subTest(token=wrong):
                self.assertEqual(self.as_account(wrong, "GET", f"{PODS}/p")[0], 401)

    def test_a_token_is_for_its_audiences_only(self):
        own, foreign = self.launcher(rule("get list", "pods")), self.token(audiences=["vault", "other"])
        both = self.token(audiences=["vault", "https://kubernetes.default.svc"])
        for token, status in ((own, 200), (foreign, 401), (both, 200)):
            self.assertEqual(self.as_account(token, "GET", PODS)[0], status)
        self.assertEqual(self.daemon.request("POST", "/console/v1/login", {"token": foreign})[0], 401)

        def review(token, *audiences):
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                    "spec": {"token": token, **({"audiences": audiences} if audiences else {})}}
            status = self.daemon.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)["status"]
            return status.get("authenticated", False) and status["audiences"]
        self.assertIn("https://kubernetes.default.svc", review(own))
        self.assertFalse(review(own, "vault"))
        self.assertFalse(review(foreign))
        self.assertEqual(review(foreign, "x", "vault"), ["vault"])
        self.assertEqual(review(both, "vault", "https://kubernetes.default.svc"), ["vault", "https://kubernetes.default.svc"])
        self.assertFalse(review(self.daemon.token, "vault"))
        for wrong in ([""], ["a" * 257], ["a"] * 17, [1]):
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": wrong}}
            status, text = self.daemon.request("POST", f"{ACCOUNTS}/launcher/token", body)
            self.assertEqual(status, 422, text)
            self.assertIn(b"spec.audiences", text)

    def test_what_is_wrong_is_said(self):
        self.daemon.call("POST", ACCOUNTS, account("launcher"))
        self.daemon.call("POST", PODS, pod("other"))
        request = {}  # the path says what it is
        for path, body, code, words in (
                (f"{ACCOUNTS}/nobody/token", request, 404, 'serviceaccounts "nobody" not found'),
                (f"{ACCOUNTS}/launcher/token", {**request, "spec": {"expirationSeconds": 5}}, 422,
                 "spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes"),
                (f"{ACCOUNTS}/launcher/token", {**request, "spec": {"boundObjectRef": {"kind": "Pod", "name": "x"}}},
                 404, 'pods "x" not found'),
                (f"{ACCOUNTS}/launcher/token",
                 {**request, "spec": {"boundObjectRef": {"kind": "Pod", "name": "other"}}}, 400,
                 "cannot bind token for serviceaccount"),
                (ROLES, role("r", {"verbs": [], "resources": ["pods"], "apiGroups": [""]}), 422,
                 "rules[0].verbs: Required value: verbs must contain at least one value"),
                (ROLES, role("r", {"verbs": ["get"], "resources": ["pods"]}), 422,
                 "rules[0].apiGroups: Required value"),
                (ROLES, role("r", {"verbs": ["get"], "nonResourceURLs": ["/x"]}), 422,
                 "namespaced rules cannot apply to non-resource URLs"),
                (BINDINGS, {**binding("b", "r"), "roleRef": {"kind": "Rolle", "name": "r"}}, 422,
                 'roleRef.kind: Unsupported value: "Rolle"'),
                (BINDINGS, {**binding("b", "r"), "subjects": [{"kind": "ServiceAccount", "name": "x"}]}, 422,
                 "subjects[0].namespace: Required value")):
            with self.subTest(words=words):
                status, text = self.daemon.request("POST", path, body)
                self.assertEqual(status, code, text)
                self.assertIn(words, json.loads(text)["message"])

    def test_every_namespace_has_a_default_account(self):
        self.daemon.call("POST", "/api/v1/namespaces", {"metadata": {"name": "fresh"}})
        for ns in ("default", "kube-system", "fresh"):
            self.daemon.call("GET", f"/api/v1/namespaces/{ns}/serviceaccounts/default")
        self.daemon.call("DELETE", "/api/v1/namespaces/fresh")
        self.daemon.wait_for("/api/v1/namespaces", lambda found: "fresh" not in found, "the namespace to go")


class Limited(harness.WithDaemon):
    """An account that may do everything in the namespace a, and nothing in b."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for ns in "ab":
            cls.daemon.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
        accounts = ACCOUNTS.replace("default", "a")
        cls.daemon.call("POST", accounts, account("guest"))
        cls.daemon.call("POST", ROLES.replace("default", "a"), role("guest", *cls.rules))
        cls.daemon.call("POST", BINDINGS.replace("default", "a"),
                        {**binding("guest", "guest"),
                         "subjects": [{"kind": "ServiceAccount", "name": "guest", "namespace": "a"}]})
        cls.token = cls.daemon.call("POST", f"{accounts}/guest/token", {})["status"]["token"]

    rules = (rule("*", "pods pods/log pods/samples configmaps persistentvolumeclaims"),
             rule("*", "*", groups=["batch.tensorstack.dev", "tensorstack.dev"]))

    def as_guest(self, method, path, body=None, **how):
        status, text = self.daemon.request(method, path, body, headers={"Authorization": f"Bearer {self.token}"}, **how)
        return status, text.decode(errors="replace")

    def run_pod(self, ns, name, command):
        path = harness.PODS.format(ns=ns)
        self.daemon.call("POST", path, {"metadata": {"name": name}, "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "none", "command": ["sh", "-c", command]}]}})
        self.addCleanup(self.remove, path, name)
        return path

    def remove(self, path, name):
        self.daemon.call("DELETE", f"{path}/{name}", expect=(200, 404))
        self.daemon.wait_for(path, lambda pods: True if name not in pods else None, f"{name} to be gone")

    def started(self, path, name):
        def running(pods):
            return pods[name] if name in pods and pods[name]["status"].get("phase") not in (None, "Pending") else None
        return self.daemon.wait_for(path, running, f"{name} to start")

    def test_a_uid_leads_to_no_pod_of_another_namespace_or_name(self):
        path = self.run_pod("b", "secret", "echo hush; exec sleep 1000")
        uid = self.started(path, "secret")["metadata"]["uid"]
        own = harness.PODS.format(ns="a")
        live = f"uid={uid}&container=c"
        self.assertEqual(self.daemon.log("secret", ns="b", query=f"?{live}&follow=true&limitBytes=4"), "hush")
        for what in ("log", "samples"):
            for query in (live, f"{live}&attempt=0", f"{live}&previous=true"):
                status, text = self.as_guest("GET", f"{own}/any/{what}?{query}")
                self.assertEqual(status, 404, text)
                self.assertNotIn("hush", text)
            self.assertEqual(self.as_guest("GET", f"{path}/secret/{what}?{live}")[0], 403)
            # Nor for who may read there: the name is part of the question.
            self.assertEqual(self.daemon.request("GET", f"{path}/other/{what}?{live}")[0], 404)
        self.assertEqual(self.daemon.call("GET", f"{path}/secret/samples?{live}")["metadata"]["name"], "secret")

    def test_what_a_gone_pod_left_stays_with_its_namespace_and_name(self):
        for ns, word in (("a", "mine"), ("b", "hush")):
            path = self.run_pod(ns, "gone", f"echo {word}; exec sleep 1000")
            uid = self.started(path, "gone")["metadata"]["uid"]
            self.assertEqual(self.daemon.log("gone", ns=ns, query="?follow=true&limitBytes=4"), word)
            self.remove(path, "gone")
            query = f"log?uid={uid}&container=c"
            self.assertEqual(self.daemon.log("gone", ns=ns, query=f"?uid={uid}&container=c"), f"{word}\n")
            self.assertEqual(self.as_guest("GET", f"{path}/gone/{query}")[0], 200 if ns == "a" else 403)
            self.assertEqual(self.as_guest("GET", f"{harness.PODS.format(ns='a')}/any/{query}")[0], 404)
        self.assertEqual(self.as_guest("GET", f"{harness.PODS.format(ns='a')}/gone/{query}")[0], 404)

    def test_samples_by_uid_need_the_right_in_the_pods_own_namespace(self):
        uids = {}
        for ns in "ab":
            path = self.run_pod(ns, "busy", "exec sleep 1000")
            uids[ns] = self.started(path, "busy")["metadata"]["uid"]
        own, other = (harness.PODS.format(ns=ns) + "/busy" for ns in "ab")
        harness.wait_until(lambda: self.daemon.call("GET", f"{own}/samples?uid={uids['a']}")["time"], "samples")

        def ask(path, uid):
            return self.as_guest("GET", f"{path}/samples?uid={uids[uid]}")[0]
        for _ in ("live", "gone"):
            self.assertEqual([ask(own, "a"), ask(own, "b"), ask(other, "a"), ask(other, "b")], [200, 404, 403, 403])
            for path in (own, other):
                self.remove(*path.rsplit("/", 1))
            harness.wait_until(lambda: self.daemon.request("GET", f"{own}/samples?uid={uids['a']}")[0] == 200, "what is kept")
        roles = f"{ROLES.replace('default', 'a')}/guest"
        self.addCleanup(self.daemon.call, "PUT", roles, role("guest", *self.rules))
        self.daemon.call("PUT", roles, role("guest", rule("*", "pods pods/log")))
        status, text = self.as_guest("GET", f"{own}/samples?uid={uids['a']}")
        self.assertEqual(status, 403, text)
        self.assertIn('cannot get resource \\"pods/samples\\"', text)

    def claim(self, ns):
        """A claim's folder with a curve in it."""
        claims = f"/api/v1/namespaces/{ns}/persistentvolumeclaims"
        self.daemon.call("POST", claims, {"metadata": {"name": "runs"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        folder = self.daemon.wait_for(
            claims, lambda found: found["runs"]["metadata"].get("annotations", {}).get("muster.dev/path"),
            "the claim's folder")
        with contextlib.closing(eventfile.EventWriter(f"{folder}/run")) as writer:
            writer.add_scalar("hush", 0.5, 5)
        return folder

    def test_curves_of_another_namespace_are_not_reached_by_their_folder(self):
        folder, jobs = self.claim("b"), harness.JOBS.format(ns="a")
        link = tempfile.mkdtemp(prefix="muster-link-")
        self.addCleanup(shutil.rmtree, link, True)
        os.symlink(folder, f"{link}/runs")
        refused = "guest\\\" cannot use resource \\\"machineaccess"
        around = os.path.dirname(self.daemon.data)
        for name, said, working, code in (("plain", folder, None, 403), ("linked", f"{link}/runs", None, 403),
                                          ("relative", "run", folder, 403), ("own", self.daemon.data, None, 403),
                                          ("around", around, None, 200)):
            what = harness.job(name, ["true"], replicas=1, ns="a", run_policy={"suspend": True})
            what["metadata"]["annotations"] = {"muster.dev/log-dir": said}
            if working:
                what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["workingDir"] = working
            with self.subTest(name=name):
                status, text = self.as_guest("POST", jobs, what)
                self.assertEqual(status, 403, text)
                self.assertIn(refused, text)
                self.daemon.call("POST", jobs, what)  # even the owner's: nothing in muster's own folder by path
                self.addCleanup(self.daemon.call, "DELETE", f"{jobs}/{name}")
                for who in (self.as_guest, self.daemon.request):
                    status, text = who("GET", f"/board/api/pytorchtrainingjobs/a/{name}/tags")
                    self.assertEqual(status, code, text)
                    self.assertNotIn("hush", str(text))
        # A claim's folder is the server's to name.
        status, text = self.as_guest("POST", "/api/v1/namespaces/a/persistentvolumeclaims", {
            "metadata": {"name": "forged", "annotations": {"muster.dev/path": folder}},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        self.assertEqual(status, 403, text)
        self.assertIn(refused, text)

    def test_who_may_make_pods_may_not_have_the_machine(self):
        path, jobs = harness.PODS.format(ns="a"), harness.JOBS.format(ns="a")
        folder = {"volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]}

        def pod_with(name, container=None, **spec):
            return {"metadata": {"name": name}, "spec": {"schedulerName": "nobody", **spec, "containers": [
                {"name": "c", "image": "none", "command": ["true"], **(container or {})}]}}
        wishes = {"folder": folder, "pids": {"hostPID": True},
                  "privileged": {"container": {"securityContext": {"privileged": True}}},
                  "capable": {"container": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}}}

        def make(name, wish, expect):
            status, text = self.as_guest("POST", path, pod_with(name, **wish))
            self.assertEqual(status, expect, text)
            if expect == 403:
                self.assertIn('cannot use resource \\"machineaccess\\" in API group \\"muster.dev\\"', text)
            self.addCleanup(self.daemon.call, "DELETE", f"{path}/{name}", expect=(200, 404))
        make("modest", {}, 201)
        for name, wish in wishes.items():
            with self.subTest(wish=name):
                make(name, wish, 403)
        # Nor by way of a job. One that has it from the owner can be changed, but not in what it runs.
        job = harness.job("bold", ["true"], replicas=1, ns="a", run_policy={"suspend": True})
        job["spec"]["replicaSpecs"][0]["template"]["spec"].update(folder)
        merge = {"content_type": "application/merge-patch+json"}
        self.assertEqual(self.as_guest("POST", jobs, job)[0], 403)
        self.daemon.call("POST", jobs, job)
        self.addCleanup(self.daemon.call, "DELETE", f"{jobs}/bold")
        status, text = self.as_guest("PATCH", f"{jobs}/bold", {"metadata": {"labels": {"x": "y"}}}, **merge)
        self.assertEqual(status, 200, text)
        job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["command"] = ["cat", "/etc/shadow"]
        self.assertIn(self.as_guest("PATCH", f"{jobs}/bold", {"spec": job["spec"]}, **merge)[0], (403, 422))
        # Each right is given by name: all that a namespace has is not the machine.
        self.daemon.call("POST", ROLES.replace("default", "a"), role("all", rule("*", "*", groups=["*"])))
        self.daemon.call("POST", BINDINGS.replace("default", "a"), {**binding("all", "all"), "subjects": [
            {"kind": "ServiceAccount", "name": "guest", "namespace": "a"}]})
        self.addCleanup(self.daemon.call, "DELETE", f"{BINDINGS.replace('default', 'a')}/all")
        make("folder", folder, 403)
        roles, bindings = (one.replace("default", "a") for one in (ROLES, BINDINGS))
        machine = role("machine", rule("use", "machineaccess", ["hostpath"], ["muster.dev"]))
        bound = {**binding("machine", "machine"), "subjects": [
            {"kind": "ServiceAccount", "name": "guest", "namespace": "a"}]}
        # Nor do escalate and bind, which it has with all verbs, give it what it has not.
        for verbs, groups, names in (("use", ["muster.dev"], ()), ("*", ["*"], ["hostpath"])):
            status, text = self.as_guest("POST", roles, role("machine", rule(verbs, "machineaccess", names, groups)))
            self.assertEqual(status, 403, text)
            self.assertIn("cannot give the right to use", text)
        self.assertEqual(self.as_guest("POST", roles, role("harmless", rule("get", "pods")))[0], 201)
        self.assertEqual(self.as_guest("PATCH", f"{roles}/harmless", {"rules": machine["rules"]}, **merge)[0], 403)
        status, text = self.as_guest("POST", bindings, bound)  # before there is such a role
        self.assertEqual(status, 403, text)
        self.assertIn("create the role first", text)
        self.daemon.call("POST", roles, machine)
        status, text = self.as_guest("POST", bindings, bound)
        self.assertEqual(status, 403, text)
        self.daemon.call("POST", bindings, {**bound, "subjects": []})
        self.assertEqual(self.as_guest("PATCH", f"{bindings}/machine", {"subjects": bound["subjects"]}, **merge)[0], 403)
        self.daemon.call("PUT", f"{bindings}/machine", bound)
        self.addCleanup(self.daemon.call, "DELETE", f"{bindings}/machine")
        make("folder", folder, 201)
        make("privileged", wishes["privileged"], 403)
        # What it has it may give on, and no more.
        self.assertEqual(self.as_guest("PATCH", f"{roles}/harmless", {"rules": machine["rules"]}, **merge)[0], 200)
        wider = rule("use", "machineaccess", ["hostpath", "privileged"], ["muster.dev"])
        self.assertEqual(self.as_guest("PATCH", f"{roles}/harmless", {"rules": [wider]}, **merge)[0], 403)

    def test_a_name_in_an_answer_is_a_name(self):
        path = self.run_pod("a", "plain", "exec sleep 1000")
        uid = self.started(path, "plain")["metadata"]["uid"]
        harness.wait_until(lambda: self.daemon.call("GET", f"{path}/plain/samples")["time"], "samples")
        for name in ("x%22%2C%22evil%22%3A%22y", "x%0A", "%3Cb%3E"):
            status, text = self.as_guest("GET", f"{path}/{name}/samples?uid={uid}")
            self.assertEqual(status, 404, text)
            self.assertNotIn("evil", json.loads(text))


class Kubectl:
    version = None

    def setUp(self):
        self.daemon = harness.Daemon("--only", "api")
        self.addCleanup(self.daemon.close)
        self.home = tempfile.mkdtemp(prefix="muster-kubectl-")
        self.addCleanup(shutil.rmtree, self.home, True)

    def kubectl(self, *arguments, code=0, config=None):
        environment = {"HOME": self.home, "PATH": os.environ["PATH"],
                       "KUBECONFIG": config or os.path.join(self.daemon.folder, "kubeconfig")}
        done = subprocess.run([str(harness.ROOT / f"build/bin/kubectl-{self.version}"), *arguments],
                              capture_output=True, text=True, env=environment, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_accounts_roles_and_bindings(self):
        self.kubectl("create", "sa", "launcher")
        self.kubectl("create", "role", "launcher", "--verb=get,list", "--resource=pods,pods/exec",
                     "--resource-name=a")
        self.kubectl("create", "rolebinding", "launcher", "--role=launcher", "--serviceaccount=default:launcher")
        self.assertIn("Role/launcher", self.kubectl("get", "rolebinding"))
        self.assertIn("default/launcher", self.kubectl("get", "rolebinding", "-o", "wide"))
        described = self.kubectl("describe", "role", "launcher")
        self.assertIn("pods/exec", described)
        self.assertIn("[get list]", described)
        self.assertIn("ServiceAccount  launcher  default", self.kubectl("describe", "rolebinding", "launcher"))
        self.assertIn("launcher", self.kubectl("describe", "sa", "launcher"))
        self.assertIn("default", self.kubectl("get", "sa"))
        config = self.daemon.kubeconfig(self.account_token())
        self.assertIn("yes", self.kubectl("auth", "can-i", "get", "pods/a", config=config))
        self.assertIn("no", self.kubectl("auth", "can-i", "get", "pods/b", config=config, code=1))
        self.assertIn("no", self.kubectl("auth", "can-i", "delete", "pods", config=config, code=1))
        self.assertIn("[get list]", self.kubectl("auth", "can-i", "--list", config=config))
        refused = self.kubectl("get", "nodes", config=config, code=1)
        self.assertIn('nodes is forbidden: User "system:serviceaccount:default:launcher" cannot list', refused)


class KubectlOld(Kubectl, unittest.TestCase):
    version = "1.20"

    def account_token(self):
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        return self.daemon.call("POST", f"{ACCOUNTS}/launcher/token", body)["status"]["token"]


class KubectlNew(Kubectl, unittest.TestCase):
    version = "1.32"

    def account_token(self):
        return self.kubectl("create", "token", "launcher", "--duration=1h").strip()

    def test_who_am_i(self):
        self.kubectl("create", "sa", "launcher")
        config = self.daemon.kubeconfig(self.account_token())
        self.assertIn("system:serviceaccount:default:launcher", self.kubectl("auth", "whoami", config=config))


if __name__ == "__main__":
    harness.main()

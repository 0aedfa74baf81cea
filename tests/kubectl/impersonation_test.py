#!/usr/bin/python3
"""Acting as another user: kubectl --as, and the Impersonate headers from plain connections."""
import contextlib
import http.client
import json
import os
import pathlib
import sys

for folder in ("e2e", "api"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))

import harness  # noqa: E402
import rbac_test  # noqa: E402
import stream_test  # noqa: E402
from rbac_test import account, role, rule  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = harness.PODS.format(ns="default")
MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
BOT = "system:serviceaccount:default:bot"


def grant(daemon, name, subject, *rules, everywhere=False):
    """A role of that name with these rules, for the subject."""
    kind, path = ("ClusterRole", RBAC) if everywhere else ("Role", f"{RBAC}/namespaces/default")
    daemon.call("POST", f"{path}/{kind.lower()}s", role(name, *rules, kind=kind))
    bound = rbac_test.binding(name, name, kind=kind, binding_kind=f"{kind}Binding")
    daemon.call("POST", f"{path}/{kind.lower()}bindings", {**bound, "subjects": [subject]})


def user(name):
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def group(name):
    return {"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def prepare(daemon):
    """alice lists pods and reads their logs; the group team makes config maps; bot reads config maps."""
    daemon.call("POST", ACCOUNTS, account("bot"))
    grant(daemon, "alice", user("alice"), rule("get list watch", "pods"), rule("get", "pods/log"),
          rule("create", "pods/exec"))
    grant(daemon, "team", group("team"), rule("create get list", "configmaps"))
    grant(daemon, "bot", {"kind": "ServiceAccount", "name": "bot", "namespace": "default"},
          rule("get list", "configmaps"))
    grant(daemon, "accounts", group("system:serviceaccounts:default"), rule("list", "services"))


class Headers(harness.WithDaemon):
    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prepare(cls.daemon)

    def ask(self, method, path, *headers, body=None, token=None):
        """Headers as they are, also two of one name."""
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(method, path)
            text = json.dumps(body).encode() if body is not None else b""
            for name, value in (("Authorization", f"Bearer {token or self.daemon.token}"),
                                ("Content-Length", str(len(text))), ("Content-Type", "application/json"), *headers):
                connection.putheader(name, value)
            connection.endheaders(text)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def token(self, name):
        return self.daemon.call("POST", f"{ACCOUNTS}/{name}/token", {})["status"]["token"]

    def test_the_rights_are_those_of_whom_the_headers_name(self):
        alice, team = ("Impersonate-User", "alice"), ("Impersonate-Group", "team")
        bot = ("Impersonate-User", BOT)
        for method, path, headers, code in (
                ("GET", PODS, [alice], 200), ("GET", MAPS, [alice], 403), ("GET", "/api/v1/nodes", [alice], 403),
                ("GET", MAPS, [alice, team], 200), ("GET", PODS, [("Impersonate-User", "bob"), team], 403),
                ("GET", MAPS, [bot], 200), ("GET", "/api/v1/namespaces/default/services", [bot], 200),
                ("GET", "/api/v1/namespaces/default/services", [bot, team], 403),  # its own groups only unasked
                ("GET", PODS, [bot], 403), ("DELETE", MAPS, [alice, team], 403),
                ("GET", f"{PODS}?watch=true&timeoutSeconds=1", [bot], 403),
                ("GET", f"{PODS}/x/log", [bot], 403), ("GET", f"{PODS}/x/exec?command=true", [bot], 403),
                ("GET", f"{PODS}/x/log", [alice], 404), ("GET", f"{PODS}/x/exec?command=true", [alice], 404),
                ("GET", "/apis/metrics.k8s.io/v1beta1/nodes", [alice], 403),
                ("GET", "/api/v1/nodes", [alice, ("Impersonate-Group", "system:masters")], 200),
                ("GET", "/api/v1/nodes", [("impersonate-user", "alice")], 403)):
            with self.subTest(path=path, headers=headers):
                status, answer = self.ask(method, path, *headers)
                self.assertEqual(status, code, answer)
        self.assertEqual(self.ask("GET", MAPS, alice)[1]["message"],
                         'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" '
                         'in the namespace "default"')

    def test_who_may_not_is_refused(self):
        token = self.token("bot")
        for headers, words in (
                ([("Impersonate-User", "alice")],
                 f'users "alice" is forbidden: User "{BOT}" cannot impersonate resource "users" in API group "" at '
                 'the cluster scope'),
                ([("Impersonate-User", "system:serviceaccount:other:x")],
                 'cannot impersonate resource "serviceaccounts" in API group "" in the namespace "other"'),
                ([("Impersonate-User", "muster:admin"), ("Impersonate-Group", "system:masters")], "cannot impersonate")):
            with self.subTest(headers=headers):
                status, answer = self.ask("GET", MAPS, *headers, token=token)
                self.assertEqual(status, 403, answer)
                self.assertIn(words, answer["message"])
        for path in ("/version", "/healthz"):  # public, but not while impersonating
            status, _ = self.ask("GET", path, ("Impersonate-User", "alice"), token="wrong")
            self.assertEqual(status, 403)

    def test_each_part_needs_its_own_right(self):
        self.daemon.call("POST", ACCOUNTS, account("actor"))
        actor = {"kind": "ServiceAccount", "name": "actor", "namespace": "default"}
        token = self.token("actor")
        uid, extra = ("Impersonate-Uid", "7"), ("Impersonate-Extra-Acme.com%2FProject", "x")
        alice, team = ("Impersonate-User", "alice"), ("Impersonate-Group", "team")
        for refused, name, allowed in (
                ([alice], "users", rule("impersonate", "users", ["alice"])),
                ([alice, team], "groups", rule("impersonate", "groups", ["team"])),
                ([alice, team, uid], "uids", rule("impersonate", "uids", ["7"], ["authentication.k8s.io"])),
                ([alice, team, uid, extra], "userextras",
                 rule("impersonate", "userextras/acme.com/project", ["x"], ["authentication.k8s.io"]))):
            status, answer = self.ask("GET", PODS, *refused, token=token)
            self.assertEqual(status, 403, answer)
            self.assertIn(f'cannot impersonate resource "{name}', answer["message"])
            grant(self.daemon, f"as-{name}", actor, allowed, everywhere=True)
            status, answer = self.ask("GET", PODS, *refused, token=token)
            self.assertEqual(status, 200, answer)
        self.assertEqual(self.ask("GET", PODS, ("Impersonate-User", "bob"), token=token)[0], 403)
        status, answer = self.ask("POST", WHO, alice, team, uid, extra, token=token, body={})
        self.assertEqual(status, 201, answer)
        self.assertEqual(answer["status"]["userInfo"],
                         {"username": "alice", "uid": "7", "groups": ["team", "system:authenticated"],
                          "extra": {"acme.com/project": ["x"]}})

    def test_an_account_has_its_groups(self):
        _, answer = self.ask("POST", WHO, ("Impersonate-User", BOT), body={})
        self.assertEqual(answer["status"]["userInfo"],
                         {"username": BOT, "groups": ["system:serviceaccounts", "system:serviceaccounts:default",
                                                      "system:authenticated"]})
        _, answer = self.ask("POST", WHO, ("Impersonate-User", "system:anonymous"), body={})
        self.assertEqual(answer["status"]["userInfo"]["groups"], ["system:unauthenticated"])

    def test_what_is_half_said_or_said_twice_is_refused(self):
        alice, bob = ("Impersonate-User", "alice"), ("Impersonate-User", "bob")
        for headers, words in (
                ([("Impersonate-Group", "team")], "without a user"), ([("Impersonate-Uid", "7")], "without a user"),
                ([("Impersonate-Extra-x", "y")], "without a user"), ([("Impersonate-User", "")], "without a user"),
                ([alice, bob], "the header Impersonate-User occurs twice"),
                ([alice, ("impersonate-USER", "bob")], "the header Impersonate-User occurs twice"),
                ([alice, ("Impersonate-Uid", "1"), ("Impersonate-Uid", "2")], "Impersonate-Uid occurs twice"),
                ([("Authorization", "Bearer wrong")], "the header Authorization occurs twice"),
                ([alice, ("Impersonate-Groups", "team")], "the header Impersonate-Groups is not known")):
            with self.subTest(headers=headers):
                status, answer = self.ask("GET", MAPS, *headers)
                self.assertEqual(status, 400, answer)
                self.assertIn(words, answer["message"])

    def test_only_the_owner_himself_gets_a_code_to_sign_in_with(self):
        self.assertEqual(self.ask("POST", "/console/v1/code")[0], 201)
        self.assertEqual(self.ask("POST", "/console/v1/code", ("Impersonate-User", "alice"))[0], 403)

    def test_a_program_is_opened_for_who_signed_in(self):
        key = self.ask("POST", "/console/v1/login", body={"token": self.daemon.token})[1]["key"]
        status, answer = self.ask("POST", "/console/v1/open", ("Impersonate-User", "alice"), token=key,
                                  body={"path": "/tensorboard/default/x/"})
        self.assertEqual(status, 400, answer)
        self.assertIn("Impersonate", answer["message"])

    def test_questions_about_oneself(self):
        def may(verb, resource, *headers):
            body = {"spec": {"resourceAttributes": {"verb": verb, "resource": resource, "namespace": "default"}}}
            return self.ask("POST", REVIEW, *headers, body=body)[1]["status"]["allowed"]
        self.assertTrue(may("delete", "pods"))
        self.assertTrue(may("list", "pods", ("Impersonate-User", "alice")))
        self.assertFalse(may("delete", "pods", ("Impersonate-User", "alice")))
        self.assertTrue(may("delete", "pods", ("Impersonate-User", "alice"), ("Impersonate-Group", "system:masters")))


class Running(StockKubectl):
    """With everything that muster up starts: a pod, and the console's stream."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prepare(cls.daemon)
        grant(cls.daemon, "carol", user("carol"), rule("get", "pods"))

    def test_logs_and_exec_are_the_others(self):
        self.daemon.create(harness.job("job", ["sh", "-c", "echo said; exec sleep 1000"], replicas=1))
        (pod,) = self.daemon.wait_running("job", 1)
        if os.geteuid() == 0:  # the owner's pod is root
            self.assertIn('named "anyuser"', self.kubectl("exec", pod, "--as=alice", "--", "true", code=1).stderr)
        grant(self.daemon, "machine", user("alice"), rule("use", "machineaccess", ["anyuser"], ["muster.dev"]))
        self.assertEqual(self.kubectl("exec", pod, "--as=alice", "--", "echo", "done").stdout, "done\n")
        self.assertEqual(self.kubectl("logs", "-f", "--limit-bytes=4", pod, "--as=alice").stdout, "said")
        for words, what in ((("exec", pod, "--", "true"), 'create resource "pods/exec"'),
                            (("logs", pod), 'get resource "pods/log"')):
            refused = self.kubectl("--as=carol", *words, code=1).stderr
            self.assertRegex(refused, f'User "carol" cannot {what}|[Ff]orbidden')

    def test_the_consoles_stream_acts_as_the_other(self):
        tab = stream_test.Tab(self.daemon.port, Authorization=f"Bearer {self.daemon.token}", **{"Impersonate-User": "alice"})
        with contextlib.closing(tab):
            for op, path, code in (("watch", PODS, None), ("watch", MAPS, 403), ("watch", "/api/v1/nodes", 403),
                                   ("logs", f"{PODS}/x/log", 404),
                                   ("logs", "/api/v1/namespaces/kube-system/pods/x/log", 403)):
                with self.subTest(path=path):
                    number = tab.begin(op, path)
                    message = tab.next()
                    self.assertEqual((message["id"], message.get("code")), (number, code), message)
                    tab.say(id=number, op="stop")


class Kubectl(StockKubectl):
    """The tests, for one version; the classes at the end say which."""

    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prepare(cls.daemon)

    def test_auth_can_i_tells_the_truth(self):
        for words, code in ((("list", "pods"), 0), (("delete", "pods"), 1), (("list", "configmaps"), 1),
                            (("list", "configmaps", "--as-group=team"), 0), (("list", "nodes"), 1),
                            (("list", "nodes", "--as-group=system:masters"), 0)):
            done = self.kubectl("auth", "can-i", "--as=alice", *words, code=code)
            self.assertEqual(done.stdout.split()[0], "no" if code else "yes")
        grant(self.daemon, "folders", user("alice"), rule("use", "machineaccess", ["hostpath"], ["muster.dev"]))
        for words, code in ((("use", "machineaccess/hostpath"), 0), (("use", "machineaccess.muster.dev/hostpath"), 0),
                            (("use", "machineaccess/anyuser"), 1)):
            done = self.kubectl("auth", "can-i", "--as=alice", *words, code=code)
            self.assertEqual((done.stdout.split()[0], done.stderr.count("Warning")), ("no" if code else "yes", 0))
        self.assertIn("is a right, not an object", self.kubectl("create", "-f", "-", code=1, stdin=json.dumps({
            "apiVersion": "muster.dev/v1", "kind": "MachineAccess", "metadata": {"name": "hostpath"}})).stderr)
        self.assertEqual(self.kubectl("auth", "can-i", "get", "configmaps", f"--as={BOT}").stdout, "yes\n")
        self.assertEqual(self.kubectl("auth", "can-i", "delete", "nodes").stdout.split()[-1], "yes")
        listed = self.kubectl("auth", "can-i", "--list", "--as=alice").stdout
        self.assertRegex(listed, r"pods/log .*\[get\]")
        self.assertNotIn("*.*", listed)

    def test_what_is_done_is_done_as_the_other(self):
        self.assertIn("No resources found", self.kubectl("get", "pods", "--as=alice").stderr)
        refused = self.kubectl("get", "configmaps", "--as=alice", code=1).stderr
        self.assertIn('User "alice" cannot list resource "configmaps"', refused)
        self.kubectl("create", "configmap", "made", "--as=alice", "--as-group=team")
        refused = self.kubectl("delete", "configmap", "made", "--as=alice", "--as-group=team", code=1).stderr
        self.assertIn('User "alice" cannot delete resource "configmaps"', refused)
        self.assertIn("made", self.kubectl("get", "configmaps", f"--as={BOT}").stdout)
        self.kubectl("delete", "configmap", "made")


class RunningOld(Running, harness.DaemonTest):
    version = "1.20"


class RunningNew(Running, harness.DaemonTest):
    version = "1.32"


class KubectlOld(Kubectl, harness.WithDaemon):
    version = "1.20"


class KubectlNew(Kubectl, harness.WithDaemon):
    version = "1.32"

    def test_whoami(self):
        told = self.kubectl("auth", "whoami", "--as=alice", "--as-group=team", "--as-uid=7").stdout
        for word in ("alice", "team", "7"):
            self.assertIn(word, told)


if __name__ == "__main__":
    harness.main()

#!/usr/bin/python3
"""Pods of one file each, and what is expected of them: all at once in one daemon, as root, as an ordinary user, and
as one whom the machine allows no user namespaces.

A file NAME.yaml holds a comment that says what is shown, objects it needs, and one Pod whose annotations say what
must come of it. To add a behaviour, add a file. Every annotation is one check:

    expect/phase        Succeeded, Failed or Running
    expect/waiting      instead of a phase: the reason for which a container waits
    expect/exit-code    of the first container of spec.containers; expect/exit-code.NAME: of that one
    expect/reason       of an ended container: Completed, Error, OOMKilled, StartError ...; or of the pod: Evicted
    expect/message      text in the message of a waiting or ended container
    expect/no-message   text that is in none of them
    expect/messages     how many of them are not empty
    expect/log          each line is (part of) a line of the log of the first container of spec.containers, in this
                        order; expect/log.NAME: of that container
    expect/no-log       text that is not in that log
    expect/event        text in the message of one of the pod's events
    expect/restarts     restartCount of the first container, at least
    expect/ready        "True" or "False": the pod's Ready condition, reached at some time
    expect/exec         a shell command run in the running pod, and expect/exec-output what it must print, line by line
    expect/delete-within  seconds: the running pod is deleted and must be gone by then
    expect/delete-after   seconds it must take at least
    expect/delete-event   text in the message of one of its events after that
    expect/present      paths, with blanks between, that are on the machine afterwards
    expect/absent       paths that are not
    expect/present-after  paths that are there after expect/delete-within
    expect/refused      the one check then: text in the API's answer to an invalid pod
    expect/as           who it is for: words of root, user and forbidden; "root user" when not given

expect.root/phase and so on count for one of them only, and before those without; expect.unlimited/phase counts where
the daemon cannot enforce limits (root may not in some containers, the others seldom may), and before all. In the file @FOLDER@ is a folder of
the daemon's user (made below), @UID@ his number, @HOME@ his home, @DATA@ the data folder, which is
@AROUND@@DATA_NAME@, @OPEN_FILES@ how many files
the daemon may have open when it is started.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import BIN, JOBS, PODS, Daemon  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ORDINARY = 54320  # nobody the machine knows
OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 - 1  # a number nothing else uses
PATHS = {"Pod": PODS, "Service": harness.SERVICES, **{
    kind: f"/api/v1/namespaces/{{ns}}/{kind.lower()}s" for kind in ("ConfigMap", "Secret", "PersistentVolumeClaim",
                                                                    "ServiceAccount")}}
CLAIMS = PATHS["PersistentVolumeClaim"].format(ns="default")
EVENTS = "/api/v1/namespaces/default/events"
KUBECTL = harness.ROOT / "build/bin/kubectl-1.32"


class OtherDaemon(Daemon):
    """A daemon started through a wrapper that makes it another user's."""

    def __init__(self, *options, wrapper=(), uid=0, **how):
        self.wrapper, self.uid = wrapper, uid
        super().__init__(*options, start=False, **how)
        self.give_to(uid)
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)
        os.chown(self.home, uid, uid)
        self.environment["HOME"] = self.home
        # A build folder may be closed to others.
        self.binary = shutil.copy(BIN, os.path.join(self.folder, "muster"))
        self.start()

    def start(self, *options):
        plain, harness.BIN = harness.BIN, self.binary
        popen = subprocess.Popen

        def wrapped(arguments, **how):
            return popen(["prlimit", f"--nofile={OPEN_FILES}:", *self.wrapper, *arguments], **how)
        try:
            subprocess.Popen = wrapped
            super().start(*options)
        finally:
            harness.BIN, subprocess.Popen = plain, popen


def is_limited(daemon):
    """Whether the daemon has groups that enforce CPU (1) and memory (2) limits."""
    file = pathlib.Path(daemon.folder, "pods.cgroups")
    controllers = 0
    for line in file.read_text().splitlines() if file.exists() else ():
        controllers |= int(line.split()[1])
    return controllers & 3 == 3


def expectation(pod, mode, limited):
    """{check: value} for this mode."""
    found = {}
    for prefix in ("expect/", f"expect.{mode}/", *(() if limited else ("expect.unlimited/",))):
        for key, value in pod["metadata"].get("annotations", {}).items():
            if key.startswith(prefix):
                found[key[len(prefix):]] = value
    return found


def states(pod):
    status = pod.get("status", {})
    return [one for kind in ("initContainerStatuses", "containerStatuses") for one in status.get(kind, [])]


def in_order(lines, text):
    """The first of the lines that does not follow in the text, or None."""
    rest = iter(text.splitlines())
    for line in lines.splitlines():
        if not any(line in one for one in rest):
            return line
    return None


class Pods:
    """Tests of one mode; made for each file by add_tests."""

    mode = ""
    uid = 0
    wrapper = ()
    options = ("--overcommit",)

    @classmethod
    def setUpClass(cls):
        cls.daemon = OtherDaemon(*cls.options, wrapper=cls.wrapper, uid=cls.uid)
        cls.machine = tempfile.mkdtemp(prefix="muster-pods-")
        cls.fill_machine()
        cls.pods, cls.refused = {}, {}
        for path in sorted(HERE.glob("*.yaml")):
            if cls.wants(path.read_text()):
                cls.apply(path)

    @classmethod
    def fill_machine(cls):
        folder = pathlib.Path(cls.machine)
        folder.chmod(0o777)
        (folder / "file").write_text("the machine's\n")
        for name in ("outside", "shadowed"):
            (folder / name).mkdir()
            (folder / name).chmod(0o777)
        (folder / "shadowed/sibling").write_text("beside it\n")
        (folder / "sticky").mkdir()
        (folder / "sticky").chmod(0o1777)

    @classmethod
    def wants(cls, text):
        found = re.search(r"^ *expect/as: *(.*)$", text, re.MULTILINE)
        return cls.mode in (found.group(1) if found else "root user").split()

    @classmethod
    def apply(cls, path):
        """Posts every document of the file as it is; the server reads YAML."""
        text = path.read_text()
        for name, value in (("FOLDER", cls.machine), ("UID", str(cls.uid)), ("HOME", cls.daemon.home),
                            ("DATA", cls.daemon.data), ("AROUND", os.path.dirname(cls.daemon.folder)),
                            ("DATA_NAME", cls.daemon.data[len(os.path.dirname(cls.daemon.folder)):]), ("OPEN_FILES", str(OPEN_FILES)),
                            ("DAEMON", str(cls.daemon.process.pid))):
            text = text.replace(f"@{name}@", value)
        for document in re.split(r"^---$", text, flags=re.MULTILINE):
            kind = re.search(r"^kind: *(\w+)", document, re.MULTILINE).group(1)
            connection = harness.http.client.HTTPConnection("127.0.0.1", cls.daemon.port, timeout=harness.PATIENCE)
            connection.request("POST", PATHS[kind].format(ns="default"), document.encode(), {
                "Authorization": f"Bearer {cls.daemon.token}", "Content-Type": "application/yaml"})
            answer = connection.getresponse()
            body = json.loads(answer.read())
            connection.close()
            if kind == "Pod" and answer.status == 422:
                cls.refused[path.stem] = body["message"]
            elif answer.status not in (200, 201):
                raise AssertionError(f"{path.name}: {kind}: {answer.status} {body.get('message')}")
            elif kind == "Pod":
                cls.pods[path.stem] = body

    @classmethod
    def tearDownClass(cls):
        for name in cls.daemon.pods():
            cls.daemon.call("DELETE", f"{PODS.format(ns='default')}/{name}?gracePeriodSeconds=1", expect=(200, 202, 404))
        cls.daemon.wait_for(PODS.format(ns="default"), lambda pods: not pods, "pods to be gone")
        wrong = [f"left behind: {path}" for path in cls.scratch_left()] + cls.daemon.close()
        shutil.rmtree(cls.machine)
        if wrong:
            raise AssertionError("\n".join(wrong))

    @classmethod
    def scratch_left(cls):
        """What of the pods' own volumes does not go; the agent removes it when the API has forgotten the pod."""
        until = time.monotonic() + harness.PATIENCE
        while True:
            left = list(pathlib.Path(cls.daemon.folder, "scratch").iterdir())
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.005)

    # --- waiting

    def wait(self, name, reached, what):
        return self.daemon.wait_for(PODS.format(ns="default") + "", lambda pods: reached(pods[name]) and pods[name],
                                    f"{name} {what}")

    def wait_expected(self, name, expected):
        """The pod, when it has come to where it is expected, or to a stop elsewhere."""
        def reached(pod):
            phase = pod.get("status", {}).get("phase")
            if phase in ("Succeeded", "Failed"):
                return True
            if "waiting" in expected:
                return any(s.get("state", {}).get("waiting", {}).get("reason") == expected["waiting"]
                           for s in states(pod))
            if expected.get("phase") != "Running" or phase != "Running":
                return False
            ready = {c["type"]: c["status"] for c in pod["status"].get("conditions", [])}.get("Ready")
            restarts = pod["status"].get("containerStatuses", [{}])[0].get("restartCount", 0)
            return ready == expected.get("ready", ready) and restarts >= int(expected.get("restarts", 0))
        return self.wait(name, reached, f"to be as expected: {expected}")

    # --- checks

    def check_state(self, pod, expected):
        status = json.dumps(pod.get("status"), indent=1)
        if "phase" in expected:
            self.assertEqual(pod["status"]["phase"], expected["phase"], status)
        ended = {s["name"]: s["state"]["terminated"] for s in states(pod) if "terminated" in s.get("state", {})}
        ended_before = [s["lastState"]["terminated"] for s in states(pod) if "terminated" in s.get("lastState", {})]
        waiting = [s["state"]["waiting"] for s in states(pod) if "waiting" in s.get("state", {})]
        if "waiting" in expected:
            self.assertIn(expected["waiting"], [w.get("reason") for w in waiting], status)
        first = pod["spec"]["containers"][0]["name"]
        for key, value in expected.items():
            if key == "exit-code" or key.startswith("exit-code."):
                self.assertEqual(ended[key[len("exit-code."):] or first]["exitCode"], int(value), status)
        everything = [*ended.values(), *ended_before, *waiting]
        if "reason" in expected:
            self.assertIn(expected["reason"], [one.get("reason") for one in (*everything, pod["status"])], status)
        messages = [one.get("message", "") for one in everything] + [pod["status"].get("message", "")]
        if "message" in expected:
            self.assertTrue(any(expected["message"].strip() in m for m in messages), status)
        if "no-message" in expected:
            self.assertFalse(any(expected["no-message"].strip() in m for m in messages), status)
        if "messages" in expected:
            self.assertEqual(len([m for m in messages if m]), int(expected["messages"]), status)

    def wait_log(self, pod, container, lines):
        """A program that runs may write them yet."""
        until = time.monotonic() + (harness.PATIENCE if pod["status"]["phase"] == "Running" else 0)
        while True:
            text = self.daemon.log(pod["metadata"]["name"], query=f"?container={container}")
            if in_order(lines, text) is None:
                return
            self.assertLess(time.monotonic(), until, f"log of {container}:\n{text}")
            time.sleep(0.005)

    def check_logs(self, pod, expected):
        name = pod["metadata"]["name"]
        first = pod["spec"]["containers"][0]["name"]
        for key, value in expected.items():
            if key == "log" or key.startswith("log."):
                self.wait_log(pod, key[4:] or first, value)
        if "no-log" in expected:
            self.assertNotIn(expected["no-log"].strip(), self.daemon.log(name, query=f"?container={first}"))

    def check_event(self, pod, text):
        def seen(events):
            return any(e["involvedObject"].get("uid") == pod["metadata"]["uid"] and text.strip() in e["message"]
                       for e in events.values())
        self.daemon.wait_for(EVENTS, seen, f"event of {pod['metadata']['name']}: {text}")

    def check_exec(self, pod, command, output):
        environment = dict(self.daemon.environment, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig"))
        done = subprocess.run([str(KUBECTL), "exec", pod["metadata"]["name"], "--", "sh", "-c", command],
                              capture_output=True, text=True, env=environment, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(in_order(output, done.stdout), done.stdout)

    def check_delete(self, pod, seconds, at_least):
        name, begin = pod["metadata"]["name"], time.monotonic()
        self.daemon.call("DELETE", f"{PODS.format(ns='default')}/{name}", expect=(200, 202))
        self.daemon.wait_for(PODS.format(ns="default"), lambda pods: name not in pods, f"{name} to be gone")
        self.assertLess(time.monotonic() - begin, seconds)
        self.assertGreaterEqual(time.monotonic() - begin, at_least)

    def check(self, name):
        refused = re.search(r"^ *expect/refused: *(.*)$", (HERE / f"{name}.yaml").read_text(), re.MULTILINE)
        if refused:
            self.assertIn(refused.group(1), self.refused.get(name, "not refused"))
            return
        self.assertNotIn(name, self.refused)
        expected = expectation(self.pods[name], self.mode, is_limited(self.daemon))
        self.assertTrue("phase" in expected or "waiting" in expected, f"{name} says not what is expected")
        pod = self.wait_expected(self.pods[name]["metadata"]["name"], expected)
        self.check_state(pod, expected)
        self.check_logs(pod, expected)
        if "event" in expected:
            self.check_event(pod, expected["event"])
        if "exec" in expected:
            self.check_exec(pod, expected["exec"], expected.get("exec-output", ""))
        for path in expected.get("present", "").split():
            self.assertTrue(os.path.lexists(path), path)
        for path in expected.get("absent", "").split():
            self.assertFalse(os.path.lexists(path), path)
        if "delete-within" in expected:
            self.check_delete(pod, float(expected["delete-within"]) * harness.PATIENCE / 60,
                              float(expected.get("delete-after", 0)))
        if "delete-event" in expected:
            self.check_event(pod, expected["delete-event"])
        for path in expected.get("present-after", "").split():
            self.assertTrue(os.path.lexists(path), path)

    # --- claims and the daemon

    def claim(self, name):
        def bound(claims):
            found = claims.get(name, {})
            return found if found.get("status", {}).get("phase") == "Bound" and found["spec"].get("volumeName") else None
        return self.daemon.wait_for(CLAIMS, bound, f"claim {name} to be bound")


class AsRoot(Pods, unittest.TestCase):
    mode = "root"

    @classmethod
    def setUpClass(cls):
        cls.mapped = tempfile.mkdtemp(prefix="muster-mapped-")
        pathlib.Path(cls.mapped, "there").write_text("before\n")
        cls.options = (*Pods.options, "--volume", f"mapped={cls.mapped}", "--volume", f"other/mapped={cls.mapped}",
                       "--volume", f"other/never-filled={cls.mapped}")
        cls.mounts = []
        super().setUpClass()

    @classmethod
    def fill_machine(cls):
        """Second mounts: of the folder around the data folder, and of one in it."""
        super().fill_machine()
        for source, name in ((os.path.dirname(cls.daemon.folder), "again"), (f"{cls.daemon.data}/pods", "pods")):
            point = os.path.join(cls.machine, name)
            os.mkdir(point)
            subprocess.run(["mount", "--bind", source, point], check=True)
            cls.mounts.append(point)

    @classmethod
    def tearDownClass(cls):
        for point in cls.mounts:
            subprocess.run(["umount", "--lazy", point], check=True)
        super().tearDownClass()
        shutil.rmtree(cls.mapped)

    def test_claim_is_bound_and_says_where(self):
        claim = self.claim("tutorial")
        path = claim["metadata"]["annotations"]["muster.dev/path"]
        self.assertEqual(path, os.path.join(self.daemon.data, "volumes/default/tutorial"))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o777)
        self.assertEqual(claim["status"]["capacity"], {"storage": "5Gi"})
        self.assertEqual(self.claim("unheard-of")["spec"]["accessModes"], ["ReadWriteMany"])

    def test_mapped_folder_is_the_claim(self):
        claim = self.claim("mapped")
        self.assertEqual(claim["metadata"]["annotations"]["muster.dev/path"], self.mapped)

    def test_bad_mappings_are_told(self):
        other = harness.tempfile.mkdtemp(prefix="muster-other-")
        full = pathlib.Path(other, "volumes/default/full")
        full.mkdir(parents=True)
        (full / "file").write_text("")
        for mapping, words in (("x", "--volume takes NAME=DIR or NAMESPACE/NAME=DIR, not \"x\""),
                               ("x=/not/there", "--volume x=/not/there: /not/there: No such file or directory"),
                               ("x=/etc/passwd", "/etc/passwd is not a folder"),
                               ("../x=/tmp", "namespace \"..\""),
                               ("X_=/tmp", "persistentvolumeclaim \"X_\""),
                               ("full=/tmp", "the claim has its files in")):
            done = subprocess.run([BIN, "up", "--listen", "127.0.0.1:0", "--dir", other, "--volume", mapping],
                                  capture_output=True, text=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL)
            self.assertNotEqual(done.returncode, 0, mapping)
            self.assertIn(words, done.stderr)
        shutil.rmtree(other)


class AsUser(Pods, unittest.TestCase):
    mode = "user"
    uid = ORDINARY
    wrapper = ("setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups")


class Forbidden(Pods, unittest.TestCase):
    mode = "forbidden"
    uid = ORDINARY
    wrapper = (sys.executable, str(HERE / "without_user_namespaces.py"), str(ORDINARY))

    def test_job_says_why_it_cannot_run(self):
        job = harness.job("mounted", ["true"], replicas=1)
        template = job["spec"]["replicaSpecs"][0]["template"]["spec"]
        template["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "tutorial"}}]
        template["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/t9k/mnt"}]
        self.daemon.create(job)

        def told(jobs):
            return "this machine forbids user namespaces" in json.dumps(jobs["mounted"].get("status", {}))
        self.daemon.wait_for(JOBS.format(ns="default"), told, "the job to say why it waits")
        done = self.daemon.cli("rm", "mounted")
        self.assertEqual(done.returncode, 0, done.stderr)


def add_tests(cls):
    for path in sorted(HERE.glob("*.yaml")):
        if cls.wants(path.read_text()):
            name = path.stem
            setattr(cls, f"test_{name.replace('-', '_')}", lambda self, one=name: self.check(one))


for one in (AsRoot, AsUser, Forbidden):
    add_tests(one)

if __name__ == "__main__":
    harness.main()

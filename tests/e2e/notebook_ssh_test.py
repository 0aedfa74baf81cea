#!/usr/bin/python3
"""A Notebook's ssh server, with a real client: keys, what a login finds, files, forwarded ports, what counts as use, and what is
said when it cannot be. The program is a stand-in for JupyterLab."""
import base64
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import app_client
import harness
from notebook_test import FAKE, KUBECTL, MERGE, NOTEBOOKS, notebook

SECRETS = "/api/v1/namespaces/default/secrets"
MUSTER = os.environ.get("MUSTER_BIN", str(harness.ROOT / "build/muster"))


class Ssh(app_client.AppClient, harness.WithDaemon):
    options = ("--idle-after", "2s")

    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.mkdtemp(prefix="muster-programs-")
        os.chmod(cls.programs, 0o755)
        path = pathlib.Path(cls.programs, "jupyter-lab")
        path.write_text(FAKE)
        path.chmod(0o755)
        cls.environment = {"PATH": f"{cls.programs}:{KUBECTL.parent}:/usr/bin:/bin", "HOME": cls.programs}
        cls.keys = tempfile.mkdtemp(prefix="muster-keys-")
        super().setUpClass()
        for name in ("mine", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{cls.keys}/{name}"], check=True)
            public = pathlib.Path(cls.keys, f"{name}.pub").read_bytes()
            # As people put them there: with the private key, which must not get into the pod.
            private = pathlib.Path(cls.keys, name).read_bytes()
            cls.daemon.call("POST", SECRETS, {"metadata": {"name": name}, "data": {
                "ssh-publickey": base64.b64encode(public).decode(), "ssh-privatekey": base64.b64encode(private).decode()}})

    @classmethod
    def tearDownClass(cls):
        try:
            super().tearDownClass()
        finally:
            shutil.rmtree(cls.programs, ignore_errors=True)
            shutil.rmtree(cls.keys, ignore_errors=True)

    def tearDown(self):
        self.daemon.call("DELETE", f"{NOTEBOOKS}/nb", expect=(200, 404))
        for path in (NOTEBOOKS, harness.PODS.format(ns="default")):
            self.daemon.wait_for(path, lambda found: True if not found else None, f"{path} to be empty")

    def start(self, keys=("mine",), **changes):
        what = notebook("nb", ssh={"enabled": True, "authorized_keys": list(keys)})
        what["spec"]["template"]["spec"].update(changes)
        self.daemon.call("POST", NOTEBOOKS, what)
        return self.wait_ssh("True")

    def wait_ssh(self, status, reason=None):
        def look(found):
            nb = found["nb"]
            for c in nb.get("status", {}).get("conditions", []):
                if c["type"] == "SshReady" and c["status"] == status and reason in (None, c["reason"]) and \
                        nb["status"]["phase"] == "Running":
                    return nb
            return None
        return self.daemon.wait_for(NOTEBOOKS, look, f"SshReady {status} {reason}")

    def client(self, key):
        return ["-i", f"{self.keys}/{key}", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
                "-o", f"UserKnownHostsFile={self.keys}/known", "-o", "StrictHostKeyChecking=accept-new"]

    def ssh(self, port, *command, key="mine", user="t9kuser", more=(), listens=True):
        """sshd goes to the background before it listens, and the JupyterLab of these tests is ready as fast; one that was
        just killed may still have taken the connection."""
        done = None

        def answered():
            nonlocal done
            done = subprocess.run(["ssh", *self.client(key), *more, "-p", str(port), f"{user}@127.0.0.1", *command],
                                  capture_output=True, text=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL)
            return not listens or not re.search("Connection refused|kex_exchange_identification", done.stderr)
        harness.wait_until(answered, f"a server on port {port}")
        return done

    def test_a_login_is_as_in_jupyterlabs_terminal(self):
        found = self.start()
        place = found["status"]["ssh"]
        self.assertEqual((place["serviceName"], place["protocol"]), ("managed-notebook-ssh-nb", "TCP"))
        service = self.daemon.call("GET", f"{harness.SERVICES.format(ns='default')}/managed-notebook-ssh-nb")
        self.assertEqual(service["spec"]["ports"][0]["port"], place["port"])
        self.assertNotEqual(place["port"], found["status"]["port"])
        port = place["port"]
        done = self.ssh(port, "id -u; id -un; echo $HOME; pwd; kubectl get pods -o name; muster ps; echo ${JUPYTER_TOKEN-none}")
        self.assertIn("no jobs in namespace default", done.stderr)
        user = str(os.geteuid())
        self.assertEqual(done.stdout.split("\n")[:5], [user, "t9kuser", "/t9k/mnt", "/t9k/mnt", "pod/nb-nb"])
        self.assertTrue(done.stdout.endswith("none\n"))
        self.assertEqual(self.ssh(port, "python3 -c 'import torch; print(torch.ones(2).sum().item())'").stdout, "2.0\n")
        # A terminal; and the exit code of what was run.
        done = self.ssh(port, "test -t 0 && tty; exit 7", more=["-tt"])
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("/dev/pts/", done.stdout)

    @unittest.skipUnless(shutil.which("scp"), "no scp")
    def test_files_and_ports_go_through_it(self):
        port = self.start()["status"]["ssh"]["port"]
        big = pathlib.Path(self.keys, "big")
        big.write_bytes(os.urandom(5_000_000))
        for more in ([], ["-O"]):
            subprocess.run(["scp", *more, *self.client("mine"), "-P", str(port), str(big), "t9kuser@127.0.0.1:there"],
                           check=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL)
            subprocess.run(["scp", *more, *self.client("mine"), "-P", str(port), "t9kuser@127.0.0.1:there", f"{big}-2"],
                           check=True, timeout=harness.PATIENCE, stdin=subprocess.DEVNULL)
            self.assertEqual(big.read_bytes(), pathlib.Path(f"{big}-2").read_bytes())
        # `-W`: what `-L` does, without a port of our own.
        done = subprocess.run(["ssh", *self.client("mine"), "-W", f"127.0.0.1:{port}", "-p", str(port), "t9kuser@127.0.0.1"],
                              input=b"SSH-2.0-x\r\n", capture_output=True, timeout=harness.PATIENCE)
        self.assertTrue(done.stdout.startswith(b"SSH-2.0-OpenSSH"), done)

    def test_it_is_reached_by_port_forward(self):
        self.start()
        command = f"{KUBECTL} --kubeconfig {self.daemon.folder}/kubeconfig port-forward service/managed-notebook-ssh-nb :"
        port = self.daemon.call("GET", f"{NOTEBOOKS}/nb")["status"]["ssh"]["port"]
        forward = subprocess.Popen((command + str(port)).split(), stdout=subprocess.PIPE, text=True)
        try:
            local = forward.stdout.readline().split("127.0.0.1:")[1].split()[0]
            self.assertEqual(self.ssh(local, "echo here").stdout, "here\n")
        finally:
            forward.kill()
            forward.communicate()

    def test_nobody_else_is_let_in(self):
        port = self.start()["status"]["ssh"]["port"]
        for other in (dict(key="other"), dict(user="root"), dict(user="nobody"),
                      dict(more=["-o", "PubkeyAuthentication=no", "-o", "PasswordAuthentication=yes"])):
            done = self.ssh(port, "echo in", **other)
            self.assertEqual((done.returncode, done.stdout), (255, ""), other)
            self.assertIn("Permission denied (publickey)", done.stderr)
        # Nothing of the Secrets but the public key is in the pod; the passwd file there cannot be changed.
        done = self.ssh(port, "cat /t9k/ssh/authorized; ls /t9k/ssh-keys /t9k/ssh-host; echo x >>/etc/passwd; stat -c %a /t9k/ssh")
        self.assertNotIn("PRIVATE", done.stdout)
        self.assertTrue(done.stdout.startswith("ssh-ed25519 "))
        self.assertTrue(done.stdout.endswith("\n700\n"), done.stdout)
        self.assertIn("Read-only file system", done.stderr)
        self.assertEqual(done.stderr.count("No such file"), 2)

    def test_other_keys_are_another_pod_with_the_same_host_key(self):
        port = self.start()["status"]["ssh"]["port"]
        self.ssh(port, "true")
        known = pathlib.Path(self.keys, "known").read_text()
        before = self.daemon.list(harness.PODS.format(ns="default"))[0]["metadata"]["uid"]
        self.daemon.call("PATCH", f"{NOTEBOOKS}/nb", {"spec": {"ssh": {"authorized_keys": ["other"]}}}, content_type=MERGE)
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: "nb-nb" in pods and
                             pods["nb-nb"]["metadata"]["uid"] != before or None)
        self.assertEqual(self.wait_ssh("True")["status"]["ssh"]["port"], port)
        self.assertEqual(self.ssh(port, "echo in", key="other").stdout, "in\n")
        self.assertEqual(self.ssh(port, "echo in").returncode, 255)
        self.assertEqual(pathlib.Path(self.keys, "known").read_text(), known)

    def test_switched_off_nothing_of_it_is_left(self):
        port = self.start()["status"]["ssh"]["port"]
        self.daemon.call("PATCH", f"{NOTEBOOKS}/nb", {"spec": {"ssh": {"enabled": False}}}, content_type=MERGE)
        self.daemon.wait_for(harness.SERVICES.format(ns="default"), lambda found: "managed-notebook-ssh-nb" not in found or None)
        self.daemon.wait_for("/apis/coordination.k8s.io/v1/namespaces/muster-system/leases",
                             lambda found: f"master-port-{port}" not in found or None)
        nb = self.daemon.wait_for(NOTEBOOKS, lambda found: found["nb"] if "ssh" not in found["nb"]["status"] and
                                  found["nb"]["status"]["phase"] == "Running" else None)
        self.assertNotIn("SshReady", [c["type"] for c in nb["status"]["conditions"]])
        self.assertEqual(self.ssh(port, "true", listens=False).returncode, 255)

    def test_an_open_connection_is_use(self):
        port = self.start()["status"]["ssh"]["port"]
        idle = lambda found: next((c["status"] for c in found["nb"]["status"]["conditions"] if c["type"] == "Idle"), "")
        self.daemon.wait_for(NOTEBOOKS, lambda found: idle(found) == "True" or None, "it to be idle")
        session = subprocess.Popen(["ssh", *self.client("mine"), "-p", str(port), "-N", "t9kuser@127.0.0.1"],
                                   stdin=subprocess.DEVNULL)
        try:
            found = self.daemon.wait_for(NOTEBOOKS, lambda found: found["nb"] if idle(found) == "False" else None,
                                         "it to be in use")
            self.assertIn("lastSshClientActivity", found["status"]["ssh"])
        finally:
            session.kill()
            session.wait()
        self.daemon.wait_for(NOTEBOOKS, lambda found: idle(found) == "True" or None, "it to be idle again")

    def test_what_is_missing_is_said(self):
        what = notebook("nb", ssh={"enabled": True, "authorized_keys": ["nothing-there"]})
        self.daemon.call("POST", NOTEBOOKS, what)
        found = self.wait_ssh("False", "NoKeys")
        self.assertEqual(found["status"]["phase"], "Running")
        events = self.daemon.wait_for("/api/v1/namespaces/default/events", lambda found: [
            e["message"] for e in found.values() if e["reason"] == "SshNotReady"])
        self.assertIn("spec.ssh.authorized_keys", events[0])

    def test_its_port_taken_by_another_program_is_left(self):
        port = self.start()["status"]["ssh"]["port"]
        self.daemon.call("PATCH", f"{NOTEBOOKS}/nb", {"spec": {"suspend": True}}, content_type=MERGE)
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda found: True if not found else None)
        with socket.create_server(("127.0.0.1", port)):
            self.daemon.call("PATCH", f"{NOTEBOOKS}/nb", {"spec": {"suspend": False}}, content_type=MERGE)
            self.daemon.wait_for(NOTEBOOKS, lambda found: found["nb"]["status"].get("ssh", {}).get("port", port) != port or None)
            moved = self.wait_ssh("True")["status"]["ssh"]["port"]
            done = self.ssh(moved, "echo in")
            self.assertEqual(done.stdout, "in\n", done.stderr)
        self.daemon.wait_for(harness.SERVICES.format(ns="default"), lambda found: found.get("managed-notebook-ssh-nb", {}).get(
            "spec", {}).get("ports", [{}])[0].get("port") == moved or None, "the Service to follow")

    def test_a_server_that_is_killed_is_started_again(self):
        port = self.start()["status"]["ssh"]["port"]

        def listener():
            """The process that has the listening socket."""
            with open("/proc/net/tcp", encoding="ascii") as lines:
                (inode,) = [line.split()[9] for line in lines if line.split()[1:4:2] == [f"0100007F:{port:04X}", "0A"]]
            for link in pathlib.Path("/proc").glob("[0-9]*/fd/*"):
                try:
                    if os.readlink(link) == f"socket:[{inode}]":
                        return int(link.parts[2])
                except OSError:
                    continue
            return None
        for _ in range(2):
            self.assertEqual(self.ssh(port, "echo in").stdout, "in\n")
            os.kill(listener(), signal.SIGKILL)
        self.assertEqual(self.ssh(port, "echo in").stdout, "in\n")
        self.assertIn("sshd ended, and is started again in 2 s", self.daemon.log("nb-nb"))

    def test_without_sshd_the_notebook_runs_and_says_what_to_install(self):
        what = notebook("nb", ssh={"enabled": True, "authorized_keys": ["mine"]})
        pod = what["spec"]["template"]["spec"]
        pod["volumes"].append({"name": "nothing", "emptyDir": {}})
        pod["containers"][0]["volumeMounts"].append({"name": "nothing", "mountPath": "/usr/sbin"})
        self.daemon.call("POST", NOTEBOOKS, what)
        found = self.wait_ssh("False", "NotInstalled")
        said = next(c["message"] for c in found["status"]["conditions"] if c["type"] == "SshReady")
        events = self.daemon.wait_for("/api/v1/namespaces/default/events", lambda found: [
            e["message"] for e in found.values() if e["reason"] == "SshNotReady" and "openssh-server" in e["message"]])
        self.assertEqual(events[0], said)

    @unittest.skipUnless(os.geteuid() == 0, "an ordinary user's pods are all that user")
    def test_it_is_the_pods_user(self):
        for name, user in (("number", 2001000007), ("ordinary", 1000)):
            with self.subTest(name):
                found = self.start(securityContext={"runAsUser": user, "runAsGroup": user})
                port = found["status"]["ssh"]["port"]
                done = self.ssh(port, "id -u; id -g; f=$(mktemp -p .) && stat -c %u $f; tty", more=["-tt"])
                self.assertEqual(done.stdout.split()[:3], [str(user)] * 3, done)
                self.assertIn("/dev/pts/", done.stdout)
                self.tearDown()


if __name__ == "__main__":
    harness.main()

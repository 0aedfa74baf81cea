#!/usr/bin/python3
"""The API server, the controllers and the node agent as three processes: the same must hold as in one."""
import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile

import harness
from all_in_one_test import KillOneReplica
from harness import DaemonTest


class ThreeProcesses(KillOneReplica, DaemonTest):
    options = ("--only", "api")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        kubeconfig = os.path.join(cls.daemon.folder, "kubeconfig")
        cls.controller = cls.daemon.spawn("controller", "--kubeconfig", kubeconfig)
        cls.node = cls.daemon.spawn("node", "--kubeconfig", kubeconfig, "--dir", cls.daemon.data)
        cls.daemon.wait_for(harness.NODES, lambda nodes: nodes, "a node to appear")

    def test_nohup_is_respected(self):
        """What ignores SIGHUP from its start on goes on after one."""
        process = self.daemon.spawn("scheduler", "--kubeconfig", os.path.join(self.daemon.folder, "kubeconfig"), "--health", "127.0.0.1:0",
                                    stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        port = next(int(line.split()[-1]) for line in iter(process.stderr.readline, b"") if b"serving health checks on port" in line)
        process.send_signal(signal.SIGHUP)
        for _ in range(3):  # a signal is seen before the next request, at the latest
            with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=ssl._create_unverified_context())) as asked:
                asked.request("GET", "/healthz")
                self.assertEqual(asked.getresponse().status, 200)
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()

    def test_scheduler_says_how_it_is(self):
        """Probes and Prometheus ask over TLS; one that cannot reach its server is alive and not ready."""
        config = pathlib.Path(self.daemon.folder, "nowhere")
        config.write_text("kind: Config\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
                          "contexts: [{name: c, context: {cluster: c}}]\n")
        process = self.daemon.spawn("scheduler", "--kubeconfig", str(config), "--health", "127.0.0.1:0",
                                    stderr=subprocess.PIPE)
        lines = iter(process.stderr.readline, b"")
        port = next(int(line.split()[-1]) for line in lines if b"serving health checks on port" in line)
        next(line for line in lines if b"cannot ask the server" in line)

        def ask(path):
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60,
                                                     context=ssl._create_unverified_context())
            with contextlib.closing(connection):
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()

        self.assertEqual(ask("/healthz"), (200, "ok\n"))
        status, why = ask("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("cannot reach http://127.0.0.1:1: ", why)
        self.assertIn("\nmuster_leader 0\n", ask("/metrics")[1])
        self.assertEqual(ask("/other")[0], 404)
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()

    def test_killed_replica_is_replaced_alone(self):
        self.check_kill_one()

    def test_replicas_see_their_rank(self):
        self.check_environment()

    def test_progress_is_written_by_the_node(self):
        """The process that has the files says how far a job is: from event files and from the log."""
        logs = tempfile.mkdtemp(prefix="muster-logs-")
        self.addCleanup(shutil.rmtree, logs, True)
        write = (f"import sys; sys.path.insert(0, '{harness.ROOT}/examples/ddp'); import eventfile; "
                 f"writer = eventfile.EventWriter('{logs}'); writer.add_scalar('train/loss', 0.5, 5); writer.close()")
        what = harness.job("far", ["sh", "-c", f'[ "$RANK" != 0 ] || /usr/bin/python3 -c "{write}"; echo step 5/20; exec sleep 1000'],
                           replicas=2)
        what["metadata"]["annotations"] = {"muster.dev/log-dir": logs}
        self.daemon.create(what)

        def from_both(jobs):
            progress = jobs["far"].get("status", {}).get("progress", {})
            return progress if "fraction" in progress and "loss" in progress else None
        progress = self.daemon.wait_for(harness.JOBS.format(ns="default"), from_both, "progress from the log and the event file")
        self.assertEqual((progress["step"], progress["loss"], progress["fraction"]), (5, 0.5, 0.25))
        self.remove("far")

    def test_a_silent_node_gets_nothing_new(self):
        """Its Lease is not renewed: it is not Ready long before its pods are given up, and Ready again when it answers."""
        daemon = self.daemon
        daemon.create(harness.job("stays", ["sleep", "1000"], replicas=1))
        before = daemon.wait_running("stays", 1)
        self.node.send_signal(signal.SIGSTOP)
        self.addCleanup(self.node.send_signal, signal.SIGCONT)
        daemon.wait_for(harness.NODES, lambda nodes: all(
            c["status"] == "Unknown" and c["message"] == "the node has not reported for 40 s"
            for node in nodes.values() for c in node["status"]["conditions"] if c["type"] == "Ready"), "the node to be silent")
        daemon.create(harness.job("new", ["true"], replicas=1))
        daemon.wait_for(harness.JOBS.format(ns="default"), lambda jobs: jobs["new"].get("status", {}).get("message")
                        == "waiting for a node: none is ready", "the job to wait")
        self.node.send_signal(signal.SIGCONT)
        daemon.wait_phase("new", "Succeeded")
        self.assertEqual(harness.uids(daemon.pods("stays")), harness.uids(before))
        self.remove("stays", "new")

    def test_each_process_may_be_killed(self):
        """Controllers and agent are killed while a job runs; new ones go on with the same processes."""
        daemon = self.daemon
        kubeconfig = os.path.join(daemon.folder, "kubeconfig")
        daemon.create(harness.job("steady", ["sleep", "1000"], restart="OnFailure"))
        before = daemon.wait_running("steady")
        processes = daemon.pod_processes(container=True)
        for process in (type(self).controller, type(self).node):
            process.kill()
            process.wait()
        self.assertEqual(daemon.pod_processes(container=True), processes)
        type(self).controller = daemon.spawn("controller", "--kubeconfig", kubeconfig)
        type(self).node = daemon.spawn("node", "--kubeconfig", kubeconfig, "--dir", daemon.data)
        daemon.create(harness.job("after", ["true"], replicas=1))
        daemon.wait_phase("after", "Succeeded")
        self.assertEqual(daemon.pod_processes(container=True), processes)
        self.assertEqual(harness.uids(daemon.pods("steady")), harness.uids(before))
        self.remove("steady", "after")


class LateScheduler(harness.WithDaemon):
    options = ("--only", "api")

    def test_many_groups_without_a_job_are_there_when_it_starts(self):
        """It looks at each pod once, not once for each group: in that time its Lease would end, again and again."""
        daemon, groups = self.daemon, "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups"
        room = {"cpu": "4", "memory": "8Gi", "pods": "100"}
        daemon.call("POST", harness.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        daemon.call("PATCH", harness.NODES + "/n/status", {"status": {
            "capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}},
                    content_type="application/merge-patch+json")
        for i in range(1500):
            name = f"g{i:04}"
            daemon.call("POST", groups, {"apiVersion": "scheduler.tensorstack.dev/v1beta1", "kind": "PodGroup",
                                         "metadata": {"name": name}, "spec": {"minMember": 1}})
            daemon.call("POST", harness.PODS.format(ns="default"), {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {
                    "scheduler.tensorstack.dev/group-name": name}}, "spec": {"schedulerName": "t9k-scheduler", "containers": [{
                        "name": "c", "image": "none", "resources": {"requests": {"cpu": "4"}}}]}})
        daemon.spawn("scheduler", "--kubeconfig", os.path.join(daemon.folder, "kubeconfig"))
        daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: any(
            pod["spec"].get("nodeName") for pod in pods.values()), "the first pod to be placed")


if __name__ == "__main__":
    harness.main()

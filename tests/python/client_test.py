#!/usr/bin/python3
"""The Python `kubernetes` client, as it comes from PyPI: lists, watches, writes, patches, execs and reads logs."""
import os
import pathlib
import socket
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "build/venv"
if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
    os.execv(VENV / "bin/python", [str(VENV / "bin/python"), *sys.argv])

sys.path.insert(0, str(ROOT / "tests/e2e"))

import harness  # noqa: E402
from kubernetes import client, config, dynamic, watch  # noqa: E402
from kubernetes.client.exceptions import ApiException  # noqa: E402
from kubernetes.stream import portforward, stream  # noqa: E402

GROUP = ("batch.tensorstack.dev", "v1beta1", "default", "pytorchtrainingjobs")


def pod(name, *command, **labels):
    container = {"name": "main", "image": "none", "command": list(command)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}}


class PythonClient(harness.DaemonTest):
    def setUp(self):
        self.api = config.new_client_from_config(os.path.join(self.daemon.folder, "kubeconfig"))
        self.addCleanup(self.api.close)
        self.core = client.CoreV1Api(self.api)
        self.custom = client.CustomObjectsApi(self.api)

    def tearDown(self):
        self.core.delete_collection_namespaced_pod("default", grace_period_seconds=0)
        self.core.delete_collection_namespaced_config_map("default")
        super().tearDown()

    def run_pod(self, name, *command, **labels):
        self.core.create_namespaced_pod("default", pod(name, *command, **labels))
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods.get(name, {}).get("status", {}).get(
            "phase") in ("Running", "Succeeded", "Failed"), f"{name} to run")

    # --- reading

    def test_what_there_is(self):
        self.assertEqual(client.VersionApi(self.api).get_code().minor, "32")
        self.assertIn("v1", client.CoreApi(self.api).get_api_versions().versions)
        self.assertIn("batch.tensorstack.dev", [group.name for group in client.ApisApi(self.api).get_api_versions().groups])
        self.assertIn("pods", [found.name for found in self.core.get_api_resources().resources])
        self.assertIn("default", [found.metadata.name for found in self.core.list_namespace().items])
        node = self.core.list_node().items[0]
        self.assertIn("cpu", node.status.capacity)
        self.assertEqual([c.status for c in node.status.conditions if c.type == "Ready"], ["True"])

    def test_lists_by_selectors_and_in_pages(self):
        for number in range(5):
            self.core.create_namespaced_config_map("default", {
                "metadata": {"name": f"map-{number}", "labels": {"parity": "odd" if number % 2 else "even"}}, "data": {"n": str(number)}})
        odd = self.core.list_namespaced_config_map("default", label_selector="parity in (odd, none)")
        self.assertEqual([item.metadata.name for item in odd.items], ["map-1", "map-3"])
        one = self.core.list_config_map_for_all_namespaces(field_selector="metadata.name=map-2")
        self.assertEqual([item.data for item in one.items], [{"n": "2"}])
        seen, token = [], None
        while True:
            page = self.core.list_namespaced_config_map("default", limit=2, _continue=token)
            self.assertLessEqual(len(page.items), 2)
            seen += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                break
        self.assertEqual(seen, [f"map-{number}" for number in range(5)])

    def test_errors(self):
        with self.assertRaises(ApiException) as caught:
            self.core.read_namespaced_pod("absent", "default")
        self.assertEqual((caught.exception.status, caught.exception.reason), (404, "Not Found"))
        self.assertIn('pods \\"absent\\" not found', caught.exception.body)
        with self.assertRaises(ApiException) as caught:
            self.core.create_namespaced_pod("default", {"metadata": {"name": "Bad_Name"}, "spec": {"containers": []}})
        self.assertEqual(caught.exception.status, 422)
        body = {"metadata": {"name": "twice"}}
        self.core.create_namespaced_config_map("default", body)
        with self.assertRaises(ApiException) as caught:
            self.core.create_namespaced_config_map("default", body)
        self.assertEqual(caught.exception.status, 409)

    # --- watching

    def test_watch(self):
        version = self.core.list_namespaced_config_map("default").metadata.resource_version
        seen = []

        def read():
            for event in watch.Watch().stream(self.core.list_namespaced_config_map, "default", resource_version=version,
                                              timeout_seconds=int(harness.PATIENCE)):
                seen.append((event["type"], event["object"].metadata.name, (event["object"].data or {}).get("a")))
                if event["type"] == "DELETED":
                    return

        reader = threading.Thread(target=read)
        reader.start()
        self.core.create_namespaced_config_map("default", {"metadata": {"name": "watched"}, "data": {"a": "1"}})
        self.core.patch_namespaced_config_map("watched", "default", {"data": {"a": "2"}})
        self.core.delete_namespaced_config_map("watched", "default")
        reader.join(harness.PATIENCE)
        self.assertEqual(seen, [("ADDED", "watched", "1"), ("MODIFIED", "watched", "2"), ("DELETED", "watched", "2")])

    # --- writing

    def test_patches(self):
        self.core.create_namespaced_pod("default", {
            "metadata": {"name": "patched"}, "spec": {"schedulerName": "nobody", "containers": [
                {"name": "a", "image": "one"}, {"name": "b", "image": "two"}]}})
        done = self.core.patch_namespaced_pod("patched", "default", {"spec": {"containers": [{"name": "b", "image": "three"}]}})
        self.assertEqual([c.image for c in done.spec.containers], ["one", "three"])
        done = self.core.patch_namespaced_pod("patched", "default", [
            {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}])
        self.assertEqual(done.metadata.labels, {"x": "y"})
        done.metadata.annotations = {"note": "hello"}
        done = self.core.replace_namespaced_pod("patched", "default", done)
        self.assertEqual(done.metadata.annotations["note"], "hello")
        done.metadata.resource_version = "1"
        with self.assertRaises(ApiException) as caught:
            self.core.replace_namespaced_pod("patched", "default", done)
        self.assertEqual(caught.exception.status, 409)
        dry = self.core.patch_namespaced_pod("patched", "default", {"metadata": {"labels": {"x": "z"}}}, dry_run="All")
        self.assertEqual(dry.metadata.labels, {"x": "z"})
        self.assertEqual(self.core.read_namespaced_pod("patched", "default").metadata.labels, {"x": "y"})

    def test_custom_objects(self):
        body = harness.job("custom", ["sh", "-c", "echo trained"], replicas=2, run_policy={"cleanUpPolicy": "None"})
        made = self.custom.create_namespaced_custom_object(*GROUP, body)
        self.assertEqual(made["metadata"]["generation"], 1)
        for event in watch.Watch().stream(self.custom.list_namespaced_custom_object, *GROUP, timeout_seconds=int(harness.PATIENCE)):
            if event["object"].get("status", {}).get("phase") == "Succeeded":
                break
        found = self.custom.get_namespaced_custom_object(*GROUP, "custom")
        self.assertEqual(found["status"]["phase"], "Succeeded")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: len(pods) == 2 and all(  # the job's end is its master's
            one.get("status", {}).get("phase") == "Succeeded" for one in pods.values()), "both replicas to end")
        pods = self.core.list_namespaced_pod("default", label_selector="tensorstack.dev/owner-name=custom").items
        self.assertEqual([self.core.read_namespaced_pod_log(one.metadata.name, "default") for one in pods], ["trained\n"] * 2)
        patched = self.custom.patch_namespaced_custom_object(*GROUP, "custom", {"metadata": {"labels": {"team": "vision"}}})
        self.assertEqual(patched["metadata"]["labels"]["team"], "vision")
        self.custom.delete_namespaced_custom_object(*GROUP, "custom")

    def test_dynamic_client(self):
        found = dynamic.DynamicClient(self.api)
        jobs = found.resources.get(api_version="batch.tensorstack.dev/v1beta1", kind="PyTorchTrainingJob")
        jobs.create(body=harness.job("dynamic", ["true"], replicas=1), namespace="default")
        for event in jobs.watch(namespace="default", timeout=int(harness.PATIENCE)):
            if (event["object"].status or {}).get("phase") == "Succeeded":
                break
        self.assertEqual(jobs.get(name="dynamic", namespace="default").status.phase, "Succeeded")
        maps = found.resources.get(api_version="v1", kind="ConfigMap")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
        maps.server_side_apply(body=body, namespace="default", field_manager="test")
        body["data"] = {"b": "2"}
        done = maps.server_side_apply(body=body, namespace="default", field_manager="test")
        self.assertEqual(done.data.to_dict(), {"b": "2"})
        jobs.delete(name="dynamic", namespace="default")

    # --- logs and streams

    def test_logs(self):
        self.run_pod("talks", "sh", "-c", "echo one; echo two; echo three")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods["talks"]["status"]["phase"] == "Succeeded")
        self.assertEqual(self.core.read_namespaced_pod_log("talks", "default"), "one\ntwo\nthree\n")
        self.assertEqual(self.core.read_namespaced_pod_log("talks", "default", tail_lines=1), "three\n")
        lines = list(watch.Watch().stream(self.core.read_namespaced_pod_log, "talks", "default", follow=True))
        self.assertEqual(lines, ["one", "two", "three"])

    def test_exec(self):
        self.run_pod("runs", "sleep", "1000")
        connect = self.core.connect_get_namespaced_pod_exec
        done = stream(connect, "runs", "default", command=["sh", "-c", "echo out; echo err >&2; exit 3"], stdout=True, stderr=True,
                      stdin=False, tty=False, _preload_content=False)
        done.run_forever(timeout=harness.PATIENCE)
        self.assertEqual((done.read_stdout(), done.read_stderr(), done.returncode), ("out\n", "err\n", 3))
        talk = stream(connect, "runs", "default", command=["cat"], stdout=True, stderr=True, stdin=True, tty=False,
                      _preload_content=False)
        talk.write_stdin("hello\n")
        self.assertEqual(talk.readline_stdout(timeout=harness.PATIENCE), "hello")
        talk.close()
        self.assertEqual(stream(connect, "runs", "default", command=["echo", "all at once"], stdout=True, stderr=True, stdin=False,
                                tty=False), "all at once\n")
        with self.assertRaises(ApiException):
            stream(connect, "absent", "default", command=["true"], stdout=True)

    def test_port_forward(self):
        program = ("import socket, sys; a, b = socket.create_server(('127.0.0.1', 0)), socket.create_server(('127.0.0.1', 0)); "
                   "print(a.getsockname()[1], b.getsockname()[1], flush=True)\n"
                   "while True:\n"
                   "  for one, word in (a, b'first '), (b, b'second '):\n"
                   "    c, _ = one.accept(); c.sendall(word + c.recv(100)); c.close()")
        self.run_pod("listens", sys.executable, "-c", program)
        ports = next(watch.Watch().stream(self.core.read_namespaced_pod_log, "listens", "default", follow=True)).split()
        connect = self.core.connect_get_namespaced_pod_portforward
        forward = portforward(connect, "listens", "default", ports=",".join(ports))
        for port, word in zip(ports, ("first", "second")):
            connection = forward.socket(int(port))
            connection.settimeout(harness.PATIENCE)
            connection.sendall(b"hello" * 10)
            answer = b""
            while len(answer) < len(word) + 51:
                part = connection.recv(4096)
                self.assertTrue(part, answer)
                answer += part
            connection.close()
            self.assertEqual(answer.decode(), f"{word} " + "hello" * 10)
            self.assertIsNone(forward.error(int(port)))
        forward.close()
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]  # the test's, not the pod's
        self.addCleanup(closed.close)
        forward = portforward(connect, "listens", "default", ports=str(port))
        connection = forward.socket(port)
        connection.settimeout(harness.PATIENCE)
        self.assertEqual(connection.recv(1), b"")
        connection.close()
        self.assertIn(f"error forwarding port {port} to pod default/listens", forward.error(port))


if __name__ == "__main__":
    harness.main()

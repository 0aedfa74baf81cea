#!/usr/bin/python3
"""Searches in logs over HTTP: of pods that run and of those that are gone, by who may read them."""
import http.client
import json
import pathlib
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

PODS = harness.PODS.format(ns="default")
LISTED = "/apis/muster.dev/v1/namespaces/{ns}/podlogs"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PROGRAM = "for i in $(seq 3000); do echo step $i loss 0.$i; done; echo ERROR: no more; echo '温度 7' >&2"


class LogSearch(harness.WithDaemon):
    options = ("--overcommit",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon.call("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talk"},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [
                {"name": "main", "image": "none", "command": ["sh", "-c", PROGRAM]}]}})
        cls.daemon.wait_for(PODS, lambda pods: pods["talk"]["status"]["phase"] == "Succeeded", "talk to end")

    def search(self, pod="talk", **query):
        """The lines that were found, and what was said at the end."""
        status, body = self.ask(f"{PODS}/{pod}/log?{urllib.parse.urlencode(query)}")
        self.assertEqual(status, 200, body)
        lines = [json.loads(line) for line in body.splitlines()]
        return [line for line in lines if "text" in line], lines[-1]

    def ask(self, path, token=None):
        status, text = self.daemon.exchange("GET", path, headers={"Authorization": f"Bearer {token}"} if token else None)[:2]
        return status, text.decode() if isinstance(text, bytes) else text

    def refused(self, code=400, **query):
        return self.daemon.call("GET", f"{PODS}/talk/log?{urllib.parse.urlencode(query)}", expect=(code,))["message"]

    def test_the_whole_log_is_searched(self):
        found, end = self.search(search="step 1", lines=2, count="true")
        self.assertEqual([line["text"] for line in found], ["step 1 loss 0.1", "step 10 loss 0.10"])
        self.assertEqual((end["count"], end["end"], end["scanned"]), (1111, True, end["total"]))
        more, _ = self.search(search="step 1", lines=1, **{"from": end["next"]})
        self.assertEqual(more[0]["text"], "step 11 loss 0.11")
        back, _ = self.search(search="step 1", lines=1, back="true", **{"from": more[0]["at"]})
        self.assertEqual(back[0]["text"], "step 10 loss 0.10")
        last, _ = self.search(search="step", lines=1, back="true")
        self.assertEqual(last[0]["text"], "step 3000 loss 0.3000")

    def test_expressions_levels_and_case(self):
        found, end = self.search(search=r"^step \d{3}\b.*99$", regex="true", count="true")
        self.assertEqual((found[0]["text"], end["count"]), ("step 199 loss 0.199", 9))
        self.assertEqual(self.search(search="error: NO", ignoreCase="true")[0][0]["text"], "ERROR: no more")
        self.assertEqual([line["text"] for line in self.search(search="", level="error,warn")[0]], ["ERROR: no more"])
        found, _ = self.search(search="度 .$", regex="true")
        self.assertEqual((found[0]["text"], found[0]["stream"]), ("温度 7", "stderr"))

    def test_reading_at_a_place(self):
        found, end = self.search(search="step 1500 ", lines=1)
        around, _ = self.search(search="", lines=2, **{"from": found[0]["at"]})
        self.assertEqual([line["text"][:9] for line in around], ["step 1500", "step 1501"])
        text = self.daemon.log("talk", query=f"?offsets=true&from={found[0]['at']}")
        self.assertTrue(text.startswith(f"{found[0]['at']} step 1500 loss 0.1500\n"), text[:80])
        self.assertTrue(text.endswith("温度 7\n") or text.endswith("no more\n"), text[-80:])

    def test_what_is_wrong_is_said(self):
        self.assertEqual(self.refused(search="a(b", regex="true"),
                         'search: not a regular expression: missing closing parenthesis, at character 3 of "a(b"')
        self.assertIn("from: Invalid value", self.refused(search="x", **{"from": "here"}))
        self.assertIn("level: Invalid value: \"loud\"", self.refused(search="x", level="error,loud"))
        self.assertIn("lines", self.refused(search="x", lines="10001"))
        self.assertIn("follow: cannot be combined with search", self.refused(search="x", follow="true"))
        self.assertIn("regex: is for searches", self.refused(regex="true"))
        self.assertIn('stream: Unsupported value: "Bogus": supported values: "All"', self.refused(stream="Bogus"))

    def test_logs_of_the_gone_are_found(self):
        self.daemon.call("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shortly"},
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "none", "command": ["echo", "last words"]}]}})
        self.daemon.wait_for(PODS, lambda pods: pods["shortly"]["status"]["phase"] == "Succeeded", "shortly to end")
        uid = self.daemon.pods()["shortly"]["metadata"]["uid"]
        self.daemon.call("DELETE", f"{PODS}/shortly?gracePeriodSeconds=0")
        listed = {one["uid"]: one for one in self.listed()}
        self.assertEqual((listed[uid]["pod"], listed[uid]["containers"]), ("shortly", ["main"]))
        self.assertIn("talk", [one["pod"] for one in listed.values()])
        found, _ = self.search("shortly", uid=uid, container="main", search="WORDS", ignoreCase="true")
        self.assertEqual(found[0]["text"], "last words")
        status, text = self.ask(f"{PODS}/shortly/log?uid={uid}&container=main&search=a(b&regex=true")
        self.assertEqual(status, 400, text)
        self.assertEqual(self.ask(LISTED.format(ns="other")), (200, ""))

    def listed(self):
        status, text = self.ask(LISTED.format(ns="default"))
        self.assertEqual(status, 200)
        return [json.loads(line) for line in text.splitlines()]

    def test_slow_expressions_hold_up_nobody(self):
        """More of them than may work at once, on lines they take minutes for: they end, others find theirs meanwhile, and
        those whose client leaves are gone, also when all are left at the end."""
        self.daemon.call("POST", PODS, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "long"},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "command": [
                "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do head -c 900000 /dev/zero | tr '\\0' a; echo; done"]}]}})
        self.daemon.wait_for(PODS, lambda pods: pods["long"]["status"]["phase"] == "Succeeded", "long to end")
        slow = urllib.parse.urlencode({"search": r"(?=(a+))\1+b", "regex": "true"})
        connections = [http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE) for _ in range(12)]
        for connection in connections:
            self.addCleanup(connection.close)
            connection.request("GET", f"{PODS}/long/log?{slow}", headers={"Authorization": f"Bearer {self.daemon.token}"})
        begin = time.monotonic()
        for connection in connections[6:]:
            connection.close()
        self.assertEqual([line["text"] for line in self.search(search="no more")[0]], ["ERROR: no more"])
        for connection in connections[:6]:
            last = json.loads(connection.getresponse().read().splitlines()[-1])
            self.assertIn("this expression takes too long on the line here", last["error"])
            self.assertEqual(last["at"], "0.0")
        self.assertLess(time.monotonic() - begin, harness.PATIENCE / 2)
        for connection in connections[:6]:
            connection.request("GET", f"{PODS}/long/log?{slow}", headers={"Authorization": f"Bearer {self.daemon.token}"})
        begin = time.monotonic()
        self.daemon.terminate()
        self.assertLess(time.monotonic() - begin, harness.PATIENCE / 4)
        self.daemon.start()

    def test_who_may_not_read_may_not_search(self):
        self.daemon.call("POST", ACCOUNTS, {"metadata": {"name": "looker"}})
        token = self.daemon.call("POST", f"{ACCOUNTS}/looker/token", {"spec": {}})["status"]["token"]
        for path in (f"{PODS}/talk/log?search=step", LISTED.format(ns="default")):
            self.assertEqual(self.ask(path, token)[0], 403, path)
        self.daemon.call("POST", f"{RBAC}/roles", {"metadata": {"name": "logs"}, "rules": [
            {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}]})
        self.daemon.call("POST", f"{RBAC}/rolebindings", {
            "metadata": {"name": "logs"}, "roleRef": {"kind": "Role", "name": "logs"},
            "subjects": [{"kind": "ServiceAccount", "name": "looker", "namespace": "default"}]})
        for path in (f"{PODS}/talk/log?search=step&lines=1", LISTED.format(ns="default")):
            self.assertEqual(self.ask(path, token)[0], 200, path)
        self.assertEqual(self.ask(LISTED.format(ns="kube-system"), token)[0], 403)


if __name__ == "__main__":
    harness.main()

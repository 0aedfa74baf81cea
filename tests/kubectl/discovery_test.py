#!/usr/bin/python3
"""What clients learn about the kinds: their order, the version they are stored in, and answers for people."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from stock_kubectl import StockKubectl  # noqa: E402


def definition(group, plural, kind, short=(), **schema):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"}, "spec": {
                "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind, "shortNames": list(short)},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", **schema}}}]}}


class Discovery(StockKubectl):
    def install(self, *definitions):
        for one in definitions:
            self.kubectl("create", "-f", "-", stdin=json.dumps(one))
            self.addCleanup(self.kubectl, "delete", "crd", one["metadata"]["name"])
            self.kubectl("wait", "--for=condition=Established", f"crd/{one['metadata']['name']}")

    def test_the_first_group_by_name_has_a_short_name(self):
        """Whichever was installed first, as on a cluster."""
        self.install(definition("b.example", "twos", "Two", ["mine"]), definition("a.example", "ones", "One", ["mine"]),
                     definition("c.example", "threes", "Three", ["mine"]))
        self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "a.example/v1", "kind": "One", "metadata": {"name": "x"}}))
        self.assertEqual(self.kubectl("get", "mine", "-o", "name").stdout, "one.a.example/x\n")

    def test_stored_kinds_say_their_version(self):
        """With the digests that a kube-apiserver has."""
        hashes = {r["name"]: r.get("storageVersionHash") for r in self.daemon.call("GET", "/api/v1")["resources"]}
        self.assertEqual((hashes["pods"], hashes["configmaps"], hashes["secrets"]), ("xPOwRZ+Yhw8=", "qFsyl6wFWjQ=", "S6u1pOWzb84="))
        self.assertIsNone(hashes["pods/status"])

    def test_an_open_root_takes_any_field(self):
        """Also where a client checks a list by the published schema."""
        self.install(definition("open.example", "anys", "Any", **{"x-kubernetes-preserve-unknown-fields": True}))
        item = {"apiVersion": "open.example/v1", "kind": "Any", "metadata": {"name": "x"}, "some": {"thing": [1]}}
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [item]}))
        self.assertEqual(self.kubectl("get", "any", "x", "-o", "jsonpath={.some.thing[0]}").stdout, "1")

    def test_people_get_lines(self):
        def curl(path):
            return subprocess.run(["curl", "-s", f"http://127.0.0.1:{self.daemon.port}{path}"], capture_output=True, text=True, check=True).stdout
        self.assertIn('\n  "major": "1",\n', curl("/version"))
        self.assertNotIn("\n  ", curl("/version?pretty=false"))
        for query, lines in (("", False), ("?pretty=true", True)):
            self.assertEqual(b"\n  " in self.daemon.request("GET", f"/version{query}")[1], lines)


class Discovery120(Discovery, harness.WithDaemon):
    version = "1.20"


class Discovery132(Discovery, harness.WithDaemon):
    version = "1.32"


if __name__ == "__main__":
    harness.main()

#!/usr/bin/python3
"""Nothing is accepted and ignored without a word: walks every field that the API declares for pods and for our job
kinds. A field is used (its name stands in the program outside the tables of fields), or one of a pod's events says
that it is not, or setting it is answered with a warning that names it, which kubectl prints, or with a refusal.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402
from harness import Daemon  # noqa: E402

TABLE = re.compile(r"src/api/(?:kinds/)?(kind_\w+|\w*_fields|field_macros)\.[ch]$")
IGNORED = re.compile(r"No effect here: (.*)\.$", re.DOTALL)
EVENT = re.compile(r"The pod's event (\w+) says so\.$")
DOCUMENTS = ("api/v1", "apis/batch.tensorstack.dev/v1beta1", "apis/tensorstack.dev/v1beta1")
# The default asks for something that is not done; it is in every pod, and a warning each time would hide the others.
UNDONE_DEFAULTS = ("enableServiceLinks",)
KINDS = {"Pod": "/api/v1/namespaces/default/pods",
         "PyTorchTrainingJob": "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/pytorchtrainingjobs",
         "MPIJob": "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/mpijobs",
         "TensorBoard": "/apis/tensorstack.dev/v1beta1/namespaces/default/tensorboards"}


def words_of_program():
    """Names in quotes, and those kubectl and the console are sent, outside the tables."""
    words = set()
    for path in (harness.ROOT / "src").rglob("*.[ch]"):
        if not TABLE.search(str(path)):
            words |= set(re.findall(r'"([A-Za-z]\w*)"', path.read_text()))
    return words


class Schemas:
    def __init__(self, daemon):
        self.all = {}
        for name in DOCUMENTS:
            self.all.update(daemon.call("GET", f"/openapi/v3/{name}")["components"]["schemas"])

    def resolve(self, schema):
        """References, with the description that stands beside them."""
        while "$ref" in schema or "allOf" in schema:
            inner = schema["allOf"][0] if "allOf" in schema else self.all[schema["$ref"].rsplit("/", 1)[1]]
            schema = {**inner, **{k: v for k, v in schema.items() if k == "description"}}
        return schema

    def of_kind(self, kind):
        return next(s for name, s in self.all.items() if name.rsplit(".", 1)[1] == kind and "spec" in s.get("properties", {}))

    def walk(self, schema, path):
        """(path, name, schema) of each field; nothing below one that is ignored."""
        schema = self.resolve(schema)
        for name, child in schema.get("properties", {}).items():
            child = self.resolve(child)
            here = (*path, name)
            yield here, name, child
            if not IGNORED.search(child.get("description", "")):
                yield from self.walk(child, here)
        if "items" in schema:
            yield from self.walk(schema["items"], (*path, 0))

    # --- values

    def value(self, schema, number=1, text="muster-test"):
        """One that the schema allows, whole."""
        schema = self.resolve(schema)
        if schema.get("enum"):
            return schema["enum"][0]
        kind = schema.get("type")
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return max(number, schema.get("minimum", number))
        if kind == "array":
            return [self.value(schema["items"])]
        if kind == "object" or "properties" in schema:
            if "additionalProperties" in schema:
                return {text: self.value(schema["additionalProperties"]) if schema["additionalProperties"] is not True else text}
            wanted = schema.get("required", []) or list(schema.get("properties", {}))[:1]
            return {name: self.value(schema["properties"][name]) for name in wanted}
        if schema.get("format") == "date-time":
            return "2026-01-31T15:04:05Z"
        return "1" if "quantity" in schema.get("description", "").lower() or schema.get("x-kubernetes-int-or-string") else text

    def candidates(self, schema):
        """Values of which one is not what is done anyhow."""
        schema = self.resolve(schema)
        if schema.get("enum"):
            return schema["enum"]
        return [True, False] if schema.get("type") == "boolean" else [self.value(schema)]


def container():
    return {"name": "main", "image": "none", "command": ["true"]}


def pod_spec():
    return {"containers": [container()]}


def smallest(kind):
    """An object of the kind that is accepted, and where its pod's spec is."""
    if kind == "Pod":
        spec = pod_spec()
    elif kind == "PyTorchTrainingJob":
        spec = {"replicaSpecs": [{"type": "worker", "replicas": 1, "template": {"spec": pod_spec()}}]}
    elif kind == "MPIJob":
        spec = {"replicaSpecs": [{"type": "worker", "replicas": 1, "template": {"spec": pod_spec()}}], "mpiConfig": {"script": ["true"]}}
    else:
        spec = {"image": "none"}
    group = "v1" if kind == "Pod" else KINDS[kind].split("/")[2] + "/v1beta1"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "walked", "namespace": "default"}, "spec": spec}


def set_at(thing, path, value):
    """Makes what is missing on the way; lists get a first element."""
    for at, following in zip(path, (*path[1:], None)):
        last = following is None
        if isinstance(at, int):
            if not thing:
                thing.append({"name": "main"})
            if last:
                thing[at] = value
            thing = thing[at]
        else:
            if last:
                thing[at] = value
            else:
                thing = thing.setdefault(at, [] if isinstance(following, int) else {})


def written(path):
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)[1:]


class IgnoredFields(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--overcommit")
        cls.schemas = Schemas(cls.daemon)
        cls.words = words_of_program()

    @classmethod
    def tearDownClass(cls):
        wrong = cls.daemon.close()
        if wrong:
            raise AssertionError("\n".join(wrong))

    def answer(self, kind, body):
        """(status, message, warnings) of a creation that is only tried."""
        status, text, headers = self.request("POST", KINDS[kind] + "?dryRun=All", body)
        return status, json.loads(text).get("message", ""), " ".join(headers)

    def request(self, method, path, body):
        status, text, headers = self.daemon.exchange(method, path, body)
        return status, text, headers.get_all("Warning") or []

    def is_told(self, kind, path, schema):
        """Whether setting it is answered with a warning or an event."""
        heard = []
        for value in self.schemas.candidates(schema):
            body = smallest(kind)
            set_at(body, path, value)
            status, message, warnings = self.answer(kind, body)
            refused = status == 422 and any(f"{written(path[:n])}: Forbidden" in message for n in (len(path), len(path) - 1))
            if f"{written(path)} has no effect here" in warnings or refused:
                return True, heard
            heard.append((value, status, message, warnings))
        return False, heard

    def check(self, kind):
        ignored = 0
        for path, name, schema in self.schemas.walk(self.schemas.of_kind(kind)["properties"]["spec"], ("spec",)):
            text = schema.get("description", "")
            event = EVENT.search(text)
            with self.subTest(path=written(path)):
                if name in UNDONE_DEFAULTS:
                    continue
                if event:
                    self.assertIn(event.group(1), self.words)
                elif IGNORED.search(text) or (name not in self.words and "properties" not in schema):
                    ignored += 1
                    told, heard = self.is_told(kind, path, schema)
                    self.assertTrue(told, f"nothing uses it and nothing is said of it: {heard}")
        return ignored

    def test_pod(self):
        self.assertGreater(self.check("Pod"), 60)

    def test_pytorch_training_job(self):
        self.assertGreater(self.check("PyTorchTrainingJob"), 60)

    def test_mpi_job(self):
        self.assertGreater(self.check("MPIJob"), 60)

    def test_tensorboard(self):
        self.check("TensorBoard")

    def test_what_is_done_anyhow_needs_no_warning(self):
        body = smallest("Pod")
        body["spec"].update(dnsPolicy="ClusterFirst", hostNetwork=True, hostUsers=True, os={"name": "linux"})
        body["spec"]["containers"][0].update(stdin=False, securityContext={"procMount": "Default"})
        status, message, warnings = self.answer("Pod", body)
        self.assertEqual((status, warnings), (201, ""), message)

    def test_kubectl_prints_it(self):
        body = smallest("Pod")
        body["spec"]["hostAliases"] = [{"ip": "127.0.0.1", "hostnames": ["x"]}]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(body, file)
            file.flush()
            done = subprocess.run([str(harness.ROOT / "build/bin/kubectl-1.32"), "create", "--dry-run=server", "-f", file.name],
                                  capture_output=True, text=True, timeout=harness.PATIENCE, env=dict(
                                      self.daemon.environment, KUBECONFIG=os.path.join(self.daemon.folder, "kubeconfig")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Warning: spec.hostAliases has no effect here: ", done.stderr)


if __name__ == "__main__":
    harness.main()

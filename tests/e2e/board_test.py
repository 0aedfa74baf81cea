#!/usr/bin/python3
"""Curves from event files: the same values as TensorBoard's own reader, served to who may see the job, drawn in the
terminal, followed while they grow, and summed up in the job's status."""
import http.client
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import harness

sys.path.insert(0, str(harness.ROOT / "examples/ddp"))
from eventfile import EventWriter  # noqa: E402

VENV = harness.ROOT / "build/venv/bin/python"
CURVES = "/board/api/pytorchtrainingjobs/default/{name}/{what}"

# Writes what the usual writers write; prints what TensorBoard reads: {run: {tag: [[step, time, value]]}}.
WRITE = """
import os, sys
sys.path.insert(0, sys.argv[2])
from eventfile import EventWriter
from torch.utils.tensorboard import SummaryWriter
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.scalar import metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
root = sys.argv[1]
with SummaryWriter(os.path.join(root, "torch/run")) as w:
    for step in range(200):
        w.add_scalar("train/loss", 2.0 / (step + 1), step)
        if step % 10 == 0:
            w.add_scalar("val/accuracy", step / 200, step)
    w.add_scalar("odd", float("nan"), 1)
    w.add_scalar("odd", float("inf"), 2)
    w.add_text("note", "hello **world**", 3)
    w.add_hparams({"lr": 0.1, "model": "small"}, {"hparam/best": 0.5}, run_name=".")
writer = EventFileWriter(os.path.join(root, "tensor"))
for step in range(50):
    value = summary_pb2.Summary.Value(tag="epoch_loss", tensor=tensor_util.make_tensor_proto(step / 7, dtype=float),
                                      metadata=metadata.create_summary_metadata("", "") if step == 0 else None)
    writer.add_event(event_pb2.Event(step=step, wall_time=1e9 + step, summary=summary_pb2.Summary(value=[value])))
writer.close()
first = EventWriter(os.path.join(root, "ours"), purge_step=0)
for step in range(100):
    first.add_scalar("train/loss", 1 + step / 3, step, walltime=2e9 + step)
first.close()
# started again from a checkpoint: what it repeats is superseded
again = EventWriter(os.path.join(root, "ours"), purge_step=60)
os.rename(again.path, again.path + ".later")
for step in range(60, 80):
    again.add_scalar("train/loss", -step, step, walltime=3e9 + step)
again.close()
"""
# Histograms and images in both of their forms; prints what TensorBoard reads of them.
WRITE_MEDIA = """
import json, os, struct, sys, zlib
import numpy as np
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.histogram import metadata as histogram_metadata
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
root = sys.argv[1]
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
png = (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0))
       + chunk(b"IDAT", zlib.compress((b"\\0" + bytes(9)) * 2)) + chunk(b"IEND", b""))
rng = np.random.default_rng(0)
with SummaryWriter(os.path.join(root, "torch")) as w:
    image = lambda tag, data: summary_pb2.Summary(value=[summary_pb2.Summary.Value(
        tag=tag, image=summary_pb2.Summary.Image(height=2, width=3, colorspace=3, encoded_image_string=data))])
    for step in range(100):
        values = rng.normal(step / 10, 1, 1000)
        counts, edges = np.histogram(values, bins=64)  # Debian's add_histogram does not fit its NumPy
        w.add_histogram_raw("weights", values.min(), values.max(), 1000, values.sum(), (values ** 2).sum(),
                            edges[1:].tolist(), counts.tolist(), step)
    for step in range(40):
        w.file_writer.add_summary(image("sample", png), step)
    w.file_writer.add_summary(image("evil", b"<svg onload='alert(1)'>" + bytes(64)), 1)
writer = EventFileWriter(os.path.join(root, "tensor"))
def put(step, tag, tensor, metadata):
    value = summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)
    writer.add_event(event_pb2.Event(step=step, wall_time=1e9 + step, summary=summary_pb2.Summary(value=[value])))
for step in range(3):
    counts, edges = np.histogram(rng.normal(0, step + 1, 500), bins=30)
    triples = np.stack([edges[:-1], edges[1:], counts], 1)
    put(step, "kernel", tensor_util.make_tensor_proto(triples, dtype=np.float64), histogram_metadata.create_summary_metadata("", ""))
put(1, "pair", tensor_util.make_tensor_proto([b"3", b"2", png, png]), image_metadata.create_summary_metadata("", ""))
writer.close()
m = EventMultiplexer(tensor_size_guidance={"histograms": 0}).AddRunsFromDirectory(root)
m.Reload()
found = {}
for run, tag in (("torch", "weights"), ("tensor", "kernel")):
    for e in m.Tensors(run, tag):
        left, right, count = tensor_util.make_ndarray(e.tensor_proto).T
        middle = (left[0] + right[-1]) / 2
        found.setdefault(run + ":" + tag, {})[e.step] = {"count": count.sum(), "min": left[0], "max": right[-1],
                                                         "lower": count[right <= middle].sum()}
print(json.dumps({"histograms": found, "png": png.hex()}, default=float))
"""
READ = """
import json, sys
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer as Plugins
from tensorboard.util import tensor_util
m = Plugins(tensor_size_guidance={"scalars": 0}).AddRunsFromDirectory(sys.argv[1])
m.Reload()
found = {}
for run, tags in m.Runs().items():
    for tag in tags["tensors"]:
        if m.SummaryMetadata(run, tag).plugin_data.plugin_name == "scalars":
            found.setdefault(run, {})[tag] = [[e.step, e.wall_time, tensor_util.make_ndarray(e.tensor_proto).item()]
                                              for e in m.Tensors(run, tag)]
print(json.dumps(found))
"""


def in_venv(script, *arguments):
    done = subprocess.run([VENV, "-c", script, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    return done.stdout


def same(a, b):
    return a == b or (a != a and b != b)


class Board(harness.DaemonTest):
    def setUp(self):
        self.logs = pathlib.Path(tempfile.mkdtemp(prefix="muster-logs-"))
        self.addCleanup(shutil.rmtree, self.logs, True)

    def ask(self, name, what, expect=200, headers=None):
        status, body = self.daemon.request("GET", CURVES.format(name=name, what=what), headers=headers)
        self.assertEqual(status, expect, body[:2000])
        return body

    def create(self, name, command=("true",), annotations=None, **spec):
        what = harness.job(name, list(command), replicas=1)
        what["metadata"]["annotations"] = annotations if annotations is not None else {
            "muster.dev/log-dir": str(self.logs)}
        what["spec"].update(spec)
        return self.daemon.create(what)

    def binary(self, name, run, tag):
        body = self.ask(name, f"points.bin?run={run}&tag={tag}")
        magic, count = struct.unpack_from("<4sI", body)
        self.assertEqual((magic, len(body)), (b"MBP1", 16 + 24 * count))
        columns = [struct.unpack_from(f"<{count}{kind}", body, 16 + 8 * count * i) for i, kind in enumerate("qdd")]
        return [list(point) for point in zip(*columns)]

    def test_values_are_those_of_tensorboard(self):
        in_venv(WRITE, self.logs, harness.ROOT / "examples/ddp")
        expected = json.loads(in_venv(READ, self.logs))
        self.assertEqual(len(expected["torch/run"]["train/loss"]), 200)
        self.assertEqual(len(expected["ours"]["train/loss"]), 80)
        self.create("same")
        tags = json.loads(self.ask("same", "tags"))["tags"]
        scalars = {(t["run"], t["tag"]) for t in tags if t["kind"] == "scalar"}
        self.assertEqual(scalars, {(run, tag) for run, tags in expected.items() for tag in tags})
        for run, tag in scalars:
            ours = self.binary("same", run, tag)
            self.assertEqual(len(ours), len(expected[run][tag]), (run, tag))
            for a, b in zip(ours, expected[run][tag]):
                self.assertTrue(all(map(same, a, b)), (run, tag, a, b))
        texts = json.loads(self.ask("same", "texts?run=torch/run&tag=note/text_summary"))["samples"]
        self.assertEqual([(one["step"], one["text"]) for one in texts], [(3, "hello **world**")])
        runs = {run["name"]: run for run in json.loads(self.ask("same", "runs"))["runs"]}
        self.assertEqual(runs["torch/run"]["hparams"], {"lr": "0.1", "model": "small"})
        thin = json.loads(self.ask("same", "points?run=torch/run&tag=train/loss&width=10&from=50&to=149"))["series"][0]
        self.assertEqual((thin["step"][0], thin["step"][-1]), (50, 149))
        self.assertLess(len(thin["step"]), 25)

    def test_histograms_and_images_are_those_of_tensorboard(self):
        expected = json.loads(in_venv(WRITE_MEDIA, self.logs))
        self.create("media")
        for tag, steps in expected["histograms"].items():
            run, tag = tag.split(":")
            ours = {one["step"]: one for one in json.loads(
                self.ask("media", f"histograms?run={run}&tag={tag}"))["samples"]}
            self.assertLessEqual(len(ours), 32)
            self.assertIn(0, ours)
            self.assertIn(max(map(int, steps)), ours)
            for step, one in ours.items():
                theirs = steps[str(step)]
                self.assertEqual(one["count"], theirs["count"])
                self.assertAlmostEqual(sum(one["bins"]), theirs["count"], delta=0.01)
                self.assertAlmostEqual(one["min"], theirs["min"], places=6)
                self.assertAlmostEqual(one["max"], theirs["max"], places=6)
                self.assertAlmostEqual(sum(one["bins"][:20]), theirs["lower"], delta=theirs["count"] / 15)
        images = json.loads(self.ask("media", "images?run=torch&tag=sample"))["samples"]
        self.assertEqual([one["step"] for one in images], list(range(39, 7, -1)))
        self.assertEqual((images[0]["width"], images[0]["height"], images[0]["type"]), (3, 2, "image/png"))
        status, body, headers = self.raw("media", "image?run=torch&tag=sample&step=39")
        self.assertEqual((status, body.hex()), (200, expected["png"]))
        self.assertEqual((headers["Content-Type"], headers["X-Content-Type-Options"]), ("image/png", "nosniff"))
        self.assertEqual(headers["Content-Security-Policy"], "default-src 'none'; sandbox")
        self.assertEqual(json.loads(self.ask("media", "images?run=torch&tag=evil"))["samples"], [])
        self.ask("media", "image?run=torch&tag=evil&step=1", expect=404)
        self.ask("media", "image?run=torch&tag=sample&step=1", expect=404)
        self.assertIn(b"no histogram tag", self.ask("media", "histograms?run=torch&tag=sample", expect=404))
        self.assertIn(b"name one", self.ask("media", "images?run=torch", expect=400))
        pair = json.loads(self.ask("media", "images?run=tensor&tag=pair"))["samples"]
        self.assertEqual([(one["step"], one["index"]) for one in pair], [(1, 0), (1, 1)])
        self.assertEqual(self.raw("media", "image?run=tensor&tag=pair&step=1&index=1")[1].hex(), expected["png"])

    def raw(self, name, what):
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", CURVES.format(name=name, what=what),
                           headers={"Authorization": "Bearer " + self.daemon.token})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers

    def frames(self, names, what, headers=None):
        body, found, at = self.ask(names, what, headers=headers), [], 0
        while at < len(body):
            status, length = struct.unpack_from("<II", body, at)
            found.append((status, body[at + 8:at + 8 + length]))
            at += 8 + (length + 7) // 8 * 8
        self.assertEqual(at, len(body))
        return found

    def test_several_jobs_in_one_request(self):
        in_venv(WRITE, self.logs, harness.ROOT / "examples/ddp")
        for name in ("one", "two"):
            self.create(name)
        found = self.frames("one,nobody,two", "tags")
        self.assertEqual([status for status, _ in found], [200, 404, 200])
        self.assertEqual(found[0][1], found[2][1])
        self.assertEqual(found[0][1], self.ask("one", "tags"))
        self.assertIn(b"nobody", found[1][1])
        lines = dict(enumerate(self.frames("one,two", "lines.bin?tag=train/loss")))
        self.assertEqual(lines[0], lines[1])
        body, at, seen = lines[1][1], 0, {}
        while at < len(body):
            names, count = struct.unpack_from("<II", body, at)
            name = json.loads(body[at + 8:at + 8 + names])
            at += 8 + (names + 7) // 8 * 8
            columns = [struct.unpack_from(f"<{count}d", body, at + 8 * count * i) for i in range(3)]
            seen[name["run"]] = [list(point) for point in zip(*columns)]
            at += 24 * count
        self.assertEqual(sorted(seen), ["ours", "torch/run"])
        for run, points in seen.items():
            self.assertEqual(points, self.binary("two", run, "train/loss"))
        self.assertIn(b"one job at a time", self.ask("one,two", "live", expect=400))
        self.ask(",".join(["one"] * 65), "tags", expect=429)
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "stranger"}})
        token = self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts/stranger/token",
                                 {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        stranger = {"Authorization": "Bearer " + token["status"]["token"]}
        self.assertEqual([status for status, _ in self.frames("one,two", "tags", stranger)], [403, 403])

    def test_claims_are_not_left(self):
        claims = "/api/v1/namespaces/default/persistentvolumeclaims"
        self.daemon.call("POST", claims, {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "logs"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
        inside = pathlib.Path(self.daemon.wait_for(
            claims, lambda found: found["logs"]["metadata"].get("annotations", {}).get("muster.dev/path"),
            "the claim's folder"))
        outside = self.logs / "outside"
        in_venv("""
import sys
sys.path.insert(0, sys.argv[1])
from eventfile import EventWriter
for folder in sys.argv[2:]:
    w = EventWriter(folder)
    w.add_scalar("loss", 1.5, 1)
    w.close()
""", harness.ROOT / "examples/ddp", inside / "log", outside)
        (inside / "log" / "link").symlink_to(outside)
        (inside / "link").symlink_to(outside)
        for name, path in (("good", "log"), ("linked", "link"), ("other", None)):
            fileset = f"t9k://pvc/logs/{path}" if path else "t9k://pvc/nothing/log"
            # Suspended: TensorBoard's pod would make the claim that is not there.
            self.create(name, annotations={}, tensorboardSpec={"trainingLogFilesets": [fileset], "suspend": True})
        self.assertEqual([run["name"] for run in json.loads(self.ask("good", "runs"))["runs"]], ["."])
        self.ask("linked", "runs", expect=403)
        with self.assertRaisesRegex(AssertionError, "gave 422.*trainingLogFilesets.0.*must not contain"):
            self.create("up", annotations={}, tensorboardSpec={"trainingLogFilesets": ["t9k://pvc/logs/../outside"]})
        self.assertIn(b"nothing", self.ask("other", "runs"))

    def test_only_who_may_get_the_job(self):
        self.create("mine")
        path = CURVES.format(name="mine", what="runs")
        self.assertEqual(self.daemon.request("GET", path, headers={"Authorization": "Bearer x"})[0], 401)
        self.assertEqual(self.daemon.request("POST", path, body={})[0], 405)
        self.assertEqual(self.daemon.request("GET", path, headers={"Origin": "http://evil.example"})[0], 403)
        self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "guest"}})
        token = self.daemon.call("POST", "/api/v1/namespaces/default/serviceaccounts/guest/token",
                                 {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        guest = {"Authorization": "Bearer " + token["status"]["token"]}
        self.assertIn(b"may not", self.ask("mine", "runs", expect=403, headers=guest))
        self.ask("mine", "runs")
        self.ask("nobody", "runs", expect=404)
        self.ask("mine", "nothing", expect=404)
        self.ask("mine", "points?width=no", expect=400)

    def test_a_running_job_is_followed(self):
        """The program writes a step for every line it is given, so that the test says when."""
        steps = self.logs / "steps"
        os.mkfifo(steps)
        program = f"""
import sys
sys.path.insert(0, {str(harness.ROOT / "examples/ddp")!r})
from eventfile import EventWriter
w = EventWriter("run")
for line in open("steps"):
    step = int(line)
    w.add_scalar("train/loss", 10 / step, step)
    w.flush()
    print(f"Epoch 1/2 step {{step}}/10 loss 99", flush=True)
print("Epoch 2/2 done", flush=True)
"""
        what = harness.job("live", ["/usr/bin/python3", "-c", program], replicas=1)
        what["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["workingDir"] = str(self.logs)
        self.daemon.create(what)
        pen = open(steps, "w", buffering=1)  # opens when the program has
        pen.write("1\n")
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        connection.request("GET", CURVES.format(name="live", what="live"),
                           headers={"Authorization": f"Bearer {self.daemon.token}"})
        stream = connection.getresponse()
        self.assertEqual(stream.headers["Content-Type"], "text/event-stream")

        def next_points():
            for line in stream:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
            self.fail("the stream ended")
        seen = next_points()
        self.assertEqual((seen["run"], seen["tag"], seen["step"], seen["value"]), ("run", "train/loss", [1], [10]))
        pen.write("2\n")
        seen = next_points()
        self.assertEqual((seen["whole"], seen["step"], seen["value"]), (False, [2], [5]))
        connection.close()
        pen.write("5\n")
        status = self.daemon.wait_for(
            harness.JOBS.format(ns="default"),
            lambda jobs: jobs["live"]["status"] if {"step": 5, "fraction": 0.25, "loss": 2}.items() <=
            jobs["live"]["status"].get("progress", {}).items() else None,
            "progress at step 5, half of the first of two epochs, with the loss of the event file, not the one printed; "
            "they may be of several looks")
        self.assertEqual(status["phase"], "Running")
        listed = self.daemon.cli("ps").stdout
        self.assertRegex(listed, r"PROGRESS")
        self.assertRegex(listed, r"live .* 25%, .*loss 2")
        pen.close()
        self.daemon.wait_phase("live", "Succeeded")
        progress = self.daemon.wait_for(
            harness.JOBS.format(ns="default"),
            lambda jobs: jobs["live"]["status"]["progress"] if jobs["live"]["status"]["progress"].get("fraction") == 1
            else None, "the last word on progress")
        self.assertNotIn("secondsLeft", progress)
        self.assertNotIn("stepsPerSecond", progress)
        self.check_commands()

    def test_progress_is_of_this_job_only(self):
        """The folder it names holds the curves of an earlier one, which are shown and are not its progress."""
        earlier = EventWriter(str(self.logs / "run"))
        earlier.add_scalar("train/loss", 1.722, 125)
        earlier.close()
        os.rename(earlier.path, self.logs / "run/events.out.tfevents.1700000000.elsewhere.1.0")
        self.create("quiet", ["sh", "-c", "echo Epoch 1/2; exec sleep 1000"])
        progress = self.daemon.wait_for(harness.JOBS.format(ns="default"),
                                        lambda jobs: jobs["quiet"].get("status", {}).get("progress"), "its progress")
        self.assertEqual((progress.get("step"), progress.get("loss")), (None, None), progress)
        self.assertEqual(self.binary("quiet", "run", "train/loss")[0][0], 125)
        self.daemon.call("DELETE", f"{harness.JOBS.format(ns='default')}/quiet", expect=(200, 202))

    def test_progress_is_of_no_other_program(self):
        """One that writes into the folder while the job runs, under this machine's name."""
        self.create("sleeps", ["sh", "-c", "uname -n; echo Epoch 1/2; exec sleep 1000"])
        other = EventWriter(str(self.logs / "run"))
        other.add_scalar("train/loss", 49, 490)
        other.close()
        progress = self.daemon.wait_for(harness.JOBS.format(ns="default"),
                                        lambda jobs: jobs["sleeps"].get("status", {}).get("progress"), "its progress")
        if socket.gethostname() in self.daemon.cli("logs", "sleeps").stdout.split():
            self.skipTest("pods have this machine's name")
        self.assertEqual((progress.get("step"), progress.get("loss")), (None, None), progress)
        self.assertEqual(self.binary("sleeps", "run", "train/loss")[0][0], 490)
        self.daemon.call("DELETE", f"{harness.JOBS.format(ns='default')}/sleeps", expect=(200, 202))

    def check_commands(self):
        drawn = self.daemon.cli("board", "live")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertRegex(drawn.stdout, r"(?m)^train/loss$")
        self.assertRegex(drawn.stdout, r"(?m)^ +10 │[\u2800-\u28ff]")
        self.assertRegex(drawn.stdout, r"run  2 at step 5")
        self.assertNotIn("\x1b", drawn.stdout)
        self.assertIn("\x1b[", self.daemon.cli("--color=always", "board", "live").stdout)
        csv = self.daemon.cli("board", "live", "--csv").stdout.splitlines()
        self.assertEqual((csv[0], len(csv)), ("run,tag,step,wall_time,value", 4))
        self.assertEqual(json.loads(self.daemon.cli("board", "live", "--json").stdout)["series"][0]["step"], [1, 2, 5])
        self.assertIn("no scalars named like 'accuracy'", self.daemon.cli("board", "live", "--tag", "accuracy").stderr)
        self.assertEqual(self.daemon.cli("board", "live", "--follow").stdout.count("train/loss"), 1)
        address = self.daemon.cli("board", "live", "--open", environment={"BROWSER": "true"}).stdout.strip()
        self.assertEqual(address, f"http://127.0.0.1:{self.daemon.port}/jobs/default/PyTorchTrainingJob/live/training")
        self.assertEqual(self.daemon.cli("board", "nobody").returncode, 5)


if __name__ == "__main__":
    harness.main()

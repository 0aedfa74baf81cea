#!/usr/bin/python3
"""What happens to the data folder: garbage in the database, files that are gone, a disk that is full, a daemon that is
started anew under its watchers."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MEGABYTE = 1 << 20


def config_map(name, text, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"text": text}}


class Storage(unittest.TestCase):
    options = ("--only", "api")

    def setUp(self):
        self.daemon = harness.Daemon(*self.options)
        self.addCleanup(self.check_closed)

    def check_closed(self):
        self.assertEqual(self.daemon.close(), [])

    def put(self, name, text, method="POST", expect=(200, 201), **metadata):
        path = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/{name}"
        return self.daemon.call(method, path, config_map(name, text, **metadata), expect)

    def names(self):
        return [item["metadata"]["name"] for item in self.daemon.list(CONFIG_MAPS)]

    def file(self, name):
        return pathlib.Path(self.daemon.data, name)

    def garble(self, text):
        """Writes over the text wherever it stands in the database; the daemon is stopped and started."""
        self.daemon.terminate()
        self.garble_file(text)
        self.daemon.start()

    def garble_file(self, text):
        content = self.file("muster.db").read_bytes()
        self.assertIn(text.encode(), content)
        self.file("muster.db").write_bytes(content.replace(text.encode(), b"#" * len(text)))

    def edit(self, *changes):
        """Damages rows: SQL that must change something, while the daemon is stopped."""
        self.daemon.terminate()
        with contextlib.closing(sqlite3.connect(self.file("muster.db"))) as database:
            for change in changes:
                self.assertNotEqual(database.execute(change).rowcount, 0, change)
            database.commit()
        self.daemon.start()

    def refused(self):
        """What `muster up` says when it does not start."""
        done = self.daemon.cli("up", "--listen", "127.0.0.1:0", *self.options, timeout=harness.PATIENCE)
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr


class Damage(Storage):
    def test_a_damaged_object_is_named_and_the_others_are_served(self):
        self.put("whole", "left alone")
        self.put("hurt", "as it was at first")
        self.put("hurt", "as it was at last", "PUT")
        self.garble("as it was at last")
        self.assertEqual(self.names(), ["whole"])
        status, text = self.daemon.request("GET", f"{CONFIG_MAPS}/hurt")
        self.assertEqual(status, 500, text)
        self.assertIn(b"damaged", text)
        self.assertIn("/configmaps default/hurt is damaged", self.daemon.output())
        status, text = self.daemon.request("GET", "/readyz/storage")
        self.assertEqual((status, b"/configmaps default/hurt" in text), (500, True), text)
        self.assertEqual(self.daemon.request("GET", "/readyz")[0], 200)
        self.daemon.call("DELETE", f"{CONFIG_MAPS}/hurt")
        self.assertEqual(self.daemon.request("GET", "/readyz/storage"), (200, b"ok"))
        self.put("hurt", "made anew")
        self.assertEqual(self.names(), ["hurt", "whole"])

    def test_a_detached_daemon_names_it_in_its_log(self):
        self.put("hurt", "as it was at last")
        self.daemon.terminate()
        for garbled in (False, True):  # the first leaves a log
            if garbled:
                self.garble_file("as it was at last")
            up = self.daemon.cli("up", "--detach", "--listen", "127.0.0.1:0", *self.options)
            self.assertEqual(self.daemon.cli("down").returncode, 0)
            self.assertEqual(up.returncode, 0, up.stderr)
            for text in (up.stdout + up.stderr, self.file("muster.log").read_text()):
                self.assertEqual("/configmaps default/hurt is damaged" in text, garbled, text)
        self.daemon.start()

    def test_names_of_damaged_objects_are_the_owners(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/readyz/storage")
        self.assertEqual(connection.getresponse().status, 401)


    def test_standard_objects_are_withheld_and_not_made_anew(self):
        role, namespace = "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit", "/api/v1/namespaces/default"
        merge = {"content_type": "application/merge-patch+json"}
        self.daemon.call("PATCH", role, {"rules": []}, **merge)
        uid = self.daemon.call("PATCH", namespace, {"metadata": {"annotations": {"muster.dev/uid": "1234"}}}, **merge)[
            "metadata"]["uid"]
        newest = "revision = (SELECT max(revision) FROM writes WHERE collection = '{}' AND key = '{}')"
        names = {role: ("rbac.authorization.k8s.io/clusterroles", "edit"), namespace: ("/namespaces", "default")}
        self.edit(*(f"UPDATE writes SET value = replace(value, 'e', 'f') WHERE {newest.format(*name)}"
                    for name in names.values()))
        status, text = self.daemon.request("GET", "/readyz/storage")
        self.assertEqual(status, 500, text)
        for path, name in names.items():
            self.assertEqual(self.daemon.request("GET", path)[0], 500, path)
            self.assertIn(" ".join(name), text.decode())
        for revision in re.findall(r"revision (\d+)", text.decode())[::-1]:
            self.daemon.call("DELETE", f"/readyz/storage/{revision}")
        made = self.daemon.wait_for("/api/v1/namespaces", lambda found: found.get("default"), "the namespace to be made anew")
        self.assertNotEqual(made["metadata"]["uid"], uid)
        self.assertTrue(self.daemon.call("GET", role)["rules"])

    def test_an_absurd_revision_is_damage(self):
        self.put("one", "x")
        self.put("two", "x")
        before = int(self.put("three", "x")["metadata"]["resourceVersion"])
        for revision in (2**63 - 1, -5, 0):
            self.edit(f"UPDATE writes SET revision = {revision} WHERE key = 'default/two'")
            self.assertEqual(self.names(), ["one", "three"])
            self.assertEqual(self.daemon.request("GET", f"{CONFIG_MAPS}/two")[0], 500)
            self.assertEqual(self.daemon.request("GET", "/readyz/storage")[0], 500)
            after = int(self.put("three", str(revision), "PUT")["metadata"]["resourceVersion"])
            self.assertTrue(before < after < before + 100, after)
        self.daemon.call("DELETE", f"{CONFIG_MAPS}/two")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.names(), ["one", "three"])
        self.assertEqual(self.daemon.request("GET", "/readyz/storage"), (200, b"ok"))


class Rest(Storage):
    def size(self, name):
        return self.file(name).stat().st_size

    def test_file_and_log_give_their_room_back(self):
        for number in range(400):
            self.put(f"large-{number}", str(number) * 20000)
        self.daemon.call("DELETE", CONFIG_MAPS)
        grown = self.size("muster.db")
        harness.wait_until(lambda: self.size("muster.db-wal") <= 3 * MEGABYTE, "the log to be cut")
        self.assertLess(self.size("muster.db"), grown / 2)
        self.put("later", "x")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.names(), ["later"])


class DamagedOwner(Storage):
    options = ()

    def test_what_a_damaged_object_owned_is_not_collected(self):
        owner = self.put("owner", "owner of others")["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}
        self.put("owned", "kept", ownerReferences=[reference])
        self.garble("owner of others")
        gone = {**reference, "name": "nobody", "uid": "0-0-0"}
        self.put("orphan", "to be collected", ownerReferences=[gone])
        self.daemon.wait_for(CONFIG_MAPS, lambda found: "orphan" not in found, "the orphan to be collected")
        self.assertEqual(self.names(), ["owned"])

    def test_an_owner_whose_key_is_damaged_is_withheld_by_the_name_in_its_value(self):
        owner = self.put("keeper-of-it", "owner")["metadata"]["uid"]
        self.put("owned", "kept", ownerReferences=[
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper-of-it", "uid": owner}])
        self.edit("UPDATE writes SET key = 'default/keeper-of-xx' WHERE key = 'default/keeper-of-it'")
        self.assertEqual(self.daemon.request("GET", f"{CONFIG_MAPS}/keeper-of-it")[0], 500)
        self.collect_orphan()
        self.assertEqual(self.names(), ["owned"])

    def collect_orphan(self):
        self.put("orphan", "to be collected", ownerReferences=[
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "0-0-0"}])
        self.daemon.wait_for(CONFIG_MAPS, lambda found: "orphan" not in found, "the orphan to be collected")

    def test_an_owner_whose_collection_is_damaged_is_withheld(self):
        owner = self.put("owner", "owner")["metadata"]["uid"]
        self.put("owned", "kept", ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}])
        self.edit("UPDATE writes SET collection = '/configmbps' WHERE key = 'default/owner'")
        status, text = self.daemon.request("GET", f"{CONFIG_MAPS}/owner")
        self.assertEqual((status, b"is damaged in the database" in text), (500, True), text)
        self.collect_orphan()
        self.assertEqual(self.names(), ["owned"])

    def test_nothing_is_collected_while_it_is_not_known_what_is_damaged(self):
        for damage, known in (("collection = '', key = '', value = ''", ""),
                              ("key = 'default/ownxx', value = 'garbage'", " of /configmaps")):
            with self.subTest(damage):
                owner = self.put("owner", "owner")["metadata"]
                self.put("owned", "kept", ownerReferences=[
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}])
                self.edit(f"UPDATE writes SET {damage} WHERE key = 'default/owner'")
                revision = owner["resourceVersion"]
                harness.wait_until(lambda: "garbage collection of ConfigMap default/owned: it is not known whether configmaps "
                                   '\"owner\" exists' in self.daemon.output(), "the collector to have asked")
                self.assertEqual(self.names(), ["owned"])
                self.assertEqual(self.daemon.request("GET", f"{CONFIG_MAPS}/owner")[0], 500)
                status, text = self.daemon.request("GET", "/readyz/storage")
                self.assertEqual(status, 500)
                self.assertIn(f"an unknown object{known} at revision {revision}", text.decode())
                self.assertIn(f"an unknown object{known} is damaged in the database (revision {revision})",
                              self.daemon.output())
                self.daemon.wait_for("/api/v1/namespaces/default/events", lambda events: any(
                    e["reason"] == "StorageDamaged" and revision in e["message"] for e in events.values()), "the event")
                doctor = self.daemon.cli("doctor").stdout
                self.assertIn(f"kubectl delete --raw /readyz/storage/{revision}", doctor)
                self.daemon.call("DELETE", f"/readyz/storage/{revision}")
                self.daemon.wait_for(CONFIG_MAPS, lambda found: "owned" not in found, "what it owned to be collected")
                self.assertEqual(self.daemon.request("GET", "/readyz/storage"), (200, b"ok"))
                self.daemon.kill()
                self.daemon.start()
                self.assertEqual(self.daemon.request("GET", "/readyz/storage"), (200, b"ok"))
                self.assertEqual(self.daemon.request("GET", f"{CONFIG_MAPS}/owner")[0], 404)
        self.daemon.call("DELETE", "/readyz/storage/1", expect=(404,))


class DamagedJob(Storage):
    options = ("--overcommit",)

    def setUp(self):
        super().setUp()
        self.daemon.create(harness.job("train", ["sleep", "1000"], replicas=1, grace=1))
        ((self.pod, pod),) = self.daemon.wait_running("train", 1).items()
        self.uid = pod["metadata"]["uid"]
        self.running = self.daemon.main_processes(self.uid)
        self.assertEqual(len(self.running), 1)

    def wait_said(self, words):
        """Until the job's status has the words."""
        return self.daemon.wait_for(harness.JOBS.format(ns="default"),
                                    lambda jobs: words in json.dumps(jobs["train"]["status"]), f"the job to say {words!r}")

    def newest(self, collection, key):
        return f"revision = (SELECT max(revision) FROM writes WHERE collection = '{collection}' AND key = '{key}')"

    def remove(self):
        self.daemon.cli("rm", "train")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: not pods, "the pod to be gone")

    def test_training_goes_on_without_its_jobs_collection(self):
        self.edit("DELETE FROM writes WHERE key = 'default/train' AND NOT "
                  + self.newest("batch.tensorstack.dev/pytorchtrainingjobs", "default/train"), "PRAGMA user_version=3",
                  "UPDATE writes SET collection = 'batch.tensorstack.dev/pytorchtrainingjobt' WHERE key = 'default/train'")
        self.assertEqual(self.daemon.request("GET", harness.JOBS.format(ns="default") + "/train")[0], 500)
        # Of all that the job owns, pod, Service and PodGroup, the same is said once.
        harness.wait_until(lambda: re.search("garbage collection of [A-Z][A-Za-z]* default/train", self.daemon.output()),
                           "the collector to have asked")
        self.assertEqual(list(self.daemon.pods("train")), [self.pod])
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        self.daemon.call("DELETE", harness.JOBS.format(ns="default") + "/train")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: not pods, "the pod to be gone")

    def test_training_goes_on_without_its_pods_row(self):
        self.edit(f"UPDATE writes SET value = 'garbage' WHERE {self.newest('/pods', f'default/{self.pod}')}")
        self.wait_said("is damaged in the database")
        harness.wait_until(lambda: f"{self.pod}: cannot be asked for" in self.daemon.output(), "the node to have asked")
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{self.pod}")
        ((_, pod),) = self.daemon.wait_running("train", 1).items()
        self.assertNotEqual(pod["metadata"]["uid"], self.uid)
        for pid in self.running:
            harness.wait_until(lambda: not harness.is_alive(pid), "the old program to be stopped")
        self.remove()

    def test_training_goes_on_while_it_is_not_known_that_its_pod_is_damaged(self):
        newest = self.newest("/pods", f"default/{self.pod}")
        self.edit(f"DELETE FROM writes WHERE key = 'default/{self.pod}' AND collection = '/pods' AND NOT {newest}",
                  "PRAGMA user_version=3",
                  f"UPDATE writes SET key = 'default/x', value = 'garbage' WHERE {newest}")
        self.wait_said("an unknown object is damaged in the database")
        harness.wait_until(lambda: f"{self.pod}: cannot be asked for" in self.daemon.output(), "the node to have asked")
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        revision = re.search(r"at revision (\d+)", self.daemon.request("GET", "/readyz/storage")[1].decode())[1]
        self.daemon.call("DELETE", f"/readyz/storage/{revision}")
        ((_, pod),) = self.daemon.wait_running("train", 1).items()
        self.assertNotEqual(pod["metadata"]["uid"], self.uid)
        self.remove()

    def test_new_work_goes_on_while_a_config_map_is_unknown(self):
        """It might be the scheduler's settings: pods are placed, and none is preempted."""
        self.daemon.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "lost"}})
        self.edit("UPDATE writes SET key = 'default/x', value = '{}' WHERE key = 'default/lost'")
        self.assertIn("an unknown object of /configmaps", self.daemon.request("GET", "/readyz/storage")[1].decode())
        self.daemon.create(harness.job("new", ["sleep", "1000"], replicas=1, grace=1))
        self.daemon.wait_running("new", 1)
        self.assertIn("nothing is preempted until it can", self.daemon.output())
        self.daemon.cli("rm", "new")
        self.remove()

    def test_a_new_pod_says_why_it_waits_for_a_damaged_one(self):
        """Its programs run, and nobody knows with which GPUs and ports."""
        self.edit(f"UPDATE writes SET value = 'garbage' WHERE {self.newest('/pods', f'default/{self.pod}')}")
        self.daemon.create(harness.job("new", ["sleep", "1000"], replicas=1, grace=1))
        self.daemon.wait_for(harness.PODS.format(ns="default"),
                             lambda pods: re.search(f"waits for the programs of pod default/{self.pod}, .*is damaged in the "
                                                    "database .*delete it or create it again", json.dumps(pods)),
                             "the new pod to say why it waits")
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{self.pod}")
        self.daemon.wait_running("new", 1)
        self.daemon.cli("rm", "new")
        self.remove()

    def test_a_pod_whose_revision_is_anothers_predecessor_is_damaged(self):
        """Of a row that was trimmed: it looks like history, and is not."""
        with_history = self.daemon.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        self.daemon.call("PATCH", "/api/v1/namespaces/default/configmaps/a", {"data": {"x": "y"}},
                         content_type="application/merge-patch+json")
        trimmed = with_history["metadata"]["resourceVersion"]
        self.edit(f"DELETE FROM writes WHERE revision = {trimmed}", "PRAGMA user_version=3",
                  f"UPDATE writes SET revision = {trimmed} WHERE {self.newest('/pods', f'default/{self.pod}')}")
        self.wait_said("is damaged in the database")
        self.assertEqual(self.daemon.request("GET", f"{harness.PODS.format(ns='default')}/{self.pod}")[0], 500)
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{self.pod}")
        self.daemon.wait_running("train", 1)
        self.remove()

    def test_a_job_in_a_damaged_namespace_says_why_it_has_no_pods(self):
        self.edit(f"UPDATE writes SET value = 'garbage' WHERE {self.newest('/namespaces', 'default')}")
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        self.daemon.call("DELETE", f"{harness.PODS.format(ns='default')}/{self.pod}")
        self.wait_said('namespaces \\"default\\" is damaged in the database')
        revision = re.search(r"/namespaces default at revision (\d+)", self.daemon.request("GET", "/readyz/storage")[1].decode())
        self.daemon.call("DELETE", f"/readyz/storage/{revision[1]}")
        self.daemon.wait_running("train", 1)
        self.remove()


class Lost(Storage):
    def test_a_lost_database_is_not_a_new_cluster(self):
        self.daemon.terminate()
        database = self.file("muster.db").read_bytes()
        self.file("muster.db").unlink()
        self.assertIn("is missing, but", self.refused())
        self.file("muster.db").write_bytes(b"")
        self.assertIn("restore it from a backup", self.refused())
        self.file("muster.db").write_bytes(database)
        self.daemon.start()

    def test_writes_are_refused_while_the_folder_is_gone(self):
        self.put("before", "x")
        aside = self.daemon.data + "-aside"
        os.rename(self.daemon.data, aside)
        self.put("lost", "x", expect=(503,))
        os.mkdir(self.daemon.data, 0o700)
        self.put("lost", "x", expect=(503,))
        self.assertEqual(self.names(), ["before"])
        os.rmdir(self.daemon.data)
        os.rename(aside, self.daemon.data)
        self.put("after", "x")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.names(), ["after", "before"])

    def test_a_database_others_could_read_is_private_again(self):
        self.daemon.terminate()
        self.file("muster.db").chmod(0o644)
        self.daemon.start()
        self.assertEqual(self.file("muster.db").stat().st_mode & 0o777, 0o600)
        self.assertIn("could be read by others (mode 644)", self.daemon.output())


class Restart(Storage):
    def test_a_watch_goes_on_after_a_restart(self):
        version = self.put("a", "1")["metadata"]["resourceVersion"]
        self.put("a", "2", "PUT")
        self.put("b", "1")
        self.daemon.call("DELETE", f"{CONFIG_MAPS}/b")
        for stop in (self.daemon.terminate, self.daemon.kill):
            stop()
            self.daemon.start()
            path = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1&resourceVersion={version}"
            events = [json.loads(line) for line in self.daemon.request("GET", path)[1].splitlines()]
            self.assertEqual([(e["type"], e["object"].get("data", {}).get("text")) for e in events],
                             [("MODIFIED", "2"), ("ADDED", "1"), ("DELETED", "1")])


    def test_a_watch_from_a_later_database_lists_again(self):
        """What the client saw is not in this one, and its number will be another write's."""
        later = int(self.put("a", "1")["metadata"]["resourceVersion"]) + 1000
        for query in ("", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"):
            path = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1&resourceVersion={later}{query}"
            (event,) = [json.loads(line) for line in self.daemon.request("GET", path)[1].splitlines()]
            self.assertEqual((event["type"], event["object"]["code"], event["object"]["reason"]), ("ERROR", 410, "Expired"))


class Restored(Storage):
    """The database is older than what runs: from a backup, or its log is lost."""
    options = ("--overcommit",)

    def setUp(self):
        super().setUp()
        self.daemon.terminate()
        self.backup = self.file("muster.db").read_bytes()
        self.daemon.start()
        self.daemon.create(harness.job("train", ["sleep", "1000"], replicas=1, grace=1))
        ((self.pod, pod),) = self.daemon.wait_running("train", 1).items()
        self.uid = pod["metadata"]["uid"]
        self.revision = int(pod["metadata"]["resourceVersion"])
        self.running = self.daemon.main_processes(self.uid)
        self.assertEqual(len(self.running), 1)
        self.times_told = 0

    def restore(self):
        self.daemon.terminate()
        self.file("muster.db").write_bytes(self.backup)
        self.file("muster.db-wal").unlink(missing_ok=True)
        self.daemon.start()

    def wait_told(self):
        """The process that ends the pod, from what the log says at this start."""
        said = f"pod default/{self.pod} runs, but the database is older .*'kill ([0-9]+)' ends it"
        self.times_told += 1
        harness.wait_until(lambda: len(re.findall(said, self.daemon.output())) == self.times_told, "the pod to be named")
        return int(re.findall(said, self.daemon.output())[-1])

    def test_training_begun_after_the_backup_goes_on(self):
        self.restore()
        self.wait_told()
        self.daemon.create(harness.job("new", ["sleep", "1000"], replicas=1, grace=1))
        pods = harness.PODS.format(ns="default")
        self.daemon.wait_for(pods, lambda found: f"waits for the programs of pod default/{self.pod}, " in json.dumps(found),
                             "the new pod to say why it waits")
        while int(self.put("filler", "x")["metadata"]["resourceVersion"]) <= self.revision:
            self.daemon.call("DELETE", f"{CONFIG_MAPS}/filler")
        self.daemon.kill()
        self.daemon.start()  # the number of its newest write proves nothing any more
        process = self.wait_told()
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        os.kill(process, signal.SIGTERM)
        self.daemon.wait_running("new", 1)
        self.assertEqual(self.daemon.main_processes(self.uid), {})
        harness.wait_until(lambda: not self.file(f"pods/{self.uid}").exists(), "its folder to be gone")
        self.daemon.cli("rm", "new")
        self.daemon.wait_for(pods, lambda found: not found, "the pods to be gone")

    def test_a_pod_that_is_known_again_ends_when_it_is_deleted(self):
        self.daemon.terminate()
        newer = self.file("muster.db").read_bytes()
        self.daemon.start()
        self.restore()
        self.wait_told()
        self.backup = newer
        self.restore()
        self.daemon.wait_running("train", 1)
        self.assertEqual(self.daemon.main_processes(self.uid), self.running)
        self.daemon.terminate()
        self.forget_pod()
        self.daemon.start()
        for pid in self.running:
            harness.wait_until(lambda: not harness.is_alive(pid), "the old program to be stopped")
        self.assertIn(f"pod default/{self.pod} is ended: the API does not know it", self.daemon.output())
        self.daemon.cli("rm", "train")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: not pods, "the pods to be gone")

    def forget_pod(self):
        """As if it had been deleted by a daemon that was killed before it ended the pod's programs."""
        with contextlib.closing(sqlite3.connect(self.file("muster.db"))) as database:
            database.execute(f"DELETE FROM writes WHERE collection = '/pods' AND key = 'default/{self.pod}'")
            database.execute("PRAGMA user_version=3")
            database.commit()


@unittest.skipUnless(os.geteuid() == 0, "a file system of its own needs root")
class FullDisk(Storage):
    options = ()

    def setUp(self):
        self.disk = tempfile.mkdtemp(prefix="muster-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={24 * MEGABYTE},mode=0700", "none", self.disk], check=True)
        self.addCleanup(os.rmdir, self.disk)
        self.addCleanup(subprocess.run, ["umount", self.disk], check=True)
        before, tempfile.tempdir = tempfile.tempdir, self.disk
        try:
            super().setUp()
        finally:
            tempfile.tempdir = before

    def fill(self):
        """As a program does that writes until it cannot: whatever becomes free is taken at once."""
        with open(os.path.join(self.disk, "filler"), "ab", buffering=0) as file:
            for size in (MEGABYTE, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def fill_all(self):
        """And nothing new is taken any more."""
        for number in range(10000):
            self.fill()
            status, text = self.daemon.request("POST", CONFIG_MAPS, config_map(f"more-{number}", "x" * 20000))
            if status == 503:
                self.assertIn(b"full", text)
                return
        self.fail("the disk does not become full")

    def test_deletes_succeed_and_the_daemon_starts(self):
        self.daemon.create(harness.job("train", ["sleep", "1000"], replicas=1, grace=1))
        self.daemon.wait_running("train", 1)
        for number in range(40):
            self.put(f"c-{number}", "x" * 1000)
        self.fill_all()
        for number in range(20):
            self.fill()
            self.daemon.call("DELETE", f"{CONFIG_MAPS}/c-{number}")
        self.daemon.kill()
        self.fill()
        self.daemon.start()
        self.assertNotIn("c-0", self.names())
        for number in range(20, 40):
            self.fill()
            self.daemon.call("DELETE", f"{CONFIG_MAPS}/c-{number}")
        self.daemon.terminate()
        self.fill()
        self.daemon.start()
        self.daemon.call("DELETE", f"{harness.JOBS.format(ns='default')}/train")
        self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: not pods, "the pod to be gone")
        os.unlink(os.path.join(self.disk, "filler"))
        while self.daemon.request("POST", CONFIG_MAPS, config_map("room", "again"))[0] == 503:
            pass
        self.assertIn("room", self.names())

    def test_a_log_that_ends_on_the_full_disk_says_what_it_lacks(self):
        with tempfile.TemporaryDirectory(prefix="muster-flag-", dir="/tmp") as folder:
            flag = os.path.join(folder, "go")
            self.daemon.create(harness.job("train", self.writer(flag, 7), replicas=1))
            (name,) = self.daemon.wait_running("train", 1)
            self.fill_all()
            self.fill()
            pathlib.Path(flag).touch()
            self.daemon.wait_for(harness.PODS.format(ns="default"), lambda pods: pods[name]["status"]["phase"] == "Failed",
                                 "the pod to end")
        self.check_marked(name)
        os.unlink(os.path.join(self.disk, "filler"))

    def writer(self, flag, code):
        """A program that writes 400 lines once the flag is there; when it is started again it writes none."""
        return [sys.executable, "-c", f"""import os, sys, time
while not os.path.exists({flag!r}): time.sleep(0.05)
for i in range(0 if os.environ.get("AGAIN") and os.path.exists({flag + "-again"!r}) else 400):
    os.write(1, b"line %d\\n" % i)  # each a write of its own, until nothing fits any more
    time.sleep(0.002)
if os.environ.get("AGAIN"):
    if os.path.exists({flag + "-again"!r}): time.sleep(1000)
    open({flag + "-again"!r}, "w").close()
sys.exit({code})"""]

    def check_marked(self, pod, query=""):
        *lines, last = self.daemon.log(pod, query=query).splitlines()
        lost = re.fullmatch(r"\[muster: (\d+) bytes of this log could not be written here\]", last)
        self.assertTrue(lost, (pod, query, last))
        self.assertEqual(int(lost[1]), sum(len(f"line {i}\n") for i in range(400))
                         - sum(len(line) + 1 for line in lines if line.startswith("line ")))

    def test_every_log_that_ends_on_the_full_disk_says_what_it_lacks(self):
        pods = harness.PODS.format(ns="default")
        with tempfile.TemporaryDirectory(prefix="muster-flag-", dir="/tmp") as folder:
            os.chmod(folder, 0o777)
            flag = os.path.join(folder, "go")

            def container(name, code, **more):
                return {"name": name, "image": "none", "command": self.writer(flag, code), **more}

            def make(name, policy, containers, **more):
                self.daemon.call("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
                    "restartPolicy": policy, "terminationGracePeriodSeconds": 0, "containers": containers, **more}})

            def first_state(pod, which):
                return pod["status"].get(which, [{}])[0].get("state", {})

            make("several", "Never", [container(name, 7) for name in "abc"])
            make("init", "Never", [{"name": "main", "image": "none", "command": ["true"]}],
                 initContainers=[container("first", 0)])
            make("again", "OnFailure", [container("c", 7, env=[{"name": "AGAIN", "value": "1"}])])
            self.daemon.wait_for(pods, lambda found: found["several"]["status"]["phase"] == "Running"
                                 and found["again"]["status"]["phase"] == "Running"
                                 and "running" in first_state(found["init"], "initContainerStatuses"), "the pods to run")
            self.fill_all()
            self.fill()
            pathlib.Path(flag).touch()
            self.daemon.wait_for(pods, lambda found: found["several"]["status"]["phase"] == "Failed"
                                 and "terminated" in first_state(found["init"], "initContainerStatuses")
                                 and found["again"]["status"]["containerStatuses"][0]["restartCount"] > 0, "them to end")
            for name in "abc":
                self.check_marked("several", f"?container={name}")
            self.check_marked("init", "?container=first")
            self.check_marked("again", "?previous=true")
        os.unlink(os.path.join(self.disk, "filler"))
        self.daemon.call("DELETE", f"{pods}/again")
        self.daemon.wait_for(pods, lambda found: "again" not in found, "the pod to be gone")

    def test_what_is_there_may_grow(self):
        self.put("small", "x")
        self.fill_all()
        for size in range(1000, 50000, 1000):
            self.fill()
            self.put("small", "x" * size, "PUT")
        self.daemon.kill()
        self.fill()
        self.daemon.start()
        self.put("small", "x" * 60000, "PUT")
        os.unlink(os.path.join(self.disk, "filler"))


if __name__ == "__main__":
    harness.main()

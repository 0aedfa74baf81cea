#!/usr/bin/python3
"""A data folder of every release: this build starts on it, serves what was in it and goes on with it.

tests/e2e/releases/VERSION.sql is a release's database as text, made by `upgrade_test.py --record` with that release's
binary: a job that succeeded, a paused one, a queue, a Secret and a ConfigMap.
"""
import pathlib
import re
import sqlite3
import sys
import unittest

import harness
from harness import job

RELEASES = pathlib.Path(__file__).with_name("releases")


def record():
    """Writes the running build's own database."""
    daemon = harness.Daemon("--node-name", "machine")
    daemon.create(job("done", ["echo", "hi"], replicas=2))
    daemon.wait_phase("done", "Succeeded")
    paused = job("paused", ["echo", "at last"], replicas=1)
    paused["spec"]["runMode"] = {"pause": {"enabled": True}}
    daemon.create(paused)
    daemon.wait_phase("paused", "Paused")
    daemon.cli("queue", "create", "night", "--quota", "cpu=8", "--priority", "10")
    for kind, data in (("secrets", {"stringData": {"k": "v"}}), ("configmaps", {"data": {"k": "v"}})):
        daemon.call("POST", f"/api/v1/namespaces/default/{kind}", {"metadata": {"name": "kept"}, **data}, expect=(201,))
    version = daemon.cli("version").stdout.split()[1]
    daemon.terminate()
    database = sqlite3.connect(pathlib.Path(daemon.data, "muster.db"))
    lines = [f"PRAGMA {name}={database.execute(f'PRAGMA {name}').fetchone()[0]};" for name in ("application_id", "user_version")]
    RELEASES.mkdir(exist_ok=True)
    (RELEASES / f"{version}.sql").write_text("\n".join([*lines, *database.iterdump(), ""]))
    daemon.close()


class Upgrade(unittest.TestCase):
    def follow(self, path):
        daemon = harness.Daemon("--node-name", "machine", start=False)
        self.addCleanup(lambda: self.assertEqual(daemon.close(), []))
        database = sqlite3.connect(pathlib.Path(daemon.data, "muster.db"))
        database.executescript(path.read_text())
        database.close()
        daemon.start()
        self.assertEqual(daemon.get_job("done")["status"]["phase"], "Succeeded")
        self.assertEqual(daemon.get_job("paused")["status"]["phase"], "Paused")
        self.assertIn("night", daemon.cli("queue").stdout)
        for kind in ("secrets", "configmaps"):
            kept = daemon.call("GET", f"/api/v1/namespaces/default/{kind}/kept")
            self.assertEqual(kept["data"], {"k": "dg==" if kind == "secrets" else "v"})
        self.assertEqual(daemon.cli("resume", "paused").returncode, 0)
        daemon.wait_phase("paused", "Succeeded")
        self.assertEqual(daemon.cli("run", "--name", "new", "--", "true").returncode, 0)

    def test_this_version_has_its_data(self):
        version = re.search(r'"(.*)"', (harness.ROOT / "src/base/version.h").read_text())[1]
        self.assertTrue((RELEASES / f"{version}.sql").is_file(), "run upgrade_test.py --record before a release")


for name in sorted(RELEASES.glob("*.sql")):
    setattr(Upgrade, "test_" + re.sub(r"\W", "_", name.stem), lambda self, path=name: self.follow(path))

if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    else:
        harness.main()

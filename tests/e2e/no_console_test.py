#!/usr/bin/python3
"""CONSOLE=0: nothing of npm is asked for, and the page says what was left out."""
import http.client
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness


class NoConsole(unittest.TestCase):
    def test_make_does_not_ask_for_npm(self):
        with tempfile.TemporaryDirectory() as folder:
            for console, wanted in (("0", False), ("1", True)):
                # -W: as if the page had changed, so that it is to be built where it is wanted at all.
                ran = subprocess.run(["make", "-n", f"B={folder}/b", f"CONSOLE={console}", "-W", "console/src/index.html",
                                      "all"], cwd=harness.ROOT, capture_output=True, text=True, check=True)
                self.assertEqual("tools/build-console.sh" in ran.stdout, wanted)

    def test_the_page_says_so(self):
        build = pathlib.Path(harness.BIN).parent
        sanitize = ["-fsanitize=address,undefined"] if "asan" in harness.BIN else []
        with tempfile.TemporaryDirectory() as folder:
            empty = f"{folder}/assets"
            subprocess.run(["tools/embed-assets.sh", "-", empty], cwd=harness.ROOT, check=True)
            # The program again, with the empty table before the archive that has the full one.
            subprocess.run(["gcc", *sanitize, "-Isrc", "-pie", "-o", f"{folder}/muster", f"{build}/obj/main.o", f"{empty}.c",
                            f"{empty}.S", "-Wl,--start-group", *map(str, (build / "lib").glob("*.a")), "-Wl,--end-group",
                            "-luv", "-lgnutls", "-lsqlite3", "-lyaml", "-lz", "-lpcre2-8", "-lpthread", "-ldl", "-lm"],
                           cwd=harness.ROOT, check=True)
            usual, harness.BIN = harness.BIN, f"{folder}/muster"
            try:
                daemon = harness.Daemon()
            finally:
                harness.BIN = usual
            self.addCleanup(lambda: self.assertEqual(daemon.close(), []))
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=harness.PATIENCE)
            self.addCleanup(connection.close)
            connection.request("GET", "/jobs", headers={"Accept": "text/html"})
            answer = connection.getresponse()
            page = answer.read().decode()
            self.assertEqual(answer.status, 200)
            self.assertIn("built without its web console (CONSOLE=0)", page)
            self.assertIn("make", page)
            self.assertLess(os.path.getsize(f"{folder}/muster"), os.path.getsize(harness.BIN))
            session = daemon.call("GET", "/console/v1/session")
            self.assertEqual(session["console"], "")


if __name__ == "__main__":
    harness.main()

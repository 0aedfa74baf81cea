"""The checks of the source tree hold here, and fail on what they are there to find."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]


def run(*words):
    return subprocess.run(words, cwd=TOP, capture_output=True, text=True)


class Layers(unittest.TestCase):
    def check(self, planted=None, line=""):
        with tempfile.TemporaryDirectory() as folder:
            src = pathlib.Path(folder) / "src"
            shutil.copytree(TOP / "src", src)
            if planted:
                (src / planted).write_text(line + "\n")
            return run("tools/check-layers.sh", str(src))

    def test_tree_is_clean(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_planted_includes_are_found(self):
        for place, line, word in (("core/x.c", '#include "loop/loop.h"', "loop"),
                                  ("control/x.c", '#include "server/server.h"', "server"),
                                  ("agent/x.c", '#include "store/store.h"', "store"),
                                  ("server/x.c", "#include <sqlite3.h>", "sqlite3.h"),
                                  ("client/x.c", "#include <curl/curl.h>", "curl/"),
                                  ("base/x.c", '#include "api/kind.h"', "api")):
            with self.subTest(place=place, line=line):
                done = self.check(place, line)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"src/{place}:1", done.stdout)
                self.assertIn(word, done.stdout)


class Core(unittest.TestCase):
    def compile(self, folder, text):
        source = pathlib.Path(folder) / "planted.c"
        source.write_text(text)
        subprocess.run(["gcc", "-c", str(source), "-o", str(pathlib.Path(folder) / "planted.o")], check=True)

    def test_core_is_pure(self):
        done = run("tools/check-core.sh", "build/obj/core")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_planted_calls_and_state_are_found(self):
        for text, word in (("#include <time.h>\nlong f(void) { return time(0); }", "time"),
                           ("#include <stdlib.h>\nvoid *f(void) { return malloc(4); }", "malloc"),
                           ("#include <stdio.h>\nvoid f(void) { puts(\"x\"); }", "puts"),
                           ("int counter; int f(void) { return ++counter; }", "counter")):
            with self.subTest(word=word), tempfile.TemporaryDirectory() as folder:
                self.compile(folder, text)
                done = run("tools/check-core.sh", folder)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()

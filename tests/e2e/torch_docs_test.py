#!/usr/bin/python3
"""The documents, followed literally: every line that begins with $ is typed, page by page, in a copy of the examples."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

DOCS = harness.ROOT / "docs"
# commands_test.py has docs/cli.md
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if path.name != "cli.md" and "\n```console\n" in path.read_text())
# A port of its own, whatever the page says: others may have muster up on this machine.
PROGRAM = '#!/bin/sh\nif [ "$1" = up ]; then shift; exec {bin} up --listen 127.0.0.1:0 "$@"; fi\nexec {bin} "$@"\n'


def shown(page):
    """The commands of its console blocks."""
    blocks = re.findall(r"^```console\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


class Pages(unittest.TestCase):
    def follow(self, page):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-docs-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        shutil.copytree(harness.ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("out", "log"))
        program = folder / "bin/muster"
        program.parent.mkdir()
        program.write_text(PROGRAM.format(bin=harness.BIN))
        program.chmod(0o755)
        environment = {**os.environ, "MUSTER_HOME": str(folder / "home"), "LC_ALL": "C.UTF-8",
                       "PATH": f"{program.parent}:{harness.ROOT}/build/venv/bin:{os.environ['PATH']}"}
        environment.pop("KUBECONFIG", None)

        def run(line):
            return subprocess.run(["bash", "-c", line], cwd=folder / "examples", env=environment, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=10 * harness.PATIENCE)
        self.addCleanup(run, "muster rm --all --yes; muster down")
        if not shown(page)[0].startswith("muster up"):
            self.assertEqual(run("muster up --detach").returncode, 0)
        for line in shown(page):
            done = run(line)
            self.assertEqual(done.returncode, 0, f"{page}: {line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def test_site(self):
        """Every page is in the site, and every link leads somewhere; the reference is what the tables say."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["mkdocs", "build", "--strict", "-q", "-d", folder], cwd=harness.ROOT, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        listed = set(re.findall(r"([\w/-]+\.md)", (harness.ROOT / "mkdocs.yml").read_text()))
        self.assertEqual({str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - listed, set())
        done = subprocess.run([sys.executable, harness.ROOT / "tools/reference.py", harness.BIN, DOCS / "reference", "--check"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_readme_is_short_and_its_links_lead_somewhere(self):
        text = (harness.ROOT / "README.md").read_text()
        self.assertLess(len(text.splitlines()), 120)
        for link in re.findall(r"\]\(([^)#]+)", text):
            self.assertTrue(link.startswith("http") or (harness.ROOT / link).exists(), link)


for name in PAGES:
    setattr(Pages, "test_" + re.sub(r"\W", "_", name.removesuffix(".md")), lambda self, page=name: self.follow(page))

if __name__ == "__main__":
    harness.main()

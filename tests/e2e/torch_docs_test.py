#!/usr/bin/python3
"""The documents, followed literally: every line that begins with $ is typed, page by page, in a copy of the examples."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

DOCS = harness.ROOT / "docs"
# commands_test.py has docs/cli.md
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if path.name not in ("cli.md", "performance.md") and "\n```console\n" in path.read_text())
# A port of its own, whatever the page says: others may have muster up on this machine.
PROGRAM = '#!/bin/sh\nif [ "$1" = up ]; then shift; exec {bin} up --listen 127.0.0.1:0 "$@"; fi\nexec {bin} "$@"\n'


def shown(path):
    """The commands of its console blocks; one goes on in lines that begin with >."""
    lines = []
    for block in re.findall(r"^```console\n(.*?)^```$", path.read_text(), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                lines.append(line[2:])
            elif line.startswith("> "):
                lines[-1] += "\n" + line[2:]
    return lines


def files(path):
    """YAML blocks under a line like `job.yaml`: by name."""
    return re.findall(r"`([\w-]+\.yaml)`[^\n]*:\n\n```yaml\n(.*?)^```$", path.read_text(), re.M | re.S)


class Pages(unittest.TestCase):
    def follow(self, path, where):
        """Types the page's commands into one shell, in the folder where of a copy of the examples."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-docs-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        shutil.copytree(harness.ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("out", "log"))
        program = folder / "bin/muster"
        program.parent.mkdir()
        program.write_text(PROGRAM.format(bin=harness.BIN))
        program.chmod(0o755)
        (folder / "bin/kubectl").symlink_to(harness.KUBECTL)
        for name, text in files(path):
            (folder / where / name).write_text(text)
        environment = {**os.environ, "HOME": str(folder), "MUSTER_HOME": str(folder / "home"), "KUBECONFIG": str(folder / "home/kubeconfig"),
                       "LC_ALL": "C.UTF-8", "PATH": f"{program.parent}:{harness.ROOT}/build/venv/bin:{os.environ['PATH']}"}

        def run(script):
            return subprocess.run(["bash", "-c", script], cwd=folder / where, env=environment, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=10 * harness.PATIENCE)
        self.addCleanup(run, "muster rm --all --yes; muster down")
        lines = shown(path)
        if path.name == "README.md":  # what builds and tests all of this is only looked up
            for target in [word for line in lines if line.startswith("make ") for word in line.partition("#")[0].split()[1:]]:
                done = subprocess.run(["make", "-n", target], cwd=harness.ROOT, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"make {target}\n{done.stderr}")
            lines = [line for line in lines if not line.startswith("make ")]
        if not lines[0].startswith("muster up"):
            lines.insert(0, "muster up --detach")
        done = run("\n".join(f"{line}\n[ $? = 0 ] || {{ echo {shlex.quote(line)} >&2; exit 1; }}" for line in lines))
        self.assertEqual(done.returncode, 0, f"{path}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def test_readme(self):
        self.follow(harness.ROOT / "README.md", ".")

    def test_performance(self):
        subprocess.run(["make", "build/bench/jobs_fill"], cwd=harness.ROOT, check=True, capture_output=True)
        for line in shown(DOCS / "performance.md"):
            if not line.startswith("make "):
                done = subprocess.run(["bash", "-c", line], cwd=harness.ROOT, capture_output=True, text=True, timeout=10 * harness.PATIENCE)
                self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")

    def test_no_command_is_hidden_from_these_tests(self):
        """What looks like a command is in a console block; internals show trees of processes."""
        for path in [harness.ROOT / "README.md", *DOCS.rglob("*.md")]:
            if path.parent.name == "internals":
                continue
            for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.M | re.S):
                if kind != "console":
                    self.assertNotRegex(block, r"(?m)^\s*(\$ )?(muster|kubectl|make|pip|apt|export) ", path)

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
    setattr(Pages, "test_" + re.sub(r"\W", "_", name.removesuffix(".md")), lambda self, page=name: self.follow(DOCS / page, "examples"))

if __name__ == "__main__":
    harness.main()

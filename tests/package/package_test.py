#!/usr/bin/python3
"""The packages: what is in them, that they run without the libraries of this machine, and that a second build in another
folder yields the same bytes.

MUSTER_ROOTS=DIR runs them in each root file system below DIR too (debootstrap bookworm DIR/bookworm ...), as root.
"""
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("B", ROOT / "build")).resolve()
PACKAGES = BUILD / "package"
ROOTS = sorted(pathlib.Path(os.environ["MUSTER_ROOTS"]).glob("*/bin")) if os.environ.get("MUSTER_ROOTS") else []
VERSION = re.search(r'MUSTER_VERSION "(.*)"', (ROOT / "src/base/version.h").read_text())[1]
NEWEST_GLIBC = (2, 34)
# From nothing to a finished job, with whatever `muster` is first on PATH.
FIRST_JOB = """set -e
export MUSTER_HOME=$PWD/home HOME=$PWD
muster version
muster run --name first -- sh -c 'echo rank $RANK of $WORLD_SIZE' 2>/dev/null
muster ps -o jsonpath=.status.phase
muster down
"""


def run(*command, **how):
    done = subprocess.run(command, capture_output=True, text=True, **how)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def digests(folder):
    """Of the packages in it."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("muster*")) if path.is_file()}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # of both builds, whatever is committed meanwhile
        epoch = run("git", "-C", str(ROOT), "log", "-1", "--format=%ct").strip()
        cls.environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
        run("make", "-C", str(ROOT), f"B={BUILD}", "packages", env=cls.environment)
        cls.tree, = PACKAGES.glob("muster-*-linux-*/")
        cls.deb, = PACKAGES.glob("*.deb")
        cls.wheel, = PACKAGES.glob("*.whl")
        cls.tarball, = PACKAGES.glob("*.tar.gz")

    def folder(self):
        path = pathlib.Path(tempfile.mkdtemp(prefix="muster-package-"))
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def first_job(self, path, folder):
        said = run("sh", "-c", FIRST_JOB, cwd=folder, env={"PATH": f"{path}:/usr/bin:/bin"})
        self.assertIn(VERSION, said)
        self.assertIn("worker-0 | rank 0 of 1\nSucceeded\n", said)

    def test_a_tarball_brings_its_libraries(self):
        folder = self.folder()
        run("tar", "-C", str(folder), "-xzf", str(self.tarball))
        program, = folder.glob("*/bin/muster")
        loaded = re.findall(r"=> (/\S+)", run("ldd", str(program)))
        outside = [path for path in loaded if not path.startswith(str(folder)) and not re.search(r"/lib(c|m)\.so\.6$", path)]
        self.assertEqual(outside, [])
        self.first_job(program.parent, folder)

    def test_nothing_asks_for_a_newer_glibc(self):
        for path in [self.tree / "bin/muster", *(self.tree / "lib/muster").iterdir()]:
            asked = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", str(path)))}
            self.assertLessEqual(max(asked, default=(0,)), NEWEST_GLIBC, path)

    def test_a_deb_holds_what_a_package_should(self):
        names = run("dpkg-deb", "--fsys-tarfile", str(self.deb), errors="surrogateescape") and \
            re.findall(r"\./(\S+)$", run("dpkg-deb", "--contents", str(self.deb)), re.M)
        for wanted in ("usr/bin/muster", "usr/lib/systemd/system/muster.service", "usr/lib/systemd/user/muster.service",
                       "usr/share/bash-completion/completions/muster", "usr/share/zsh/vendor-completions/_muster",
                       "usr/share/fish/vendor_completions.d/muster.fish", "usr/share/man/man1/muster.1.gz",
                       "usr/share/man/man1/muster-run.1.gz", "usr/share/doc/muster/copyright"):
            self.assertIn(wanted, names)
        self.assertEqual(run("dpkg-deb", "--field", str(self.deb), "Version").strip(), VERSION)
        folder = self.folder()
        run("dpkg-deb", "--extract", str(self.deb), str(folder))
        for unit in folder.rglob("*.service"):
            self.assertIn("ExecStart=/usr/bin/muster up", unit.read_text())
        self.first_job(folder / "usr/bin", folder)

    def test_make_install_knows_both_spellings_of_prefix(self):
        for word in ("prefix", "PREFIX"):
            folder = self.folder()
            run("make", "-C", str(ROOT), f"B={BUILD}", "install", f"{word}=/opt/m", f"DESTDIR={folder}", env=self.environment)
            self.assertEqual([path.name for path in (folder / "opt/m/bin").iterdir()], ["muster"])

    def test_every_command_has_a_manual_page_that_man_takes(self):
        folder = self.folder()
        run(str(ROOT / "tools/package.sh"), "install", str(BUILD / "muster"), str(folder), "/opt/muster")
        pages = {path.name: gzip.decompress(path.read_bytes()) for path in folder.glob("opt/muster/share/man/man1/*")}
        listed = re.findall(r"^  ([a-z-]+)", run(str(BUILD / "muster"), "help").partition("Commands:")[2], re.M)
        self.assertEqual(sorted(pages), sorted(["muster.1.gz", *(f"muster-{name}.1.gz" for name in listed)]))
        for name, page in pages.items():
            shown = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-"], input=page, capture_output=True,
                                   env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}, check=True)
            self.assertEqual(shown.stderr, b"", name)
            self.assertIn(b"SYNOPSIS", shown.stdout)
        self.assertIn("ExecStart=/opt/muster/bin/muster up", next(folder.rglob("system/muster.service")).read_text())

    def test_a_wheel_is_installed_by_pip_and_runs(self):
        folder = self.folder()
        venv.create(folder / "env", with_pip=False)
        python = folder / "env/bin/python"
        run(sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", str(self.wheel))
        self.first_job(folder / "env/bin", folder)
        said = run(str(python), "-c", "import muster\njob = muster.submit(['echo', 'hi'])\nprint(job.wait().phase, *job.logs())",
                   cwd=folder, env={"PATH": "/usr/bin:/bin", "MUSTER_HOME": str(folder / "home")})
        self.assertEqual(said, "Succeeded worker-0 | hi\n")
        run(str(folder / "env/bin/muster"), "down", env={"MUSTER_HOME": str(folder / "home")})
        with zipfile.ZipFile(self.wheel) as wheel:
            self.assertIn("muster/py.typed", wheel.namelist())

    def test_a_second_build_elsewhere_yields_the_same_bytes(self):
        """All objects anew, from a copy of the sources in a folder of another name; the console's pages are taken as
        they are, npm is not ours to judge."""
        copy = self.folder() / "a folder with a longer name".replace(" ", "-")
        copy.mkdir()
        names = run("git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        shutil.copytree(ROOT / "console/dist", copy / "console/dist")
        (copy / "console/dist/HASH").touch()
        run("make", "-j2", "-C", str(copy), f"CC={os.environ.get('CC', 'gcc')}", "packages",
            env={**self.environment, "CCACHE_DISABLE": "1"})
        self.assertEqual(digests(copy / "build/package"), digests(PACKAGES))

    def other_releases(self):
        for root in (path.parent for path in ROOTS):
            with self.subTest(root.name):
                work = root / "tmp/muster-package"
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir()
                run("tar", "-C", str(work), "--strip-components=1", "-xzf", str(self.tarball))
                said = run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                           f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && mount --rbind /sys {root}/sys &&"
                           f"chroot {root} /bin/sh -c 'cd /tmp/muster-package && export PATH=$PWD/bin:$PATH; {{\n"
                           + FIRST_JOB.replace("'", '"').replace("$RANK of $WORLD_SIZE", r"\$RANK of \$WORLD_SIZE") + "}'")
                self.assertIn("worker-0 | rank 0 of 1\nSucceeded\n", said)

    if ROOTS:
        test_other_releases = other_releases


if __name__ == "__main__":
    unittest.main()

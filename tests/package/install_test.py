#!/usr/bin/python3
"""The .deb on a bare Debian 12 under its own systemd: installed, run as a service and by a user, upgraded, removed.

`make test-install` runs it, as root. The machine is made once by debootstrap in build/machine; each class boots a
throw-away copy of it in namespaces of its own, without a network, with systemd as process 1.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("B", ROOT / "build")).resolve()
BASE = BUILD / "machine/bookworm"
PACKAGES = "systemd,systemd-sysv,dbus,libpam-systemd,python3,iproute2"
WAIT_S = 120
TRAIN = """import os
for step in range(3):
    print("rank", os.environ["RANK"], "step", step + 1, flush=True)
"""
BOOT = """
mount --make-rprivate /
mount -t overlay overlay -o lowerdir={base},upperdir={work}/upper,workdir={work}/work {work}/root
cd {work}/root
mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run -o mode=755 && mount -t tmpfs tmpfs tmp -o mode=1777 && mount -t tmpfs tmpfs dev -o mode=755
for name in null zero full random urandom tty; do touch dev/$name && mount --bind /dev/$name dev/$name; done
mkdir dev/pts dev/shm && mount -t devpts devpts dev/pts -o newinstance,ptmxmode=0666 && mount -t tmpfs tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ip link set lo up
mkdir -p old && pivot_root . old && umount -l old
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
"""


def run(*command, **how):
    done = subprocess.run(command, capture_output=True, text=True, **how)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def mirror():
    texts = [path.read_text(errors="replace") for path in pathlib.Path("/etc/apt").rglob("*") if path.suffix in (".list", ".sources")]
    found = re.search(r"https?://\S+/debian/?(?=\s)", "\n".join(texts))
    if not found:
        raise AssertionError("no Debian mirror in /etc/apt/sources.list or sources.list.d to make a bare machine from")
    return found[0]


def make_base(deb):
    """With the packages the .deb depends on ready to be installed, but not installed."""
    if not (BASE / "etc/os-release").is_file():
        shutil.rmtree(BASE, ignore_errors=True)
        BASE.parent.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(BASE), mirror())
        (BASE / "etc/machine-id").write_text("")
        (BASE / "etc/hosts").write_text("127.0.0.1 localhost\n")
    shutil.copy(deb, BASE / "opt")
    shutil.copy("/etc/resolv.conf", BASE / "etc/resolv.conf")
    run("chroot", str(BASE), "apt-get", "install", "-y", "--download-only", f"/opt/{deb.name}")


class Machine:
    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="machine-", dir=BUILD))
        for name in ("upper", "work", "root"):
            (self.work / name).mkdir()
        groups = pathlib.Path("/sys/fs/cgroup/unified")
        self.group = (groups if groups.is_dir() else groups.parent) / f"muster-{self.work.name}"
        self.group.mkdir()
        with open(self.work / "console", "wb") as console:
            self.process = subprocess.Popen(
                ["sh", "-c", f"echo $$ >{self.group}/cgroup.procs && exec unshare --mount --pid --uts --ipc --net --cgroup "
                 '--fork --kill-child=SIGKILL sh -ec "$0"', BOOT.format(base=BASE, work=self.work)],
                stdout=console, stderr=console, stdin=subprocess.DEVNULL)
        self.wait("running", lambda: self.inside("systemctl", "is-system-running") == "running")

    def init(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return children[0] if children else "0"

    def inside(self, *command):
        return subprocess.run(["nsenter", "-t", self.init(), "-a", *command], capture_output=True, text=True).stdout.strip()

    def wait(self, what, ready):
        until = time.monotonic() + WAIT_S
        while not ready():
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError(f"not {what}: " + (self.work / "console").read_text(errors="replace")[-2000:])
            time.sleep(0.1)

    def sh(self, text, user="root", check=True):
        """As a unit of its own, like a login."""
        home = "/opt" if user == "root" else f"/home/{user}"
        done = subprocess.run(["nsenter", "-t", self.init(), "-a", "systemd-run", "-P", "-q", "--wait", "-p", f"User={user}", "-E", f"HOME={home}",
                               "-E", f"XDG_RUNTIME_DIR=/run/user/{1000 if user != 'root' else 0}", f"--working-directory={home}",
                               "bash", "-lc", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            raise AssertionError(f"{text}: {done.returncode}\n{done.stdout}")
        return done.stdout

    def close(self):
        self.process.kill()
        self.process.wait()
        until = time.monotonic() + WAIT_S
        while True:
            try:
                for path in sorted(self.group.rglob("*/"), reverse=True):
                    path.rmdir()
                self.group.rmdir()
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        shutil.rmtree(self.work)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.deb, = (BUILD / "package").glob("*.deb")
        make_base(cls.deb)
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.close)
        cls.machine.sh(f"apt-get install -y ./{cls.deb.name} && useradd -m -s /bin/bash dev && loginctl enable-linger dev")
        train = cls.machine.work / "upper/home/dev/train.py"
        train.write_text(TRAIN)
        train.chmod(0o644)
        cls.machine.wait("a user's systemd", lambda: "active" == cls.machine.inside("systemctl", "is-active", "user@1000"))

    def daemon(self, manager="systemctl"):
        return self.machine.sh(f"{manager} show -p MainPID --value muster").strip()

    def test_1_units_are_valid(self):
        for scope in ("system", "user"):
            said = self.machine.sh(f"systemd-analyze --{scope} verify --man=no /usr/lib/systemd/{scope}/muster.service", user="root" if scope == "system" else "dev")
            self.assertEqual(said, "")

    def test_1_completion_and_manual_are_there(self):
        offered = self.machine.sh("source /usr/share/bash-completion/completions/muster; COMP_WORDS=(muster des) COMP_CWORD=1; "
                                  "_muster; declare -p COMPREPLY")
        self.assertEqual(offered, 'declare -a COMPREPLY=([0]="describe")\n')
        self.assertIn("_muster", self.machine.sh("cat /usr/share/zsh/vendor-completions/_muster"))
        self.assertIn("complete -c muster", self.machine.sh("cat /usr/share/fish/vendor_completions.d/muster.fish"))
        self.assertIn(".SH SYNOPSIS", self.machine.sh("zcat /usr/share/man/man1/muster-run.1.gz"))

    def test_2_a_job_with_nothing_else_prepared(self):
        said = self.machine.sh("muster run --workers 2 -- python train.py; echo exit $?; muster down", user="dev")
        self.assertIn("python is not installed: using python3\n", said)
        for rank in range(2):
            self.assertIn(f"worker-{rank} | rank {rank} step 3\n", said)
        self.assertRegex(said, r"train: succeeded after \S+\nexit 0\n")

    def test_3_as_a_users_service(self):
        self.machine.sh("systemctl --user enable --now muster", user="dev")
        self.machine.wait("up", lambda: "muster is not up" not in self.machine.sh("muster ps", user="dev", check=False))
        self.assertIn("succeeded", self.machine.sh("muster run -- python3 train.py", user="dev"))
        self.machine.sh("systemctl --user disable --now muster", user="dev")

    def test_4_as_a_service_that_is_upgraded_and_removed(self):
        machine = self.machine
        muster = "MUSTER_HOME=/var/lib/muster muster"
        machine.sh("systemctl enable --now muster")
        machine.wait("up", lambda: "muster is not up" not in machine.sh(f"{muster} ps", check=False))
        self.assertIn("hint: the system service is up: use --dir /var/lib/muster", machine.sh("muster ps", check=False))
        machine.sh(f"{muster} run --detach --name long -- sh -c 'echo $$; exec sleep 1000' && {muster} wait long --for=Running --timeout {WAIT_S}s")
        said, before = machine.sh(f"{muster} logs long"), self.daemon()
        machine.sh(f"apt-get install -y --reinstall ./{self.deb.name}")
        self.assertNotEqual(self.daemon(), before)
        machine.wait("up again", lambda: " 1/1 " in machine.sh(f"{muster} ps", check=False))
        before = self.daemon()
        machine.sh(f"kill -9 {before}")
        machine.wait("restarted", lambda: self.daemon() not in ("0", before))
        machine.wait("up once more", lambda: " 1/1 " in machine.sh(f"{muster} ps", check=False))
        self.assertEqual(machine.sh(f"{muster} logs long"), said, "the same process, and nothing lost or repeated")
        machine.sh(f"{muster} rm long")
        machine.sh("apt-get remove -y muster")
        self.assertIn("could not be found", machine.sh("systemctl status muster", check=False))
        self.assertIn("muster.db", machine.sh("ls /var/lib/muster"))
        machine.sh("apt-get purge -y muster")
        self.assertNotIn("muster.service", machine.sh("ls /etc/systemd/system/multi-user.target.wants"))
        self.assertIn("muster.db", machine.sh("ls /var/lib/muster"), "what was trained is the user's")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""Transcripts of kubectl sessions, old and current kubectl: what is printed and the exit code, compared word by word.

transcripts/NAME.txt is one session. `$ get pods` is a command (`$1.32 events`: of that version only), lines that begin
with `< ` are its standard input. What follows is its output; `! ` begins lines of standard error, `[1]` is an exit code
that is not 0; `= 1.20` and `= 1.32` begin what differs between versions. `$ get pods ~ web` keeps only lines that match.
Ages, UIDs, versions, times and the machine's name are replaced by words, runs of blanks by two.

    MUSTER_WRITE_TRANSCRIPTS=1 tests/kubectl/commands_test.py     writes down what is printed now: read the difference
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import harness  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "transcripts"
# The sanitized server is asked by the current kubectl only: what is new there is the server, not the client.
VERSIONS = ("1.32",) if "asan" in harness.BIN else ("1.20", "1.32")
WRITE = bool(os.environ.get("MUSTER_WRITE_TRANSCRIPTS"))

REPLACED = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(?m)^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+ ", "LOG "),
    (r"https?://127\.0\.0\.1:\d+", "SERVER"),
    (r"\x1b\[[0-9;]*m", ""),
    (r"kubectl-1\.\d+", "kubectl"),
    (r"(process://UID/|as process )\d+", r"\1PID"),
    (r'("?resourceVersion"?: )"\d+"', r'\1"VERSION"'),
    (r"in PATH \(.*\)", "in PATH (PATH)"),
    (r"10\.43\.\d+\.\d+", "CLUSTER-IP"),
    (r"(?m)(?<=  )(\d+[ydhms]){1,2}(?=$|  | \()", "AGE"),
    (r"(?m)^(\d+[ydhms]){1,2}(?=  )", "AGE"),
]


class Command:
    def __init__(self, line):
        self.line = line
        only, text = re.match(r"\$([\d.]*) (.*)", line).groups()
        self.only = only
        self.text, _, self.filter = text.partition(" ~ ")
        self.stdin = []
        self.expected = {}

    def input(self):
        # What begins with a brace kubectl takes for JSON.
        return "".join(line + "\n" for line in ([*["---"] * ("-f - " in self.text + " "), *self.stdin]))

    def versions(self):
        return [version for version in ("1.20", "1.32") if self.only in ("", version)]


def read(path):
    """The commands of a transcript, each with what every version should print."""
    commands, versions = [], None
    for line in path.read_text().splitlines():
        if re.match(r"\$[\d.]* ", line):
            commands.append(Command(line))
            versions = commands[-1].versions()
        elif line.startswith("< "):
            commands[-1].stdin.append(line[2:])
        elif re.match(r"= [\d.]+$", line):
            versions = [line[2:]]
        elif commands and line:
            for version in versions:
                commands[-1].expected.setdefault(version, []).append(line)
    return commands


def write(path, commands, comment):
    text = list(comment)
    for command in commands:
        text += ["", command.line, *("< " + line for line in command.stdin)]
        outputs = [command.expected.get(version, []) for version in command.versions()]
        if all(output == outputs[0] for output in outputs):
            text += outputs[0]
        else:
            for version, output in zip(command.versions(), outputs):
                text += [f"= {version}", *output]
    path.write_text("\n".join(text).lstrip("\n") + "\n")


def plain(text):
    text = text.replace(socket.gethostname(), "NODE")
    for pattern, word in REPLACED:
        text = re.sub(pattern, word, text)
    lines = (re.match(r"( *)(.*)", line).groups() for line in text.splitlines())
    return [indent + re.sub(r"\t+|  +", "  ", line).rstrip() for indent, line in lines if line.strip()]


class Commands(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.daemons = {version: harness.Daemon() for version in VERSIONS}

    @classmethod
    def tearDownClass(cls):
        wrong = [line for daemon in cls.daemons.values() for line in daemon.close()]
        if wrong:
            raise AssertionError("\n".join(wrong))

    def run_one(self, version, command, folder):
        with tempfile.TemporaryDirectory(prefix="muster-kubectl-") as home:  # a warm discovery cache would hide the server
            arguments = [word.replace("{dir}", folder) for word in shlex.split(command.text)]
            done = subprocess.run(
                [str(harness.ROOT / f"build/bin/kubectl-{version}"), *arguments],
                input=command.input(), capture_output=True, text=True, timeout=harness.PATIENCE,
                env={"HOME": home, "PATH": "/usr/bin:/bin", "KUBECONFIG": os.path.join(self.daemons[version].folder, "kubeconfig")})
        lines = [*plain(done.stdout.replace(folder, "{dir}")), *("! " + line for line in plain(done.stderr.replace(folder, "{dir}")))]
        if "--all-containers" in arguments:
            lines.sort()  # kubectl asks for them in no order
        if command.filter:
            lines = [line for line in lines if re.search(command.filter, line)]
        return lines + ([f"[{done.returncode}]"] if done.returncode else [])

    def run_all(self, version, commands):
        folder = tempfile.mkdtemp(prefix="muster-kubectl-files-")
        try:
            return [self.run_one(version, command, folder) if version in command.versions() else None for command in commands]
        finally:
            shutil.rmtree(folder, True)

    def session(self, name):
        path = FOLDER / f"{name}.txt"
        commands = read(path)
        self.assertTrue(commands)
        with concurrent.futures.ThreadPoolExecutor(len(VERSIONS)) as pool:
            printed = list(pool.map(lambda version: self.run_all(version, commands), VERSIONS))
        if WRITE:
            comment = [line for line in path.read_text().split("$", 1)[0].splitlines() if line]
            for version, outputs in zip(VERSIONS, printed):
                for command, output in zip(commands, outputs):
                    command.expected[version] = output or []
            write(path, commands, comment)
            return
        for version, outputs in zip(VERSIONS, printed):
            for command, output in zip(commands, outputs):
                if output is not None:
                    with self.subTest(kubectl=version, command=command.text):
                        self.assertEqual("\n".join(output), "\n".join(command.expected.get(version, [])))


def add_test(name):
    setattr(Commands, f"test_{name}", lambda self: self.session(name))


for transcript in sorted(FOLDER.glob("*.txt")):
    add_test(transcript.stem)


if __name__ == "__main__":
    harness.main()

#!/usr/bin/python3
"""What each command prints, word for word: into a pipe, on terminals of 80 and 200 columns, in English and in Chinese.

transcripts.txt holds them; variants that print the same are one entry. `transcripts_test.py --write` rewrites it: read
the difference before you commit it. Times, numbers that vary and the widths they lead to are replaced.
"""
import os
import pathlib
import re
import subprocess
import sys
import unicodedata

import harness
from harness import DaemonTest, job

FILE = pathlib.Path(__file__).with_name("transcripts.txt")
BROKEN = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nmetadata: {name: Bad_Name}\nspec: {replicaSpecs: four}\n"
LANGUAGES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
VARIANTS = [(language, shape) for language in LANGUAGES for shape in ("pipe", 80, 200)]
# In this order, on one daemon with the job `done` that has succeeded and the folder's broken.yaml.
COMMANDS = """version
help
help exit-codes
help ps
help logs
help nothing
help man version
pss
ps --phas
ps
ps -o name
ps --phase Failed
ps -o jsonpath=.status.phase
logs done
logs done --grep two
logs done --tail 1
logs done --since soon
logs absent
wait done
stop done
scale done many
scale done 2
events done -o jsonpath=.reason
events pod/absent
describe done
describe done -o name
describe job/done queue/default -o jsonpath=.kind
describe absent
describe pod/absent
describe podd/absent
describe
help describe
pause done
pause --all --dry-run
resume done
top -o name
top -o jsonpath=.kind
top -o csv
logs queue/default
top --once -n empty
export done --file -  --tail x
export done --file done.html
export --file done.html done
ui extra
board done
queue
image ls
image rm absent
image rmm
help image
rm
rm absent
rm --all --dry-run
validate broken.yaml
explain job.spec.runPolicy
explain job.spec.nothing
run --dry-run --name x -- true
run --workers 0 -- true
sweep --dry-run --name x --set n=1,2 -- echo {n}
rerun done --dry-run
completion csh
exec absent -- true
console --volume x
kubeconfig --path
notebook
manifests nothing
up --volume x
down extra""".splitlines()


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in line)


class Transcripts(DaemonTest):
    def normal(self, text):
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")
        for pattern, put in ((re.escape(self.daemon.folder), "FOLDER"), (r"127\.0\.0\.1:\d+", "ADDRESS"), (r"(?<=-)[0-9a-f]{5}(?=-)", "HASH"),
                             (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"), (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
                             (r"\b(\d+m)?\d+s\b", "AGE"), (r"(process|进程) \d+", r"\1 PID"), (rf"(?m)(?<![\w-]){re.escape(os.uname().nodename)}(?![\w-])", "MACHINE"), (r"\d{4}-\d\d-\d\d [\d:.]+ UTC", "TIME"), (r"value: /[^\n]*", "value: PATH"), (r"[\d.]+(Mi)? \(\d+%\)", "USAGE"),
                             (r"(?<=\S)  +", "  "), (r"[ ]+(?=\n|$)", "")):
            text = re.sub(pattern, put, text)
        # several components write events, in no fixed order
        text = re.sub(r"(?m)^AGE  \d+  Normal  Running  .*\n", "", text)
        return re.sub(r"(?m)(^AGE  \d+  (Normal|Warning)  .*\n)+", lambda rows: "".join(sorted(rows[0].splitlines(True))), text)

    def transcript(self, line, language, shape):
        words = line.split()
        environment = {"LC_ALL": LANGUAGES[language], "PATH": "/usr/bin:/bin", "NO_COLOR": "1"}
        if shape == "pipe":
            done = self.daemon.cli(*words, environment=environment, cwd=self.daemon.folder)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
            code, text = done.returncode, done.stdout + done.stderr
        else:
            code, text = self.daemon.terminal(*words, columns=shape, environment=environment, cwd=self.daemon.folder)
        if line.startswith("events done"):  # of a job that has just begun when it ends nobody may have said that it runs
            text = "".join(sorted(one for one in text.splitlines(True) if not re.search(r"\bRunning\b", one)))
        return self.normal(text).rstrip("\n") + f"\n[{code}]\n"

    def everything(self):
        self.daemon.wait_for(harness.NODES, lambda nodes: any(c["type"] == "Ready" and c["status"] == "True" for node in nodes.values()
                                                              for c in node.get("status", {}).get("conditions", [])), "a node that is ready")
        self.daemon.create(job("done", ["printf", "one\\ntwo\\n"], replicas=1))
        self.daemon.wait_phase("done", "Succeeded")
        self.write("broken.yaml", BROKEN)
        blocks = []
        for line in COMMANDS:
            texts = {}
            for language, shape in VARIANTS:
                if line == "export done --file done.html":
                    pathlib.Path(self.daemon.folder, "done.html").unlink(missing_ok=True)
                texts.setdefault(self.transcript(line, language, shape), []).append(f"{language}/{shape}")
            for text, variants in texts.items():
                blocks.append(f"## muster {line}   ({' '.join(variants)})\n{text}")
        return blocks

    def test_word_for_word(self):
        blocks = self.everything()
        if WRITE:
            FILE.write_text("\n".join(blocks))
        self.maxDiff = None
        self.assertEqual("\n".join(blocks), FILE.read_text())
        named = {line.split()[0] for line in COMMANDS}
        listed = set(re.findall(r"^  ([a-z-]+)  ", self.daemon.cli("help").stdout.partition("Commands:")[2], re.M))
        # beside them: those that only run a server, and doctor, which describes the machine
        self.assertLessEqual(listed - {"controller", "scheduler", "node", "doctor"}, named)

    def test_tables_keep_to_the_terminal(self):
        self.daemon.create(job("long-name-of-a-job-that-fails-for-a-reason", ["sh", "-c", "exit 3"], replicas=2))
        self.daemon.wait_phase("long-name-of-a-job-that-fails-for-a-reason", "Failed")
        for language in LANGUAGES:
            for columns in (80, 200):
                for line in ("ps", "events", "top --once", "queue"):
                    shown = self.daemon.terminal(*line.split(), columns=columns, environment={"LC_ALL": LANGUAGES[language]})[1]
                    self.assertLessEqual(max(map(width, self.normal(shown).splitlines())), columns, f"{line}\n{shown}")

    def test_full_screen(self):
        self.daemon.create(job("seen", ["sh", "-c", "echo first; echo last; exec sleep 1000"], replicas=2))
        self.daemon.wait_running("seen", 2)
        for language, bar in (("en", "Enter job"), ("zh", "回车 任务")):
            code, shown = self.daemon.terminal(
                "ui", columns=80, environment={"LC_ALL": LANGUAGES[language]},
                steps=[(f"seen.*Running.*{bar}", b"\r"), ("worker-1 .*Running.*Created", b"\x1b[B\r"), ("worker-1.*first.*last", b"\x1b"),
                       ("worker-0 .*worker-1 ", b"s"), (r"y/n", b"n"), (r"worker-0", b"q")])
            self.assertEqual(code, 0, shown)
            self.assertTrue(shown.rstrip().endswith("\x1b[?1049l"), shown[-100:])
        code, shown = self.daemon.terminal("ui", steps=[("seen.*Running", b"s"), (r"stop the job\? y/n", b"y"), ("seen: stopped", b"q")])
        self.assertEqual(code, 0, shown)
        self.daemon.wait_phase("seen", "Paused")

    def test_top_goes_on_until_it_is_interrupted(self):
        code, shown = self.daemon.terminal("top", steps=[("NODE.*JOB", b"")] + [("NODE.*JOB", b"\x03")])
        self.assertEqual(code, 130, shown)
        # Of a node that has just begun nothing is measured yet, and that is said.
        harness.wait_until(lambda: self.daemon.cli("top").stderr == "", "the first samples")
        done = self.daemon.cli("top")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("NODE "), 1)

    def test_an_export_holds_all_and_no_secrets(self):
        self.daemon.cli("run", "--name", "told", "--env", "API_TOKEN=hunter2", "--env", "PLAIN=seen", "--", "sh", "-c",
                        "echo '<b>a & b</b>'; exit 4")
        page = self.daemon.cli("export", "told", "--file", "-").stdout
        for wanted in ("<title>told</title>", "&lt;b>a &amp; b&lt;/b>", "value: seen", "failed with exit code 4", "log of worker-0",
                       "Created", "phase: Failed", "<summary>scalars</summary>"):
            self.assertIn(wanted, page)
        self.assertNotIn("hunter2", page)
        self.assertNotIn("<b>", page)
        self.assertNotIn("<script", page)


class Shells(DaemonTest):
    """Completion in the shells themselves."""

    def shell_environment(self):
        os.makedirs(os.path.join(self.daemon.folder, "bin"), exist_ok=True)
        path = os.path.join(self.daemon.folder, "bin/muster")
        if not os.path.exists(path):
            os.symlink(harness.BIN, path)
        return {**self.daemon.environment, "PATH": f"{os.path.dirname(path)}:/usr/bin:/bin", "HOME": self.daemon.folder, "TERM": "dumb"}

    def test_fish(self):
        self.daemon.cli("run", "--name", "shown", "--", "true")
        def complete(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"muster completion fish | source; complete -C '{line}'"],
                                  capture_output=True, text=True, timeout=harness.PATIENCE, env=self.shell_environment())
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return {words[0]: words[1:] for words in (row.split("\t") for row in done.stdout.splitlines())}
        self.assertEqual(complete("muster swe"), {"sweep": ["Run a command once for each combination of parameters"]})
        self.assertIn("--parallel", complete("muster sweep --par"))
        self.assertIn("shown", complete("muster logs sh"))
        self.assertNotIn("mpi-launch", complete("muster "))

    def test_zsh(self):
        self.daemon.cli("run", "--name", "shown", "--", "true")
        script = (
            "zmodload zsh/zpty; zpty shell zsh -f -i\n"
            "zpty -w shell 'PS1=@@; autoload -Uz compinit; compinit -u -D; source <(muster completion zsh); print READ\"\"Y'\n"
            "zpty -r shell seen '*READY*@@*'\n"  # the line editor reads from here on
            "zpty -n -w shell $'{line}\\t'; zpty -r shell seen '*{wanted}*'; print -r -- $seen\n")
        for line, wanted in (("muster swe", "sweep"), ("muster sweep --para", "--parallel"), ("muster logs sho", "shown")):
            done = subprocess.run(["zsh", "-f", "-c", script.replace("{line}", line).replace("{wanted}", wanted)], capture_output=True, text=True,
                                  timeout=harness.PATIENCE, env=self.shell_environment())
            self.assertIn(wanted, done.stdout, done.stdout + done.stderr)


WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")
if __name__ == "__main__":
    harness.main()

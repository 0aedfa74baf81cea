#!/usr/bin/env python3
"""The promises of docs/reliability.md, each shown by tests and summed up in one figure, which is printed last.

    tests/promise.py 1 [2 ...]     those          tests/promise.py all     all ten, then a table

LEVEL=full runs them at full length (hours); without it they are as short as CI wants them (all ten within twenty minutes on two
quiet cores). B=DIR says where the build is. Exits with 1 when one does not hold.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
B = pathlib.Path(os.environ.get("B", "build"))
FULL = os.environ.get("LEVEL") == "full"
PYTHON = "/usr/bin/python3"
CHAOS = r"\d+ jobs, \d+ attempts, .*"


def level(short, full):
    return str(full if FULL else short)


class Broken(Exception):
    pass


def run(*command, **environment):
    """The output of a program, shown as it comes; Broken when it fails."""
    say = " ".join(f"{name}={value}" for name, value in environment.items())
    print(f"$ {say} {' '.join(map(str, command))}".replace("$  ", "$ "), flush=True)
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", env={**os.environ, "MUSTER_BIN": str(ROOT / B / "muster"), **environment})
    lines = []
    for line in process.stdout:
        lines.append(line)
        print("  " + line, end="", flush=True)
    if process.wait() != 0:
        raise Broken(f"{command[-1] if len(command) < 3 else ' '.join(map(str, command[:3]))} failed")
    return "".join(lines)


def test(script, *which, **environment):
    text = run(PYTHON, f"tests/{script}", *which, **environment)
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    if not ran or ran.group(1) == "0":
        raise Broken(f"{script}: no test ran")
    if "skipped=" in text:
        raise Broken(f"{script}: a test was skipped")
    return text, int(ran.group(1))


def last_line(text, pattern):
    lines = [match.group(0) for match in re.finditer(pattern, text, re.M)]
    if not lines:
        raise Broken(f"no line like {pattern!r}")
    return lines[-1]


def acknowledged_writes():
    text, _ = test("fault/history_test.py", "Kills", MUSTER_KILLS=level(200, 5000))
    return last_line(text, r"\d+ kills, .*")


def power_loss():
    text = run(B / "unit/store/power_loss_test", MUSTER_POWER_LOSSES=level(500, 20000))
    return last_line(text, r"power lost .*")


def training_survives():
    killed = test("fault/supervisor_killed_test.py")[1]
    text = test("fault/chaos_test.py", MUSTER_CHAOS_DAEMONS=level(6, 200), MUSTER_CHAOS_SUPERVISORS=level(8, 300),
                MUSTER_CHAOS_JOBS=level(12, 30))[0]
    killed += test("e2e/daemon_killed_test.py")[1]
    return f"{last_line(text, CHAOS)}; {killed} named cases of a supervisor or the daemon killed"


def restart_budget():
    ends = test("fault/preempted_end_test.py")[1]
    ends += test("e2e/restart_budget_test.py")[1]
    text = test("fault/chaos_test.py", MUSTER_CHAOS_DAEMONS=level(4, 200), MUSTER_CHAOS_SUPERVISORS=level(0, 100),
                MUSTER_CHAOS_JOBS=level(8, 30))[0]
    units = sum(count_units(f"core/{name}_test") for name in ("restart", "property", "pytorch", "mpi"))
    return f"0 violations: {last_line(text, CHAOS)}; {ends} named cases of restarts and preemptions, {units} unit and property tests"


def count_units(name):
    text = run(B / "unit" / name)
    return len(re.findall(r"^\[       OK \]", text, re.M))


def decisions_converge():
    """Each fault must have come in at least one run of a hundred."""
    text = run(B / "sim/sim", level(1000, 100000))
    queues = run(B / "sim/sim", "--queues", level(10000, 1000000))
    shares = re.findall(r"^(\S.*?) +\d+ +(\d+\.\d)%$", text, re.M)
    rare = [name for name, share in shares if float(share) < 1]
    if rare or not shares:
        raise Broken(f"faults in less than 1 % of runs: {rare}")
    return f"whole clusters: {last_line(text, r'^.*passed, 0 failed')}; queues: {last_line(queues, r'^.*passed, 0 failed')}"


def watches():
    text, _ = test("fault/history_test.py", "Watches", MUSTER_WATCH_EVENTS=level(1000000, 20000000))
    return last_line(text, r"\d+ events of .*")


def bad_input():
    """In the sanitized build; the hostile clients against the binary as users get it."""
    run("make", "-j2", "SAN=1", f"B={B}/asan", "fuzz-program")
    targets = 24
    text = run(B / "asan/fuzz/fuzz", "--seconds", str(targets * int(level(5, 60))), "--seed", str(int(time.time())))
    if int(re.search(r"(\d+) targets", text).group(1)) < 15:
        raise Broken("less than 15 targets")
    hostile = test("fault/hostile_test.py")[1]
    return f"{last_line(text, r'[0-9]+ targets, .*')}; {hostile} tests with hostile clients"


def faults():
    run("make", f"B={B}", f"{B}/faults.so")
    text, _ = test("fault/sweep_test.py", MUSTER_SWEEP=level(400, "all"))
    storage = test("fault/storage_test.py")[1] + count_units("store/failure_test")
    return f"{last_line(text, r'[0-9]+ trials, .*')}; {storage} named cases of full and failing disks"


def nobody_gets_in():
    """Every test that docs/threat-model.md names."""
    text = (ROOT / "docs/threat-model.md").read_text().split("\n## Where they get in\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| **")]
    named = {}
    for row in rows:
        tests_of = re.findall(r"`((?:tests|console)/[\w./-]+)`(?:: ([^`|]*))?", row.rsplit("|", 2)[1])
        if not tests_of:
            raise Broken(f"no test is named for {row.split('|')[1].strip()}")
        for where, names in tests_of:
            named.setdefault(where, []).extend(name.strip(" ;") for name in names.split(",") if name.strip(" ;"))
    tests, pods = 0, []
    for where, names in sorted(named.items()):
        if where.startswith("tests/unit/"):
            tests += count_units(where.removeprefix("tests/unit/").removesuffix(".c"))
        elif where.startswith("tests/fuzz/"):
            continue  # promise 7
        elif where.startswith("tests/pods/"):
            pods.append(pathlib.Path(where).stem)
        elif where.endswith(".mjs"):
            run("node", "--test", *(f"--test-name-pattern={name}" for name in [*names, "^gone$"]), where)  # that one cleans up
            tests += len(names)
        elif where.startswith("console/"):
            run("node", "console/test.mjs")
            tests += len(names)
        else:
            if where.startswith("tests/cluster/"):
                names = ["test_1_", *names]  # what comes after depends on it
            selected = [word for name in names for word in ("-k", name)]
            tests += test(where.removeprefix("tests/"), *selected)[1]
    if pods:
        tests += test("pods/pods_test.py", *(word for name in pods for word in ("-k", name.replace("-", "_"))))[1]
    return f"{len(rows)} entry points of the threat model, all with tests; {tests} tests, 0 failed"


def size_is_bounded():
    text = run(PYTHON, "bench/soak.py", "--binary", B / "muster", "--jobs", level(6000, 20000), "--first", 3000)
    figures = [line.split("  ", 1) for line in text.splitlines() if re.match(r" *\d+ jobs  ", line)]
    first, last = figures[0][1], figures[-1][1]
    memory = [float(re.search(r"memory_mb +([\d.]+)", line).group(1)) for line in (first, last)]
    database = [float(re.search(r"database_mb +([\d.]+)", line).group(1)) for line in (first, last)]
    return (f"{figures[0][0].strip()} to {figures[-1][0].strip()}: memory {memory[0]} to {memory[1]} MB ({memory[1] / memory[0] - 1:+.1%}), "
            f"database {database[0]} to {database[1]} MB ({database[1] / database[0] - 1:+.1%}), descriptors and files level")


PROMISES = [
    ("an acknowledged write is never lost", acknowledged_writes), ("... not on power loss", power_loss),
    ("training survives the control plane", training_survives), ("the restart budget is kept", restart_budget),
    ("decisions converge under any history", decisions_converge), ("watches tell the truth", watches),
    ("bad input gets a clear error and changes nothing", bad_input), ("faults fail the request, not the daemon", faults),
    ("nobody gets in", nobody_gets_in), ("size stays bounded", size_is_bounded),
]


def main():
    wanted = range(1, len(PROMISES) + 1) if sys.argv[1:] == ["all"] else [int(word) for word in sys.argv[1:]]
    if not wanted:
        sys.exit(__doc__)
    table, broken = [], 0
    for number in wanted:
        name, show = PROMISES[number - 1]
        began = time.monotonic()
        try:
            figure = show()
        except Broken as why:
            figure, broken = f"BROKEN: {why}", broken + 1
        table.append(f"promise {number}, {name}: {figure} ({time.monotonic() - began:.0f} s)")
        print(table[-1], flush=True)
    if len(table) > 1:
        print("\n" + "\n".join(table))
        print(f"{len(table) - broken} of {len(table)} promises hold")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()

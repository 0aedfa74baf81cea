"""Training jobs from Python: submit, wait, logs, scalars. Runs the `muster` program, so both behave the same.

    import muster

    job = muster.submit(["python", "train.py", "--lr", "0.1"], workers=2)
    for line in job.logs(follow=True):
        print(line)
    job.wait()                       # raises JobFailed with the sentence that says why
    job.scalars("loss")              # {"run": [Point(step=0, time=..., value=2.3), ...]}

Module functions use the default Client: the data folder of $MUSTER_HOME, else ~/.muster.
"""
from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Client", "Job", "JobFailed", "MusterError", "Point", "Status", "binary", "job", "jobs", "submit"]

TIMED_OUT, JOB_FAILED = 124, 3  # `muster help exit-codes`


class MusterError(Exception):
    """What the command line said on stderr; code is its exit code."""

    def __init__(self, code: int, message: str):
        super().__init__(message or f"muster exited with {code}")
        self.code = code


class JobFailed(MusterError):
    """The job ended and did not succeed."""


class Point(NamedTuple):
    step: int
    time: float  # seconds since 1970
    value: float


@dataclasses.dataclass(frozen=True)
class Status:
    phase: str  # Pending, Running, Paused, Succeeded, Failed, ...
    why: str    # the sentence `muster ps` shows; "" while nothing is to be said
    object: dict[str, Any] = dataclasses.field(repr=False)  # the whole API object

    @property
    def is_final(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


def binary() -> str:
    """The program: the wheel's own, else the one on PATH."""
    own = pathlib.Path(__file__).parent / "dist/bin/muster"
    found = str(own) if own.exists() else shutil.which("muster")
    if not found:
        raise MusterError(1, "the muster program is neither in this package nor on PATH")
    return found


def _failure(code: int, stderr: str) -> MusterError:
    lines = [line.removeprefix("error: ") for line in stderr.splitlines() if line.startswith(("error: ", "  hint: "))]
    return (JobFailed if code == JOB_FAILED else MusterError)(code, "\n".join(lines) or stderr.strip())


class Client:
    """Where jobs run: a data folder, or a cluster by kubeconfig and context."""

    def __init__(self, *, dir: str | os.PathLike[str] | None = None, kubeconfig: str | os.PathLike[str] | None = None,
                 context: str | None = None, namespace: str | None = None):
        given = {"dir": dir, "kubeconfig": kubeconfig, "context": context, "namespace": namespace}
        self._where = [f"--{name}={os.fspath(value)}" for name, value in given.items() if value is not None]

    def command(self, name: str, *options: str) -> list[str]:
        return [binary(), name, *self._where, *options]

    def call(self, name: str, *options: str, **how: Any) -> str:
        """Runs `muster NAME OPTIONS...` and answers its stdout."""
        done = subprocess.run(self.command(name, *options), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", **how)
        if done.returncode:
            raise _failure(done.returncode, done.stderr)
        return done.stdout

    def submit(self, command: Sequence[str] | str | os.PathLike[str], *, name: str | None = None, workers: int | None = None,
               nproc: int | None = None, gpus: int | None = None, cpus: str | float | None = None, memory: str | None = None,
               queue: str | None = None, image: str | None = None, max_restarts: int | None = None, mpi: bool = False,
               env: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None, volumes: Sequence[str] = (),
               replace: bool = False, cwd: str | os.PathLike[str] | None = None) -> Job:
        """Starts a job and returns at once. command is a list of words, as after `muster run --`, or a manifest's path.
        The daemon is started where none runs."""
        options = ["--detach"]
        given = {"name": name, "workers": workers, "nproc": nproc, "gpus": gpus, "cpus": cpus, "memory": memory,
                 "queue": queue, "image": image, "max-restarts": max_restarts}
        options += [f"--{option}={value}" for option, value in given.items() if value is not None]
        options += [f"--env={key}={value}" for key, value in (env or {}).items()]
        options += [f"--label={key}={value}" for key, value in (labels or {}).items()]
        options += [f"--volume={volume}" for volume in volumes]
        options += ["--mpi"] * mpi + ["--replace"] * replace
        what = [os.fspath(command)] if isinstance(command, (str, os.PathLike)) else ["--", *command]
        said = self.call("run", *options, *what, cwd=cwd).split()
        created = [word for word, after in zip(said, said[1:]) if "/" in word and after in ("created", "unchanged", "configured")]
        if len(created) != 1:
            raise MusterError(1, f"expected one job of {what}, not: {' '.join(said)}")
        return self.job(created[0])

    def job(self, name: str) -> Job:
        """The job NAME or KIND/NAME; whether it exists is asked by its methods."""
        return Job(self, name)

    def jobs(self, selector: str | None = None) -> dict[str, Status]:
        """Jobs by name, newest first."""
        chosen = ["--selector", selector] if selector else []
        return {item["metadata"]["name"]: _status(item) for item in self._list(*chosen)}

    def _list(self, *options: str) -> list[dict[str, Any]]:
        return json.loads(self.call("ps", "-o", "json", *options))["items"]


def _status(item: dict[str, Any]) -> Status:
    status = item.get("status", {})
    phase = status.get("phase", "Pending")
    conditions = {condition["type"]: condition.get("message", "") for condition in status.get("conditions", [])}
    why = "" if phase == "Succeeded" else conditions.get("Failed") or conditions.get("Running", "")
    return Status(phase, why, item)


class Job:
    """One job; made by submit() and job()."""

    def __init__(self, client: Client, name: str):
        self.client, self._word = client, name
        kind, _, self.name = name.rpartition("/")
        self.kind = kind.partition(".")[0].lower()

    def __repr__(self) -> str:
        return f"<muster.Job {self._word}>"

    def status(self) -> Status:
        for item in self.client._list():
            if item["metadata"]["name"] == self.name and self.kind in ("", item["kind"].lower()):
                return _status(item)
        raise MusterError(5, f"there is no job '{self._word}'")

    def wait(self, *, until: str = "ended", timeout: float | None = None) -> Status:
        """Until it has ended, or `until`: Running, Paused, Succeeded, Failed, deleted. Raises JobFailed when it can no longer
        be so, TimeoutError after timeout seconds. Ended without success is JobFailed too."""
        limit = [f"--timeout={max(1, round(timeout))}s"] if timeout is not None else []
        try:
            self.client.call("wait", self._word, f"--for={until}", *limit)
        except MusterError as failed:
            if failed.code == TIMED_OUT:
                raise TimeoutError(str(failed)) from None
            if isinstance(failed, JobFailed) and until != "deleted":
                raise JobFailed(failed.code, self.status().why or str(failed)) from None
            raise
        return self.status() if until != "deleted" else Status("", "", {})

    def logs(self, *, follow: bool = False, replica: str | None = None, tail: int | None = None, attempt: int | None = None,
             grep: str | None = None) -> Iterator[str]:
        """Lines as `muster logs` prints them, "worker-0 | text" (only the text of one replica); with follow until the job ends. Closing the iterator
        ends the program behind it."""
        options = ["--follow"] * follow
        given = {"replica": replica, "tail": tail, "attempt": attempt, "grep": grep}
        options += [f"--{option}={value}" for option, value in given.items() if value is not None]
        with tempfile.TemporaryFile("w+", errors="replace") as talk:
            program = subprocess.Popen(self.client.command("logs", self._word, *options), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=talk, text=True, errors="replace")
            try:
                assert program.stdout
                for line in program.stdout:
                    yield line.rstrip("\n")
                if program.wait() not in (0, JOB_FAILED):
                    talk.seek(0)
                    raise _failure(program.returncode, talk.read())
            finally:
                program.terminate()
                program.communicate()

    def scalars(self, tag: str | None = None) -> dict[str, dict[str, list[Point]]] | dict[str, list[Point]]:
        """Points of its TensorBoard event files: {run: points} of one tag, {tag: {run: points}} of all."""
        chosen = [f"--tag={tag}"] if tag is not None else []
        found: dict[str, dict[str, list[Point]]] = {}
        for series in json.loads(self.client.call("board", self._word, "--json", *chosen))["series"]:
            values = (math.nan if value is None else float(value) for value in series["value"])
            points = [Point(*point) for point in zip(series["step"], series["wall"], values)]
            found.setdefault(series["tag"], {})[series["run"]] = points
        return found.get(tag, {}) if tag is not None else found

    def stop(self) -> None:
        """Stops its replicas; the job and its logs stay."""
        self.client.call("stop", self._word)

    def resume(self) -> None:
        self.client.call("resume", self._word)

    def delete(self) -> None:
        """Removes it and waits until its replicas have stopped."""
        self.client.call("rm", self._word)


def submit(command: Sequence[str] | str | os.PathLike[str], **options: Any) -> Job:
    """Client().submit: see there for the options."""
    return Client().submit(command, **options)


def job(name: str) -> Job:
    return Client().job(name)


def jobs(selector: str | None = None) -> dict[str, Status]:
    return Client().jobs(selector)


def run(command: Sequence[str] | str | os.PathLike[str], **options: Any) -> Job:
    """submit(), followed until the end: its progress and curve are shown, live in a cell of Jupyter. Raises JobFailed."""
    from . import jupyter
    return jupyter.run(command, **options)


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext muster: cells that begin with %%muster run as jobs."""
    from . import jupyter
    jupyter.register(ipython)

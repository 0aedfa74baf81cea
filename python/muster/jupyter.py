"""Jobs in cells of Jupyter: run() shows progress and the curve of the loss, live, and %%muster runs a cell's code as a job.

Without Jupyter run() prints the log. Files of a Notebook are on a claim that its jobs mount at the same place
(MUSTER_VOLUME), so a job finds what lies beside the notebook.
"""
from __future__ import annotations

import argparse
import html
import os
import pathlib
import queue
import shlex
import sys
import threading
import time
from typing import Any, Sequence

from . import Client, Job, MusterError, Point, Status

LINES = 10
CURVE_EVERY_SECONDS = 2.0
WIDTH, HEIGHT = 480, 140


def _display() -> Any:
    """A place in the cell that can be drawn anew; None without Jupyter."""
    try:
        from IPython import get_ipython
        from IPython.display import HTML, display
    except ImportError:
        return None
    if get_ipython() is None or not hasattr(get_ipython(), "kernel"):
        return None
    handle = display(HTML(""), display_id=True)
    return lambda text: handle.update(HTML(text))


def _curve(job: Job) -> tuple[str, list[Point]]:
    """The tag that is most likely the loss, and its points of the first run."""
    try:
        found = job.scalars()
    except MusterError:
        return "", []
    tags = sorted(found, key=lambda tag: ("loss" not in tag.lower(), tag))
    runs = found[tags[0]] if tags else {}
    return (tags[0], next(iter(runs.values()), [])) if tags else ("", [])


def _svg(tag: str, points: Sequence[Point]) -> str:
    points = [point for point in points if point.value == point.value and abs(point.value) != float("inf")]
    if len(points) < 2:
        return ""
    steps, values = [point.step for point in points], [point.value for point in points]
    low, high, first, last = min(values), max(values), min(steps), max(steps)
    line = " ".join(f"{(step - first) / max(last - first, 1) * WIDTH:.1f},"
                    f"{HEIGHT - (value - low) / ((high - low) or 1) * HEIGHT:.1f}" for step, value in zip(steps, values))
    return (f'<div>{html.escape(tag)}: <b>{values[-1]:.4g}</b> (step {steps[-1]}; {low:.4g} … {high:.4g})</div>'
            f'<svg viewBox="0 -4 {WIDTH} {HEIGHT + 8}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{html.escape(tag)}">'
            f'<polyline points="{line}" fill="none" stroke="#4338ca" stroke-width="2"/></svg>')


def _replicas(status: Status) -> str:
    statuses = status.object.get("status", {}).get("replicaStatuses", [])
    counts = [f"{one.get('type', '')} {one.get('active', one.get('running', 0))}/{one.get('replicas', '?')}" for one in statuses]
    return ", ".join(counts)


def _page(job: Job, status: Status, lines: Sequence[str], curve: tuple[str, list[Point]]) -> str:
    progress = status.object.get("status", {}).get("progress", {})
    percent = progress.get("percent")
    bar = f'<progress max="100" value="{float(percent):.1f}"></progress> {float(percent):.0f}%' if percent is not None else ""
    return (f'<div><b>{html.escape(job.name)}</b> {html.escape(status.phase)} {bar} '
            f'<small>{html.escape(_replicas(status))}</small></div><div>{html.escape(status.why)}</div>'
            f'{_svg(*curve)}<pre>{html.escape(chr(10).join(lines))}</pre>')


def _follow(job: Job, lines: "queue.SimpleQueue[str | None]") -> None:
    try:
        for line in job.logs(follow=True):
            lines.put(line)
    except MusterError as error:
        lines.put(f"muster: {error}")
    finally:
        lines.put(None)


def _watch(job: Job, show: Any) -> None:
    """Draws until the log has ended."""
    lines: "queue.SimpleQueue[str | None]" = queue.SimpleQueue()
    threading.Thread(target=_follow, args=(job, lines), daemon=True).start()
    last: list[str] = []
    drawn, ended = 0.0, False
    while not ended:
        try:
            line = lines.get(timeout=CURVE_EVERY_SECONDS)
            ended = line is None
            last = [*last, line][-LINES:] if line is not None else last
        except queue.Empty:
            pass
        if ended or time.monotonic() - drawn >= CURVE_EVERY_SECONDS:
            drawn = time.monotonic()
            show(_page(job, job.status(), last, _curve(job)))


def run(command: Sequence[str] | str | os.PathLike[str], *, client: Client | None = None, **options: Any) -> Job:
    """As submit() of muster; returns when the job has succeeded, raises JobFailed when not. Interrupting the cell stops it."""
    volume = os.environ.get("MUSTER_VOLUME")
    if volume and not isinstance(command, (str, os.PathLike)) and not options.get("volumes"):
        options["volumes"] = [volume]
    job = (client or Client()).submit(command, **options)
    show = _display()
    try:
        if show:
            _watch(job, show)
        else:
            for line in job.logs(follow=True):
                print(line, flush=True)
        status = job.wait()
        if show:
            show(_page(job, status, [], _curve(job)))
    except KeyboardInterrupt:
        job.stop()
        raise
    return job


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%muster", description="Runs the cell's code as a job.", add_help=False)
    for name in ("workers", "nproc", "gpus", "max-restarts"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("name", "cpus", "memory", "queue", "image"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--volume", action="append", dest="volumes", default=[])
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("arguments", nargs="*", help="of the program, behind --")
    return parser


def _cell(line: str, cell: str) -> Job:
    try:
        given = vars(_options().parse_args(shlex.split(line)))
    except SystemExit:
        raise ValueError("%%muster: see the message above") from None
    arguments = given.pop("arguments")
    env = dict(one.split("=", 1) for one in given.pop("env"))
    folder = pathlib.Path(".muster-cells")
    folder.mkdir(exist_ok=True)
    program = folder / f"cell-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.py"
    program.write_text(cell)
    folder.chmod(0o755)  # under root's daemon its jobs may be another user than the kernel
    program.chmod(0o644)
    options = {name: value for name, value in given.items() if value not in (None, [], False)}
    return run([sys.executable, str(program.resolve()), *arguments], env=env, **options)


def register(ipython: Any) -> None:
    ipython.register_magic_function(_cell, "cell", "muster")

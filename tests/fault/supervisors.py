"""kill -9 of those who watch over a pod."""
import contextlib
import json
import os
import pathlib
import select
import signal


def kill_some(daemon, random, roles):
    """Of a pod that runs, those of "worker" and "keeper" that roles names, as its record knows them. Only while both are
    there: those killed before have been replaced. Returns the pod's record; None when there was no such pod."""
    folders = list(pathlib.Path(daemon.folder, "pods").iterdir())
    random.shuffle(folders)
    for folder in folders:
        with contextlib.suppress(OSError, ValueError):
            record = json.loads((folder / "state.json").read_text())
            named = {"worker": record["pid"], "keeper": record["keeperPid"]}
            with contextlib.ExitStack() as held:
                handles = {role: os.pidfd_open(pid) for role, pid in named.items()}
                for handle in handles.values():
                    held.callback(os.close, handle)
                if record["final"] or not all(folder.name.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                                              for pid in named.values()):
                    continue
                for role in roles:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(handles[role], signal.SIGKILL)
                for role in roles:
                    select.select([handles[role]], [], [])  # until it is dead
            return record
    return None

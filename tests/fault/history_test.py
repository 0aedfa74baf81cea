#!/usr/bin/python3
"""What clients were told is true: kill -9 of the daemon at any moment under load, and watches of all sorts meanwhile.

Kills: an acknowledged write is never lost, and the revision never goes back.
Watches: no gap, no duplicate, no other order; a bookmark is never ahead; what is compacted is 410. All clients together are the
history, and each must have seen its part of it whole, over cut connections and kills.

In CI it is short. By hand: MUSTER_KILLS=200 history_test.py Kills; MUSTER_WATCH_EVENTS=1000000 history_test.py Watches;
MUSTER_HISTORY_SEED repeats what clients do.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

KILLS = int(os.environ.get("MUSTER_KILLS", "8"))
EVENTS = int(os.environ.get("MUSTER_WATCH_EVENTS", "20000"))
SEED = int(os.environ.get("MUSTER_HISTORY_SEED", random.randrange(1 << 30)))
MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 4
WATCHERS = 40
GONE = (OSError, http.client.HTTPException)


class Client:
    """A connection that is opened again when it broke."""

    def __init__(self, daemon):
        self.daemon, self.connection = daemon, None

    def ask(self, method, path, body=None):
        """Raises one of GONE when the answer did not come."""
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=harness.PATIENCE)
        try:
            self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                    {"Authorization": f"Bearer {self.daemon.token}", "Content-Type": "application/json"})
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except GONE:
            self.connection.close()
            self.connection = None
            raise


class Writer(threading.Thread):
    """Makes, changes and deletes objects of its own, one write after the other."""

    def __init__(self, daemon, number, up):
        super().__init__(daemon=True)
        self.client, self.number, self.up, self.over = Client(daemon), number, up, threading.Event()
        self.chance = random.Random(SEED * 100 + number)
        self.known = {}     # name -> the values it may have; None: not there
        self.total, self.revision, self.wrong = 0, 0, []
        self.acknowledged = {}  # revision -> name and value

    def write(self):
        name, value = f"w{self.number}-{self.chance.randrange(12)}", f"{self.total}-{self.chance.getrandbits(32)}"
        before = self.known.get(name, [None])
        deletes = before != [None] and self.chance.random() < 0.15
        body = {"metadata": {"name": name, "labels": {"of": str(self.number)}},
                "data": {"n": value, "filling": "x" * self.chance.randrange(400)}}
        self.known[name] = before + [None if deletes else value]
        if deletes:
            status, answer = self.client.ask("DELETE", f"{MAPS}/{name}")
        else:
            status, answer = self.client.ask("PUT", f"{MAPS}/{name}", body)
            if status == 404:
                status, answer = self.client.ask("POST", MAPS, body)
        if status in (200, 201):
            self.known[name] = [None if deletes else value]
            self.total += 1
            if not deletes:
                self.revision = max(self.revision, int(answer["metadata"]["resourceVersion"]))
                self.acknowledged[int(answer["metadata"]["resourceVersion"])] = (name.encode(), value.encode())
        elif status == 404 and deletes and None in before:
            self.known[name] = [None]
        else:
            self.wrong.append(f"{'DELETE' if deletes else 'PUT'} {name}: {status} {answer}")

    def run(self):
        while not self.over.is_set():
            self.up.wait()
            with contextlib.suppress(*GONE):
                self.write()
        if self.client.connection:
            self.client.connection.close()


class WithWriters(harness.WithDaemon):
    def start_writers(self):
        self.up = threading.Event()
        self.up.set()
        self.writers = [Writer(self.daemon, i, self.up) for i in range(WRITERS)]
        for writer in self.writers:
            writer.start()

    def kill_and_restart(self):
        self.daemon.kill()
        self.up.clear()
        self.daemon.start()

    def compare(self):
        """While nobody writes."""
        items = self.daemon.call("GET", MAPS)
        found = {item["metadata"]["name"]: item["data"]["n"] for item in items["items"] if "of" in item["metadata"].get("labels", {})}
        revision = int(items["metadata"]["resourceVersion"])
        for writer in self.writers:
            self.assertEqual(writer.wrong, [], f"MUSTER_HISTORY_SEED={SEED}")
            self.assertGreaterEqual(revision, writer.revision, f"the revision went back; MUSTER_HISTORY_SEED={SEED}")
            for name, allowed in writer.known.items():
                self.assertIn(found.get(name), allowed, f"{name}: an acknowledged write is lost; MUSTER_HISTORY_SEED={SEED}")
                writer.known[name] = [found.get(name)]
        self.assertGreaterEqual(revision, self.revision)
        self.revision = revision

    def pause_writers(self):
        """Until none is inside a write: each write ends when its connection does."""
        for writer in self.writers:
            writer.over.set()
        self.up.set()
        for writer in self.writers:
            writer.join(harness.PATIENCE)
            self.assertFalse(writer.is_alive())

    def resume_writers(self):
        resumed = []
        for old in self.writers:
            new = Writer(self.daemon, old.number, self.up)
            new.known, new.total, new.revision, new.chance = old.known, old.total, old.revision, old.chance
            new.start()
            resumed.append(new)
        self.writers = resumed


class Kills(WithWriters):
    def test_no_acknowledged_write_is_lost(self):
        chance = random.Random(SEED)
        self.revision = 0
        self.start_writers()
        for _ in range(KILLS):
            wanted = sum(writer.total for writer in self.writers) + chance.randrange(1, 120)
            harness.wait_until(lambda: sum(writer.total for writer in self.writers) >= wanted, "writes")
            self.kill_and_restart()
            self.pause_writers()
            self.compare()
            self.resume_writers()
        self.pause_writers()
        self.compare()
        print(f"{KILLS} kills, {sum(writer.total for writer in self.writers)} acknowledged writes, 0 lost, revision {self.revision}",
              flush=True)


EVENT = re.compile(rb'^\{"type":"([A-Z]+)","object":(.*)\}$')
REVISION = re.compile(rb'"resourceVersion":"(\d+)"')
NAME = re.compile(rb'"name":"([^"]*)"')
VALUE = re.compile(rb'"n":"([^"]*)"')


class Watcher(threading.Thread):
    """Watches, is cut off or cuts itself off, and goes on where it was."""

    def __init__(self, daemon, number, from_revision):
        super().__init__(daemon=True)
        self.server, self.chance = daemon, random.Random(SEED * 1000 + number)
        self.seen, self.at, self.over, self.wrong = [], from_revision, threading.Event(), []
        self.parts = [(from_revision, 0)]  # after which revision each part begins, and where in seen
        self.expired = self.cuts = 0
        self.of = str(number % WRITERS) if number % 3 == 0 else None  # some with a selector

    def take(self, line):
        match = EVENT.match(line.strip())
        if not match:
            self.wrong.append(f"no event: {line[:200]}")
            return False
        kind, text = match.groups()
        if kind == b"ERROR":
            if json.loads(text).get("code") != 410:
                self.wrong.append(f"error: {text[:200]}")
                return False
            self.expired += 1
            self.list_again()
            return False
        revision = int(REVISION.search(text).group(1))
        if kind == b"BOOKMARK":
            if revision < self.at:
                self.wrong.append(f"a bookmark of {revision} after {self.at}")
            self.at = revision
            return True
        if revision <= self.at:
            self.wrong.append(f"{kind} of {revision} after {self.at}")
        self.at = revision
        self.seen.append((revision, kind, NAME.search(text).group(1), VALUE.search(text).group(1)))
        return True

    def list_again(self):
        self.at = int(self.server.call("GET", f"{MAPS}?limit=1")["metadata"]["resourceVersion"])
        self.parts.append((self.at, len(self.seen)))

    def watch(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=2)
        selector = f"&labelSelector=of%3D{self.of}" if self.of else ""
        left = self.chance.randrange(50, 5000)
        try:
            connection.request("GET", f"{MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion={self.at}{selector}",
                               headers={"Authorization": f"Bearer {self.server.token}"})
            answer = connection.getresponse()
            while left and not self.over.is_set():
                line = answer.readline()
                if not line or not line.endswith(b"\n") or not self.take(line):
                    return
                left -= 1
            self.cuts += left == 0
        finally:
            connection.close()

    def run(self):
        while not self.over.is_set() and not self.wrong:
            with contextlib.suppress(*GONE, TimeoutError, AssertionError):
                self.watch()


class Watches(WithWriters):
    def check(self, watchers):
        """All of them together saw the history; each must have its part of it."""
        history, total = {}, 0
        for watcher in watchers:
            self.assertEqual(watcher.wrong, [], f"MUSTER_HISTORY_SEED={SEED}")
            for event in watcher.seen:
                total += 1
                self.assertEqual(history.setdefault(event[0], event), event, f"MUSTER_HISTORY_SEED={SEED}")
        ordered = [history[revision] for revision in sorted(history)]
        there = {}
        for revision, kind, name, value in ordered:  # types follow from what was there
            if name in there:
                self.assertEqual(kind == b"ADDED", not there[name], f"{name} at {revision}; MUSTER_HISTORY_SEED={SEED}")
            there[name] = kind != b"DELETED"
        whole = max((w for w in watchers if not w.of and not w.expired and w.seen), key=lambda w: len(w.seen))
        for writer in self.writers:
            for revision, told in list(writer.acknowledged.items()):
                if whole.parts[0][0] < revision <= whole.seen[-1][0]:
                    self.assertIn(revision, history, f"{told} was acknowledged and not told; MUSTER_HISTORY_SEED={SEED}")
                    self.assertEqual(history[revision][2:], told)
        for watcher in watchers:
            parts = watcher.parts + [(None, len(watcher.seen))]
            for (after, begin), (_, end) in zip(parts, parts[1:]):
                if begin == end:
                    continue
                seen = watcher.seen[begin:end]
                wanted = [event for event in ordered if after < event[0] <= seen[-1][0] and
                          (not watcher.of or event[2].startswith(b"w" + watcher.of.encode() + b"-"))]
                if seen != wanted:
                    missing = [event for event in wanted if event not in set(seen)][:3]
                    self.fail(f"a watch from {after} has {len(seen)} of {len(wanted)} events; missing {missing}; "
                              f"MUSTER_HISTORY_SEED={SEED}")
        return total

    def test_they_tell_the_truth(self):
        chance = random.Random(SEED)
        kills = total = cuts = expired = 0
        self.start_writers()
        while total < EVENTS:
            # some begin where they are, some in the past: by a revision that is known to be kept
            now = int(self.daemon.call("GET", f"{MAPS}?limit=1")["metadata"]["resourceVersion"])
            watchers = [Watcher(self.daemon, i, max(1, now - chance.choice((0, 0, 0, 50, 500)))) for i in range(WATCHERS)]
            for watcher in watchers:
                watcher.start()
            wanted = min(EVENTS - total, 60000)
            harness.wait_until(lambda: sum(len(w.seen) for w in watchers) >= wanted / 2 or any(w.wrong for w in watchers), "events")
            self.kill_and_restart()
            kills += 1
            self.up.set()
            harness.wait_until(lambda: sum(len(w.seen) for w in watchers) >= wanted or any(w.wrong for w in watchers), "events")
            for watcher in watchers:
                watcher.over.set()
            for watcher in watchers:
                watcher.join(harness.PATIENCE)
            total += self.check(watchers)
            cuts, expired = cuts + sum(w.cuts for w in watchers), expired + sum(w.expired for w in watchers)
        self.pause_writers()
        print(f"{total} events of {WATCHERS} watches at a time, {kills} kills, {cuts} cut connections, {expired} expired: "
              "0 gaps, 0 duplicates, 0 out of order", flush=True)


if __name__ == "__main__":
    harness.main()

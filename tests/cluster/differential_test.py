#!/usr/bin/python3
"""One list of requests to our own server and to a real kube-apiserver: codes, reasons, messages, headers and shapes are the
same, but for what MEANT lists with its reason.

    differential_test.py --show [TEXT]   print every difference, meant or not, of requests whose name holds TEXT
"""
import http.client
import json
import os
import re
import ssl
import sys
import unittest

import differential_requests
from control_plane import ADMIN, MUSTER, PATIENCE_S, ControlPlane

HEADERS = ("content-type", "warning", "retry-after", "location", "www-authenticate", "allow", "cache-control")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
AGE = re.compile(r"^(\d+[smhd])+$|^<invalid>$")
VARYING = {"uid": "UID", "resourceVersion": "RV", "continue": "MORE", "token": "TOKEN", "pod-template-hash": "HASH"}

# (name of the request, path in the answer, why): patterns that match the whole text. A "known gap" is not intended.
MEANT = differential_requests.MEANT


class Server:
    """One of the two, and what it answered to requests that were to be kept."""

    def __init__(self, port, token, tls):
        self.port, self.token, self.tls = port, token, tls
        self.kept = {}
        self.connection = None

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S,
                                               context=ssl._create_unverified_context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

    def ask(self, request):
        fill = (lambda x: x(self.kept)) if callable(request.body) else (lambda x: x)
        body = fill(request.body)
        path = request.path(self.kept) if callable(request.path) else request.path
        headers = {"Accept": "application/json", "Authorization": "Bearer " + self.token, **request.headers}
        headers = {k: v for k, v in headers.items() if v is not None}
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        self.connection = self.connection or self.connect()
        self.connection.request(request.method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read().decode(errors="replace")
        seen = {"code": answer.status, "headers": {}, "body": parse(text)}
        for name in HEADERS:
            values = answer.headers.get_all(name)
            if values:
                seen["headers"][name] = values if len(values) > 1 else values[0]
        if request.keep:
            self.kept[request.keep] = seen["body"]
        if answer.will_close:
            self.connection.close()
            self.connection = None
        return seen


def parse(text):
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()] if text.startswith("{") else text
    except ValueError:
        return text


def normal(value, key=""):
    """What may differ between two servers of one kind is made the same."""
    if isinstance(value, dict):
        return {k: normal(v, k) for k, v in value.items() if k != "managedFields" and not (k == "details" and v == {})}
    if isinstance(value, list):
        return [normal(v, "cells" if key == "cells" else "") for v in value]
    if isinstance(value, str):
        if key in VARYING and value:
            return VARYING[key]
        if key == "cells" and AGE.match(value):
            return "AGE"
        return TIME.sub("TIME", UID.sub("UID", value))
    return value


def compare(ours, theirs, path=""):
    """Yields (path, ours, theirs) for each difference."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            yield from compare(ours.get(key, "(none)"), theirs.get(key, "(none)"), path + "." + key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from compare(*pair, "%s[%d]" % (path, i))
    elif ours != theirs:
        yield path, ours, theirs


def reason_of(name, path):
    for names, paths, why in MEANT:
        if re.fullmatch(names, name) and re.fullmatch(paths, path):
            return why
    return None


class Differential(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ControlPlane.of(cls).start(alone=True)
        cls.theirs = Server(cls.plane.port, ADMIN, True)
        cls.ours = cls.start_ours()

    @classmethod
    def start_ours(cls):
        folder = cls.plane.folder / "ours"
        folder.mkdir(0o700)
        process = cls.plane.spawn("muster-up", MUSTER, "up", "--only", "api", "--dir", str(folder), "--listen", "127.0.0.1:0",
                                  env={k: v for k, v in os.environ.items() if k != "KUBECONFIG"})
        port = cls.plane.listening(process, folder / "muster.pid")
        return Server(port, (folder / "token").read_text().strip(), False)

    def differences(self, wanted=""):
        for request in differential_requests.requests():
            ours, theirs = normal(self.ours.ask(request)), normal(self.theirs.ask(request))
            if wanted in request.name:
                if ours["code"] != theirs["code"]:  # then nothing else is the same
                    yield request.name, "code", *(tell(answer) for answer in (ours, theirs))
                    continue
                for path, mine, other in compare(ours, theirs):
                    yield request.name, path.lstrip("."), mine, other

    def test_the_answers_are_the_same(self):
        seen, wrong = set(), []
        for name, path, mine, other in self.differences():
            why = reason_of(name, path)
            seen.add(why)
            if not why:
                wrong.append("%s: %s\n    ours   %s\n    theirs %s" % (name, path, show(mine), show(other)))
        self.assertFalse(wrong, "%d differences:\n%s" % (len(wrong), "\n".join(wrong)))
        self.assertEqual([why for _, _, why in MEANT if why not in seen], [], "differences that are no more")


def tell(answer):
    body = answer["body"]
    return "%d %s" % (answer["code"], body.get("message", "") if isinstance(body, dict) else "")


def show(value):
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < 600 else text[:600] + "..."


def main(text=""):
    Differential.setUpClass()
    try:
        count = 0
        for name, path, mine, other in Differential().differences(text):
            count += 1
            print("%s: %s   [%s]\n    ours   %s\n    theirs %s" % (name, path, reason_of(name, path) or "NOT MEANT",
                                                                   show(mine), show(other)))
        print("%d requests, %d differences" % (len(list(differential_requests.requests())), count))
    finally:
        Differential.doClassCleanups()


if __name__ == "__main__":
    if "--show" in sys.argv:
        main(*sys.argv[sys.argv.index("--show") + 1:])
    else:
        unittest.main(verbosity=2)

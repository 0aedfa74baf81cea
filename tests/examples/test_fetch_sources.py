"""tools/fetch-from-release.sh: which of a machine's package sources it takes for another Debian release."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/fetch-from-release.sh")


def own_release():
    with open("/etc/os-release") as file:
        names = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return names.get("VERSION_CODENAME", "")


@unittest.skipUnless(own_release(), "/etc/os-release names no release")
class Sources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.etc = folder.name
        os.mkdir(os.path.join(self.etc, "sources.list.d"))

    def write(self, name, text):
        with open(os.path.join(self.etc, name), "w") as file:
            file.write(text.replace("OWN", own_release()))

    def derive(self):
        return subprocess.run([SCRIPT, "next", "some-package", os.path.join(self.etc, "unused")], text=True,
                              env={**os.environ, "APT_ETC": self.etc, "FETCH_SHOW_SOURCES": "1"},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_one_line_style(self):
        self.write("sources.list", """\
# a comment
deb http://mirror.example/debian OWN main contrib
deb-src http://mirror.example/debian OWN main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ OWN main
deb http://mirror.example/debian-security OWN-security main
deb http://mirror.example/debian OWN-updates main
deb http://vendor.example/linux/debian OWN stable
""")
        self.assertEqual(sorted(self.derive().stdout.splitlines()), [
            "deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ next main",
            "deb http://mirror.example/debian next main contrib"])

    def test_stanza_style(self):
        self.write("sources.list.d/debian.sources", """\
Types: deb deb-src
# a comment
URIs: http://mirror.example/debian
Suites: OWN OWN-updates
Components: main
Signed-By: /k.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: OWN-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: OWN
Components: main
""")
        self.assertEqual(self.derive().stdout.split("\n\n")[0].strip(), """\
Types: deb
URIs: http://mirror.example/debian
Suites: next
Components: main
Signed-By: /k.gpg""")
        self.assertNotIn("security", self.derive().stdout)
        self.assertNotIn("off.example", self.derive().stdout)

    def test_nothing_to_derive_from_is_said(self):
        self.write("sources.list", "deb http://vendor.example/linux OWN stable\n")
        result = self.derive()
        self.assertEqual(result.returncode, 1)
        self.assertIn("no entry for main of Debian", result.stderr)


if __name__ == "__main__":
    unittest.main()

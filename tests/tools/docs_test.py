"""The threat model names a test for each entry point, and the test is there."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
# `tests/api/rbac_test.py`: test_a, test_b; of a browser's tests, the title
NAMED = re.compile(r"`((?:tests|console/test)/[\w./-]+)`(?:: ([^|;`]*))?")


def source(path):
    """What is in the file that path names; a program's source ends in .c."""
    for name in (path, path + ".c"):
        if (TOP / name).is_file():
            return (TOP / name).read_text()
    return None


def missing(text):
    """The tests that the text names and that are not in the tree."""
    wrong = []
    for path, names in NAMED.findall(text):
        found = source(path)
        if found is None:
            wrong.append(path)
            continue
        titled = path.endswith((".mjs", ".ts"))
        for name in [names] if titled else re.split(r"[,\s]+", names):
            name = name.strip()
            if name and not (f'test("{name}' in found if titled else re.search(rf"\b{name}\(", found)):
                wrong.append(f"{path}: {name}")
    return wrong


class ThreatModel(unittest.TestCase):
    def test_every_entry_point_names_tests_that_are_there(self):
        text = (TOP / "docs/threat-model.md").read_text()
        entries = [line for line in text.partition("## Entry points")[2].splitlines() if line.startswith("| **")]
        self.assertGreater(len(entries), 15)
        for line in entries:
            self.assertTrue(NAMED.search(line), f"names no test: {line}")
        self.assertEqual(missing(text), [])

    def test_what_is_not_there_is_found(self):
        self.assertEqual(missing("`tests/api/rbac_test.py`: test_no_such_thing; `tests/no/where.py`; "
                                 "`tests/e2e/console/states.test.mjs`: no such title | `tests/unit/base/secret_test`"),
                         ["tests/api/rbac_test.py: test_no_such_thing", "tests/no/where.py",
                          "tests/e2e/console/states.test.mjs: no such title"])


class Architecture(unittest.TestCase):
    def test_the_files_it_names_are_there(self):
        text = (TOP / "ARCHITECTURE.md").read_text()
        named = re.findall(r"`((?:src/)?(?:api|base|board|cli|client|console|control|core|door|loop|net|port|runtime|server|store)/[\w./]*\w)`", text)
        self.assertGreater(len(named), 20)
        self.assertEqual([path for path in named if not (TOP / "src" / path.removeprefix("src/")).exists()], [])

    def test_the_functions_it_names_are_in_those_files(self):
        text = (TOP / "ARCHITECTURE.md").read_text()
        named = re.findall(r"`([\w/]+\.c)` \(`(\w+)`\)", text)
        self.assertGreater(len(named), 1)
        for path, function in named:
            self.assertRegex((TOP / "src" / path).read_text(), rf"\b{function}\(", path)


if __name__ == "__main__":
    unittest.main()

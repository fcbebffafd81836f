"""Which tests judge a change, and which of these have no time."""

import dataclasses
import functools
import operator
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tests.quick.changes import Changed
from tests.quick.functions import MODULE, functions_of, known_below
from tests.quick.imports import Imports
from tests.quick.record import PACKAGES, Record

GABBI = "tests/gabbi/test_gabbi.py::test_every_response_is_as_the_file_says"
MANUAL_PAGES = "tests/functional/test_manual_pages.py"
#: run after any change
ALWAYS = "tests/architecture"
#: tests that need an environment of their own: the name of it in tox.ini
ELSEWHERE = {
    f"tests/{folder}": folder
    for folder in (
        *("adoption", "galera", "installation", "keystone", "openstackclient", "reference"),
        *("contrib/container", "packages"),
    )
}
#: seconds that a file of tests is taken to need if it was never recorded
UNKNOWN = 5.0


@dataclasses.dataclass
class Choice:
    """The tests for a change, each with the reason; a test is a file, or one function of it."""

    #: test → why it runs, in the order of what is most worth its time
    run: dict[str, str] = dataclasses.field(default_factory=dict)
    #: test → why it doesn't run, though it may notice the change
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)
    #: what the record doesn't tell
    doubts: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0


class Chooser:
    """Chooses tests by what they executed when they were recorded, and by imports.

    :param budget: seconds of tests, one after the other; the cheapest tests come first
    """

    def __init__(self, root: Path, record: Record, budget: float) -> None:
        self.root = root
        self.record = record
        self.budget = budget
        self._imports = Imports(root)
        self._of_file: dict[str, list[str]] = defaultdict(list)
        for test in record.tests:
            self._of_file[test.partition("::")[0]].append(test)

    def chosen(self, changes: Iterable[Changed]) -> Choice:
        """Return the tests for these changes."""
        choice = Choice()
        wanted: dict[str, str] = {}
        # what was changed itself comes before what executes it
        for change in sorted(changes, key=lambda change: not _is_test(change.path)):
            for test, why in self._judging(change, choice.doubts).items():
                wanted.setdefault(test, why)
        changed = {test for test, why in wanted.items() if why == "changed"}
        for test in sorted(wanted, key=lambda test: (test not in changed, self._seconds(test))):
            self._place(test, wanted[test], choice)
        for file in {test.partition("::")[0] for test in wanted} - wanted.keys():
            for test in self._unrecorded(file):
                if test not in wanted:
                    choice.left_out[test] = "not recorded"
        return choice

    def _place(self, test: str, why: str, choice: Choice) -> None:
        environment = next(
            (name for folder, name in ELSEWHERE.items() if f"{test}/".startswith(f"{folder}/")),
            None,
        )
        file = test.partition("::")[0]
        if environment and file not in self._of_file:
            choice.left_out[test] = f"needs tox -e {environment}"
        elif choice.seconds + self._seconds(test) > self.budget:
            choice.left_out[test] = f"no time in {self.budget:.0f} s"
        else:
            choice.run[test] = why
            choice.seconds += self._seconds(test)

    def _seconds(self, test: str) -> float:
        if test in self.record.tests:
            return self.record.tests[test]
        file, _, function = test.partition("::")
        inside = [self.record.tests[each] for each in self._of_file.get(file, ())]
        if not inside:
            return UNKNOWN
        return sum(inside) / len(inside) if function else sum(inside)

    def _unrecorded(self, file: str) -> set[str]:
        """Return what the record doesn't know of a file of tests: the file, or some functions."""
        known = self._of_file.get(file)
        if not known:
            return {file}
        path = self.root / file
        names = functions_of(path.read_bytes()).names if path.exists() else set()
        tests = {name for name in names if name.rpartition(".")[2].startswith("test_")}
        recorded = {test.partition("[")[0] for test in known}
        return {f"{file}::{name.replace('.', '::')}" for name in tests} - recorded

    def _judging(self, change: Changed, doubts: list[str]) -> dict[str, str]:
        """Return the tests that may notice one file's change, each with the reason."""
        path = PurePosixPath(change.path)
        if path.match("tests/gabbi/gabbits/*.yaml"):
            exists = (self.root / path).exists()
            return {f"{GABBI}[sqlite-{path.stem}]": "changed"} if exists else {}
        if _is_test(change.path):
            exists = (self.root / path).exists()
            return {change.path: "changed"} if exists else {}
        if path.suffix == ".py" and path.parts[0] in PACKAGES:
            return self._executing(change, doubts)
        if path.name == "conftest.py":
            below = f"{path.parent}/"
            files = {test for test in self._of_file if test.startswith(below)}
            return dict.fromkeys(files, f"below {path}")
        if path.suffix == ".py":
            files = {file for file in self._imports.all_importers(change.path) if _is_test(file)}
            return dict.fromkeys(files, f"imports {path}")
        return self._reading(path)

    def _executing(self, change: Changed, doubts: list[str]) -> dict[str, str]:
        """Return the tests that executed the changed functions, or import the changed file."""
        known = self.record.functions.get(change.path, {})
        found: dict[str, str] = {}
        for name in sorted(change.functions):
            names = known_below(name, known) if name != MODULE else set(known)
            if not names and name != MODULE:
                doubts.append(f"no recorded test executes {change.path}: {name}")
                names = set(known)
            what = f"executes {change.path}: {name}" if name != MODULE else f"uses {change.path}"
            for test in self.record.named(_any(known[each] for each in names)):
                found.setdefault(test, what)
        for file in filter(_is_test, self._imports.importers(change.path)):
            for test in self._unrecorded(file):
                found.setdefault(test, f"imports {change.path}")
        return found or self._executing_importers(change.path)

    def _executing_importers(self, path: str) -> dict[str, str]:
        """Return the tests that execute what imports a file without functions."""
        ahead, seen = [path], {path}
        while ahead:
            importers = sorted(set().union(*map(self._imports.importers, ahead)) - seen)
            seen |= set(importers)
            bits = _any(
                each
                for importer in importers
                for each in self.record.functions.get(importer, {}).values()
            )
            tests = self.record.named(bits) | {file for file in importers if _is_test(file)}
            if tests:
                return dict.fromkeys(tests, f"uses {path}")
            ahead = importers
        return {}

    def _reading(self, path: PurePosixPath) -> dict[str, str]:
        """Return the tests that name a file, or import a module of the tests which does."""
        if path.match("doc/man/*"):
            return {MANUAL_PAGES: f"reads {path}"}
        named = re.compile(rf'["/]{re.escape(path.name)}"')
        naming = {
            str(file.relative_to(self.root))
            for file in (self.root / "tests").rglob("*.py")
            if named.search(file.read_text(encoding="utf-8"))
        }
        files = {*naming, *(each for file in naming for each in self._imports.importers(file))}
        found = {file for file in files if _is_test(file)}
        if not found and path.parts[0] in PACKAGES:
            found = self._executing_beside(path)
        return dict.fromkeys(found, f"reads {path}")

    def _executing_beside(self, path: PurePosixPath) -> set[str]:
        """Return the tests that execute code in the nearest folder above a file that has code."""
        for folder in path.parents:
            bits = 0
            for file, functions in self.record.functions.items():
                if PurePosixPath(file).parent == folder:
                    bits |= _any(functions.values())
            if bits:
                return self.record.named(bits)
        return set()


def _any(sets: Iterable[int]) -> int:
    """Return the tests that are in any of these."""
    return functools.reduce(operator.or_, sets, 0)


def _is_test(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).match("test_*.py")

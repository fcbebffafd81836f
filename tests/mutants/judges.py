"""The tests that judge a mutant: those that quick chooses for a change of its function."""

from collections import defaultdict
from pathlib import Path, PurePosixPath

from tests.mutants.mutant import Mutant
from tests.quick.changes import Changed
from tests.quick.choice import Chooser
from tests.quick.functions import functions_of
from tests.quick.imports import Imports
from tests.quick.record import Record

REQUESTS = "tests/gabbi/"


class Judges:
    """Names tests as pytest does, the cheapest first, a file's tests together.

    :param seconds: how much time the tests of one mutant may take, one after the other
    """

    def __init__(self, root: Path, record: Record, seconds: float) -> None:
        self._root, self._record = root, record
        self._chooser = Chooser(root, record, seconds)
        self._imports = Imports(root)
        self._known: dict[tuple[str, str], dict[str, float]] = {}

    def of(self, mutant: Mutant) -> dict[str, float]:
        """Return the tests, and the seconds that each is known to take."""
        key = mutant.path, mutant.function
        if key not in self._known:
            self._known[key] = self._chosen(*key)
        return self._known[key]

    def _chosen(self, path: str, function: str) -> dict[str, float]:
        chosen = self._chooser.chosen([Changed(path, frozenset([function]))])
        tests = [test for test in chosen.run if self._exists(test)]
        tests += self._newer_than_the_record(path)
        files: dict[str, list[str]] = defaultdict(list)
        for test in dict.fromkeys(tests):
            files[test.partition("::")[0]].append(test)
        ordered = sorted(files.values(), key=lambda found: sum(map(self._seconds, found)))
        return {test: self._seconds(test) for found in ordered for test in found}

    def _seconds(self, test: str) -> float:
        return self._record.tests.get(test, 1.0)

    def _exists(self, test: str) -> bool:
        """Say whether a recorded test is still there."""
        file, _, name = test.partition("::")
        path = self._root / file
        if not path.is_file() or not name or test.startswith(REQUESTS):
            return path.is_file()
        return name.replace("::", ".") in functions_of(path.read_bytes()).names

    def _newer_than_the_record(self, path: str) -> list[str]:
        """Return the tests of files that import the mutated one, unless the record knows them.

        Nobody knows what they take. They are run in any case: most likely they are new because a
        mutant survived.
        """
        importers = self._imports.importers(path)
        new = importers - self._record.files
        found = sorted(file for file in new if PurePosixPath(file).match("tests/**/test_*.py"))
        for file in sorted(importers & self._record.files):
            for name in sorted(functions_of((self._root / file).read_bytes()).names):
                test = f"{file}::{name.replace('.', '::')}"
                if name.rpartition(".")[2].startswith("test_") and test not in self._record.tests:
                    found.append(test)
        return found

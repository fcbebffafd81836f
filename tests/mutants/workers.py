"""The processes that run tests, each with a copy of the repository."""

import dataclasses
import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.mutants.mutant import Mutant
from tests.mutants.running import PATIENCE
from tests.mutants.tree import copied

KILLED, SURVIVED, TIMEOUT, UNCOVERED = "killed", "survived", "timeout", "not covered"
#: a test that fails without the mutant, too, judges nothing; so often another one is asked
ATTEMPTS = 10


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the tests said of a mutant.

    :param test: the test that noticed it
    :param processor: seconds of processor time
    """

    mutant: Mutant
    outcome: str
    test: str = ""
    processor: float = 0.0

    def __str__(self) -> str:
        place = f"{self.mutant.path}:{self.mutant.line}"
        return f"{self.outcome} ({self.processor:.1f} s): {place} {self.test}"


class Worker:
    """A process of `running.py`.

    :param files: tests that it may be asked to run, imported beforehand
    :param patience: seconds of processor time for each test
    """

    def __init__(self, tree: Path, files: Sequence[str], patience: float = PATIENCE) -> None:
        self.tree, self._patience = tree, patience
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.mutants.running", str(tree)],
            cwd=tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._send(files)

    def _send(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def ask(self, **job: Any) -> dict[str, Any]:
        """Have a job done and return the answer."""
        assert self._process.stdout is not None
        self._send({"patience": self._patience, **job})
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process, and wait for its end."""
        self._process.communicate()


class Workers:
    """Some workers, which hold what some files of tests need.

    :param folder: an empty folder for the copies of the repository
    """

    def __init__(
        self,
        root: Path,
        folder: Path,
        count: int,
        files: Sequence[str],
        patience: float = PATIENCE,
    ) -> None:
        folder.chmod(0o755)
        trees = (copied(root, folder / str(number)) for number in range(count))
        self.workers = [Worker(tree, files, patience) for tree in trees]
        self._lock = threading.Lock()
        #: tests, by whether they pass without a mutant
        self._passing: dict[str, bool] = {}

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()

    def judged(self, worker: Worker, mutant: Mutant, tests: Mapping[str, float]) -> Verdict:
        """Return what tests say of a mutant."""
        with self._lock:
            failing = [test for test, passes in self._passing.items() if not passes]
        asked, processor = tests, 0.0
        for test in failing:
            asked = _without(asked, test)
        content = mutant.applied((worker.tree / mutant.path).read_bytes()).decode()
        for _ in range(ATTEMPTS):
            if not asked:
                return Verdict(mutant, UNCOVERED, processor=processor)
            told = worker.ask(path=mutant.path, content=content, tests=dict(asked))
            processor += told["processor"]
            if told["ended"] == "passed":
                return Verdict(mutant, SURVIVED, processor=processor)
            # without a name, the tests couldn't even be imported
            name = told.get("failed") if told["ended"] == "failed" else told.get("runs")
            test = name or next(iter(asked))
            if self._passes(worker, test, asked):
                outcome = KILLED if told["ended"] == "failed" else TIMEOUT
                return Verdict(mutant, outcome, name or "an import", processor)
            asked = _without(asked, test)
        return Verdict(mutant, SURVIVED, processor=processor)

    def _passes(self, worker: Worker, test: str, asked: Mapping[str, float]) -> bool:
        """Say whether a test passes without a mutant, in its time."""
        with self._lock:
            known = self._passing.get(test)
        if known is None:
            seconds = next((asked[each] for each in asked if _has(each, test)), 1.0)
            known = worker.ask(tests={test: seconds})["ended"] == "passed"
            with self._lock:
                self._passing[test] = known
            if not known:
                print(f"fails without a mutant, too, or takes too long: {test}", flush=True)
        return known


def _has(asked: str, test: str) -> bool:
    """Say whether what was asked for, a file, a function or a test, has the test."""
    return test == asked or test.startswith((f"{asked}::", f"{asked}["))


def _without(asked: Mapping[str, float], test: str) -> Mapping[str, float]:
    """Return what was asked for but for what has the test."""
    return {each: seconds for each, seconds in asked.items() if not _has(each, test)}

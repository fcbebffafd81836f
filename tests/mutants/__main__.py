"""Change the product a little, many times, and see whether the tests notice: `tox -e mutants`.

Each mutant is judged by the tests that quick would choose for a change of its function, the
cheapest first. A mutant that no test notices needs a test, or an entry of `equivalent.yaml` with
the reason why it changes nothing. The same seed gives the same mutants, except in functions that
were edited since.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.mutants import equivalents, report
from tests.mutants.judges import Judges
from tests.mutants.mutant import Mutant
from tests.mutants.places import FOLDERS, all_places, sampled
from tests.mutants.workers import UNCOVERED, Verdict, Worker, Workers
from tests.quick.__main__ import BUDGET
from tests.quick.record import Record

ROOT = Path(__file__).parents[2]
#: of a hundred mutants, so many are to be killed
GOAL = 90.0


def main(arguments: list[str]) -> int:
    """Judge mutants, and return 1 if too many survive."""
    options = _parser().parse_args(arguments)
    until = time.monotonic() + 60 * options.minutes
    every = sampled(all_places(ROOT, options.only or FOLDERS), options.seed)
    mutants = equivalents.without(every, equivalents.listed())[: options.count]
    if options.list:
        print(*mutants, sep="\n")
        return 0
    judges = Judges(ROOT, Record.read(), options.seconds)
    verdicts = Run(mutants, judges, until).judge(options.workers)
    print("", *report.survivors(verdicts), "", *report.table(verdicts), sep="\n")
    if len(verdicts) < len(mutants):
        print(f"no time for {len(mutants) - len(verdicts)} of {len(mutants)} mutants")
    return 0 if report.percentage(verdicts) >= GOAL else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tox -e mutants --", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which mutants (default: 1)")
    parser.add_argument("--count", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--minutes", type=float, default=20, help="most minutes (default: 20)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=BUDGET,
        help=f"of tests for each mutant (default: {BUDGET:.0f}, as quick)",
    )
    parser.add_argument("--only", action="append", help="a folder or a file; may be repeated")
    parser.add_argument("--list", action="store_true", help="show the mutants, and run nothing")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--workers", type=int, default=cores, help=f"(default: {cores})")
    return parser


class Run:
    """Judges mutants with several workers at once.

    :param until: when, by the monotonic clock, no further one is begun
    """

    def __init__(self, mutants: list[Mutant], judges: Judges, until: float) -> None:
        self._mutants, self._judges, self._until = mutants, judges, until
        self._lock = threading.Lock()
        self._verdicts: list[Verdict] = []

    def judge(self, count: int) -> list[Verdict]:
        """Return the verdicts."""
        tests = {test for mutant in self._mutants for test in self._judges.of(mutant)}
        files = sorted({test.partition("::")[0] for test in tests})
        print(f"{len(self._mutants)} mutants, {len(tests)} tests in {len(files)} files", flush=True)
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            workers = Workers(ROOT, Path(folder), count, files)
            ahead = iter(self._mutants)
            threads = [
                threading.Thread(target=self._work, args=(workers, worker, ahead))
                for worker in workers.workers
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            workers.close()
        return self._verdicts

    def _work(self, workers: Workers, worker: Worker, ahead: Iterator[Mutant]) -> None:
        while time.monotonic() < self._until:
            with self._lock:
                mutant = next(ahead, None)
            if mutant is None:
                return
            tests = self._judges.of(mutant)
            verdict = workers.judged(worker, mutant, tests) if tests else Verdict(mutant, UNCOVERED)
            with self._lock:
                self._verdicts.append(verdict)
            print(verdict, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

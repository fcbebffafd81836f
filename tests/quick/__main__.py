"""Run the tests that judge the current change, in about a minute: `tox -e quick`.

The change is everything that differs from the commit where the branch left its base
(`BERTH_QUICK_BASE`, or `origin/main`), committed or not. Tests are chosen by what they executed
when `tox -e record` ran last. Every test that may notice the change and isn't run is named, with
the reason. `BERTH_QUICK_SECONDS` allows more time.
"""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.quick import selecting
from tests.quick.changes import changed
from tests.quick.choice import ALWAYS, Choice, Chooser
from tests.quick.record import Record
from tests.quick.selecting import CHOSEN

ROOT = Path(__file__).parents[2]
BASE = os.environ.get("BERTH_QUICK_BASE", "origin/main")
#: seconds of tests, one after the other; with two processors half of it, after lint
BUDGET = float(os.environ.get("BERTH_QUICK_SECONDS", "100"))


def main(arguments: list[str]) -> int:
    """Run the tests and return pytest's exit code; `arguments` are pytest's."""
    record = Record.read()
    choice = Chooser(ROOT, record, BUDGET).chosen(changed(ROOT, BASE))
    print(*told(choice, record), sep="\n")
    sys.stdout.flush()
    return run(choice, ROOT, arguments)


def run(choice: Choice, root: Path, arguments: list[str]) -> int:
    """Run the chosen tests on SQLite and return pytest's exit code."""
    files = dict.fromkeys(test.partition("::")[0] for test in choice.run)
    there = [file for file in files if (root / file).exists()]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join([ALWAYS, *choice.run]))
        file.flush()
        environment = {**os.environ, "BERTH_TEST_DATABASES": "sqlite", CHOSEN: file.name}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", selecting.__name__]
        command += [*arguments, ALWAYS, *there]
        return subprocess.run(command, cwd=root, env=environment, check=False).returncode


def told(choice: Choice, record: Record) -> list[str]:
    """Return the lines that say what runs, what doesn't, and why."""
    lines = [f"quick: {ALWAYS} and {len(choice.run)} tests, about {choice.seconds:.0f} s of work"]
    lines += _by_file(choice.run, record)
    if choice.left_out:
        lines.append(f"NOT RUN, though they may notice the change: {len(choice.left_out)} tests")
        lines += _by_file(choice.left_out, record)
    lines += (f"not known: {doubt}" for doubt in choice.doubts)
    if not record.tests:
        lines.append("not known: what tests execute, as tox -e record never ran")
    return lines


def _by_file(tests: Mapping[str, str], record: Record) -> list[str]:
    """Return a line for each file and reason: how many of its tests, and how long they take."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for test, why in tests.items():
        groups[test.partition("::")[0], why].append(test)
    lines = []
    for (file, why), names in sorted(groups.items()):
        seconds = sum(record.tests.get(name, 0.0) for name in names)
        lines.append(f"  {file}: {len(names)} ({seconds:.1f} s): {why}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

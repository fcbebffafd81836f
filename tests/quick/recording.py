"""Record which functions each test executes: `tox -e record`.

All tests run once on SQLite with coverage, in this process's workers and in the programs that tests
start. The result is `record.xz`.
"""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from coverage.numbits import numbits_to_nums

from tests.quick.functions import MODULE, functions_of
from tests.quick.record import PACKAGES, Record
from tests.quick.recorder import FOLDER

ROOT = Path(__file__).parents[2]

SETTINGS = """\
[run]
core = ctrace
source_pkgs = {packages}
data_file = {folder}/executed
parallel = true
context = ${{COVERAGE_CONTEXT-}}
concurrency = thread, multiprocessing
sigterm = true
disable_warnings = no-data-collected, module-not-imported, module-not-measured, trace-changed
"""
HAS_LINES = "SELECT 1 FROM sqlite_master WHERE name = 'line_bits'"


def main(arguments: list[str]) -> int:
    """Run the tests, write the record, and return pytest's exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        settings = folder / "settings"
        settings.write_text(SETTINGS.format(packages=", ".join(PACKAGES), folder=folder))
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "tests.quick.recorder"]
        environment = {
            **os.environ,
            "BERTH_TEST_DATABASES": "sqlite",
            "COVERAGE_PROCESS_START": str(settings),
            FOLDER: name,
        }
        ended = subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=False)
        record = recorded(folder, ROOT)
    record.commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    record.write()
    print(f"recorded: {len(record.tests)} tests, {len(record.functions)} files")
    return ended.returncode


def recorded(folder: Path, root: Path) -> Record:
    """Return what the workers and programs left in a folder, with the tests sorted by name."""
    seconds: dict[str, float] = defaultdict(float)
    ran = set()
    for file in folder.glob("seconds.*"):
        for line in file.read_text().splitlines():
            node, duration, has_run = json.loads(line)
            seconds[name_of(node)] += duration
            if has_run:
                ran.add(name_of(node))
    tests = {test: round(seconds[test], 2) for test in sorted(ran)}
    place = {test: number for number, test in enumerate(tests)}
    functions: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for test, path, names in _executed(folder.glob("executed*"), root):
        if test in place:
            for name in names:
                functions[path][name] |= 1 << place[test]
    return Record(tests, {path: dict(names) for path, names in functions.items()})


def name_of(node: str) -> str:
    """Return the test's name without its parameters; a file of requests keeps its name."""
    if node.startswith("tests/gabbi/"):
        return node
    path, _, rest = node.partition("::")
    return f"{path}::{rest.partition('[')[0]}"


def _executed(files: Iterable[Path], root: Path) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield test, path of the product, and the functions that the test executed there."""
    known: dict[tuple[str, bytes], frozenset[str]] = {}
    for file in files:
        # a process that was killed may leave an empty database, and the journal of one
        if file.name.endswith("-journal"):
            continue
        with contextlib.closing(sqlite3.connect(file)) as database:
            if not database.execute(HAS_LINES).fetchall():
                continue
            rows = database.execute(
                "SELECT context, path, numbits FROM line_bits"
                " JOIN context ON context.id = context_id JOIN file ON file.id = file_id"
                " WHERE context != ''"
            )
            for context, whole, numbits in rows:
                path = _of_product(whole, root)
                if path is None:
                    continue
                if (path, numbits) not in known:
                    functions = functions_of((root / path).read_bytes())
                    lines = numbits_to_nums(numbits)
                    names = {functions.executing(line) for line in lines} - {MODULE}
                    known[path, numbits] = frozenset(names)
                # a forked process has its own test behind that of its parent
                test = context.rpartition("|tests/")
                yield name_of("".join(test[1:]).removeprefix("|")), path, known[path, numbits]


def _of_product(path: str, root: Path) -> str | None:
    """Return the path below the repository: programs have the packages installed elsewhere."""
    parts = PurePosixPath(path).parts
    for place, part in enumerate(parts):
        if part in PACKAGES and root.joinpath(*parts[place:]).is_file():
            return "/".join(parts[place:])
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A process that holds what tests import, and forks one for each run of tests.

It works in its copy of the repository. It reads a job from each line of its input, and answers
with a line: how the tests ended, and which test failed first. So no run has to start Python, or to
import numpy, SQLAlchemy and the like; nor the product and the tests, if the mutant is a function
whose code can be changed afterwards.
"""

import contextlib
import io
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from tests.mutants.swapping import Calls, Functions
from tests.mutants.tree import Swapped

#: packages that a run imports itself, as one of their files may be a mutant
OURS = ("placement", "compute", "virt", "benchmarks", "tests")
#: bytes that a run may have: an endless list ends there
MEMORY = 8 << 30
#: seconds of processor time for a test, on top of three times what it takes
PATIENCE = 8.0
#: seconds by the clock for a run, on top of ten times what its tests take: then it hangs
HANGING = 90.0
NOT_OF_TESTS = "-p no:cacheprovider -o addopts=--strict-markers -x -q"


class Watch:
    """A plugin: tells which test runs, which one failed, and ends a test that takes too long."""

    def __init__(self, told: int, seconds: Mapping[str, float], patience: float) -> None:
        self._told, self._seconds, self._patience = told, seconds, patience

    def tell(self, **words: str) -> None:
        """Write a line to the process that waits."""
        os.write(self._told, (json.dumps(words) + "\n").encode())

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let random examples be the same in each run, and the first that fails be enough."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutants", settings.default, phases=phases, database=None, derandomize=True
        )
        settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Name the test, and bound its processor time."""
        self.tell(runs=item.nodeid)
        known = self._seconds.get(item.nodeid) or self._seconds.get(_function(item.nodeid), 1.0)
        signal.setitimer(signal.ITIMER_PROF, self._patience + 3 * known)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name the test that failed."""
        if report.failed:
            self.tell(failed=report.nodeid)


def _function(node: str) -> str:
    path, _, rest = node.partition("::")
    return f"{path}::{rest.partition('[')[0]}"


def main(tree: Path) -> None:
    """Answer jobs until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    environment = {
        "BERTH_TEST_DATABASES": "sqlite",
        "PYTHONPATH": str(tree),
        "TMPDIR": str(tree.parent / f"{tree.name}.tmp"),
    }
    os.environ |= environment
    # the files of tests come first
    functions = collected(tree, json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        answer = done(tree, functions, json.loads(line))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def collected(tree: Path, files: list[str]) -> Functions:
    """Import some files of tests, and all that they import. Return the functions."""
    with Calls(tree) as calls, contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*NOT_OF_TESTS.split(), "--collect-only", *files])
    return Functions(tree, calls.made)


def done(tree: Path, functions: Functions, job: Mapping[str, Any]) -> dict[str, Any]:
    """Run tests with or without a mutant."""
    if "content" not in job:
        return _forked(tree, functions, job)
    before = (tree / job["path"]).read_text(encoding="utf-8")
    # programs that tests start read the file
    with Swapped(tree / job["path"], job["content"].encode()):
        return _forked(tree, functions, {**job, "before": before})


def _forked(tree: Path, functions: Functions, job: Mapping[str, Any]) -> dict[str, Any]:
    told, tells = os.pipe()
    began = time.monotonic()
    temporary = Path(os.environ["TMPDIR"])
    temporary.mkdir(exist_ok=True)
    child = os.fork()
    if child == 0:
        os.close(told)
        _run(tree, functions, job, tells)
    os.close(tells)
    hanging = HANGING + 10 * sum(job["tests"].values())
    ended, used, lines = _awaited(child, told, began + hanging)
    os.close(told)
    with contextlib.suppress(ProcessLookupError):
        # programs that the tests left
        os.killpg(child, signal.SIGKILL)
    shutil.rmtree(temporary, ignore_errors=True)
    answer = {"seconds": time.monotonic() - began, "processor": used}
    for line in lines:
        answer |= json.loads(line)
    if ended is None or ended == -signal.SIGPROF:
        return answer | {"ended": "timeout"}
    # 5: there was no test
    outcomes = {0: "passed", 5: "passed"}
    return answer | {"ended": outcomes.get(ended, "failed")}


def _awaited(child: int, told: int, until: float) -> tuple[int | None, float, list[bytes]]:
    """Wait for the end of a process. Return its exit code, or None; seconds used; what it told."""
    watched = os.pidfd_open(child)
    text, ended = b"", None
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.register(told, select.POLLIN)
    is_there = True
    while is_there and (left := until - time.monotonic()) > 0:
        for ready, _ in poll.poll(left * 1000):
            if ready == watched:
                is_there = False
            elif more := os.read(told, 1 << 16):
                text += more
            else:
                poll.unregister(told)
    if is_there:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    os.set_blocking(told, False)
    with contextlib.suppress(BlockingIOError):
        while more := os.read(told, 1 << 16):
            text += more
    if not is_there:
        ended = os.waitstatus_to_exitcode(status)
    os.close(watched)
    # the last line may lack its end
    return ended, usage.ru_utime + usage.ru_stime, text.split(b"\n")[:-1]


def _run(tree: Path, functions: Functions, job: Mapping[str, Any], told: int) -> None:
    """Run the tests in this process, which ends then."""
    code = 70
    try:
        os.setsid()
        output = os.open(f"{tree}.output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(output, number)
        # of what is written to: browsers reserve far more
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        sys.path[:] = [str(tree), *(place for place in sys.path if place != str(tree))]
        if "content" in job:
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            if not functions.become(job["path"], job["before"], job["content"]):
                for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
                    del sys.modules[name]
        watch = Watch(told, job["tests"], job.get("patience", PATIENCE))
        code = pytest.main([*NOT_OF_TESTS.split(), *job["tests"]], [watch])
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A plugin of pytest: tell coverage which test is running. See `recording.py`.

Coverage has started in this process, as `COVERAGE_PROCESS_START` names its settings.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

#: the folder for what is recorded
FOLDER = "BERTH_RECORD"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test in whose time the lines are executed; programs inherit the name."""
    os.environ["COVERAGE_CONTEXT"] = item.nodeid
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        if running is not None:
            running.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long each part of a test took."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return
    with (Path(os.environ[FOLDER]) / f"seconds.{worker}").open("a") as file:
        ran = report.when == "call" or report.failed
        file.write(json.dumps([report.nodeid, report.duration, ran]) + "\n")


def pytest_sessionfinish() -> None:
    """Keep what this process executed; a worker's process may end without notice."""
    running = coverage.Coverage.current()
    if running is not None:
        running.stop()
        running.save()

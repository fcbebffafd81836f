"""What a forked process executes is recorded for the test that forked it. See `recording.py`."""

import os
import sys


def name_test() -> None:
    """Tell coverage, if it runs, the test that this process's environment names.

    What was forked has the name with which its parent was started, in the first test that forks.
    """
    coverage = sys.modules.get("coverage")
    running = coverage and coverage.Coverage.current()
    if running:
        running.switch_context(os.environ.get("COVERAGE_CONTEXT", ""))

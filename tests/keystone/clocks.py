"""Processes with another time than this machine's, by libfaketime."""

import os
from pathlib import Path

import pytest


def shifted(seconds: int) -> dict[str, str]:
    """Return the variables of a process whose clock is so many seconds ahead of ours."""
    return {
        "LD_PRELOAD": _library(),
        "FAKETIME": f"{seconds:+d}",
        # without this, waiting for a lock ends at once or never
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def _library() -> str:
    # glob's order isn't defined; there is one for each architecture
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        reason = "NOT TESTED WITH ANOTHER CLOCK: install libfaketime"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return str(found[0])

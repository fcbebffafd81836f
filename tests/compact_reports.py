"""What workers report of each test travels in one piece.

Otherwise execnet writes and reads each of a hundred values by itself, three times a test: most of
what a test costs that does nothing.
"""

import marshal
from collections.abc import Generator
from typing import Any

import pytest

_WHOLE = "in one piece"


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """In a worker: put it into one value; what can't be is refused by execnet, too."""
    data = yield
    return data and {_WHOLE: marshal.dumps(data)}


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable(data: dict[str, Any]) -> Generator[None, Any, Any]:
    """In the process that tells the results: take it out again, beside what xdist added."""
    data.update(marshal.loads(data.pop(_WHOLE)))
    return (yield)

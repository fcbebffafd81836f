"""The longest tests begin first: one that begins last keeps all workers but its own waiting."""

import os
from collections import Counter

import pytest

from tests.quick.record import Record

#: seconds that such a test took when quick's record was made
LONG = 5.0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put them first where several workers share the tests, unless a random order is wanted."""
    if "PYTEST_XDIST_WORKER" not in os.environ or config.pluginmanager.hasplugin("randomly"):
        return
    known = Record.read().tests
    cases = Counter(map(_function, items))

    def place(item: pytest.Item) -> float:
        name = _function(item)
        seconds = known.get(name, 0) / cases[name]
        return -seconds if seconds >= LONG else 0

    items.sort(key=place)


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]

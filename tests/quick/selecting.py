"""Has pytest run the tests that quick chose: what is gone since the record ends no run.

pytest ends without a test if one that is named doesn't exist. So it gets files, and this plugin
leaves out the tests of them that weren't chosen.
"""

import os
from pathlib import Path

import pytest

#: the environment variable that names the file with the chosen tests, one a line
CHOSEN = "BERTH_QUICK_CHOSEN"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what wasn't chosen."""
    chosen = set(Path(os.environ[CHOSEN]).read_text(encoding="utf-8").splitlines())
    others = [item for item in items if chosen.isdisjoint(_names(item.nodeid))]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if not chosen.isdisjoint(_names(item.nodeid))]


def _names(test: str) -> set[str]:
    """Return what names a test: itself, without parameters, its file, and the folders of that."""
    file = test.partition("::")[0]
    return {test, test.partition("[")[0], file, *map(str, Path(file).parents)}

"""Selects the tests of this folder, and provides the two programs.

Like the comparison in tests/reference, these tests need the reference, which is installed from PyPI
into its own environment. They run only if BERTH_REFERENCE is set; the tox environment `adoption`
sets it.
"""

import os
import sys
from collections.abc import Iterator

import pytest

from tests.adoption.programs import Program
from tests.reference.environment import reference_python

collect_ignore_glob = [] if os.environ.get("BERTH_REFERENCE") else ["test_*.py"]


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Yield OpenStack Placement."""
    folder = tmp_path_factory.mktemp("programs") / "reference"
    program = Program("reference", reference_python(), folder)
    yield program
    program.close()


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Yield Berth."""
    program = Program("ours", sys.executable, tmp_path_factory.mktemp("programs") / "ours")
    yield program
    program.close()


@pytest.fixture
def empty_url(new_database) -> str:
    """Return the URL of a database without tables."""
    return new_database(empty=True)

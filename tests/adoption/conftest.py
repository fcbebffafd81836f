"""What of this folder is collected, and the two programs it needs.

Like the comparison in tests/reference this needs the reference, which is installed from PyPI into
an environment of its own. It is asked for by setting BERTH_REFERENCE, as the tox environment
`adoption` does.
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
    """OpenStack Placement."""
    folder = tmp_path_factory.mktemp("programs") / "reference"
    program = Program("reference", reference_python(), folder)
    yield program
    program.close()


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Berth."""
    program = Program("ours", sys.executable, tmp_path_factory.mktemp("programs") / "ours")
    yield program
    program.close()


@pytest.fixture
def empty_url(new_database) -> str:
    """The URL of a database without tables."""
    return new_database(empty=True)

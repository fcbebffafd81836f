"""The page's modules that draw nothing, tested by node's own runner."""

import subprocess
from pathlib import Path

import pytest

from tests.extras import needed_library

FOLDER = Path(__file__).parent / "modules"


@pytest.fixture(scope="module")
def node():
    """Return the node that comes with playwright."""
    needed_library("playwright", "browser")
    from playwright._impl._driver import compute_driver_executable

    return compute_driver_executable()[0]


def test_what_the_modules_compute(node):
    files = sorted(map(str, FOLDER.glob("*.test.mjs")))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert len(files) > 3

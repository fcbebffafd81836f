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
    alone, together = [], []
    for file in sorted(FOLDER.glob("*.test.mjs")):
        # whoever sets what all modules have, or what they keep, has a process of its own
        (alone if "globalThis" in file.read_text() else together).append(file)
    assert min(len(alone), len(together)) > 3
    for options in (alone, ["--test-isolation=none", *together]):
        done = subprocess.run([node, "--test", *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

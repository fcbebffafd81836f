"""Selects the tests of this folder, and builds the distributions that they share.

pip installs packages from PyPI here. So these tests run only if BERTH_INSTALLATION is set; the tox
environment `installation` sets it.
"""

import os
import pathlib
import subprocess
import sys

import fasteners
import pytest

ROOT = pathlib.Path(__file__).parents[2]

collect_ignore_glob = [] if os.environ.get("BERTH_INSTALLATION") else ["test_*.py"]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Build the source distribution, and from it the wheel; return their directory.

    setuptools writes into the repository meanwhile. So pytest's processes build once for all.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "distributions"
    with fasteners.InterProcessLock(folder.with_suffix(".lock")):
        if not list(folder.glob("*.whl")):
            subprocess.run(
                [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
    return folder


@pytest.fixture(scope="session")
def sdist(built):
    (found,) = built.glob("openstack_berth-*.tar.gz")
    return found


@pytest.fixture(scope="session")
def wheel(built):
    (found,) = built.glob("openstack_berth-*.whl")
    return found

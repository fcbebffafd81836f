"""Selects the tests of this folder: they need the program `openstack`.

python-openstackclient is large and not needed otherwise. So these tests run only if
BERTH_OPENSTACKCLIENT is set. The tox environment `openstackclient` sets it and installs the client.
"""

import os

import pytest

from tests.functional.forked import PROCESSES
from tests.functional.placement.serving.programs import needed

collect_ignore_glob = [] if os.environ.get("BERTH_OPENSTACKCLIENT") else ["test_*.py"]


@pytest.fixture(scope="session")
def openstack_program(request):
    """Have `openstack` ready to be run by `programs.run`."""
    needed("openstack", "python-openstackclient and osc-placement")
    PROCESSES.set_forkserver_preload(["tests.openstackclient.imported"])
    request.getfixturevalue("forking")

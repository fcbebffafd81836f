"""Selects the tests of this folder: they need the program `openstack`.

python-openstackclient is large and not needed otherwise. So these tests run only if
BERTH_OPENSTACKCLIENT is set. The tox environment `openstackclient` sets it and installs the client.
"""

import os

collect_ignore_glob = [] if os.environ.get("BERTH_OPENSTACKCLIENT") else ["test_*.py"]

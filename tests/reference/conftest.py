"""What of this folder is collected.

Comparing needs the reference, which is installed from PyPI into an environment of its own: not
something for an ordinary test run. It is asked for by setting BERTH_REFERENCE, as the tox
environment `reference` does.
"""

import os

collect_ignore_glob = [] if os.environ.get("BERTH_REFERENCE") else ["test_against_*.py"]

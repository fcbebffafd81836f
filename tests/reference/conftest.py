"""Selects the tests of this folder.

A comparison needs the reference, which is installed from PyPI into its own environment. So these
tests run only if BERTH_REFERENCE is set; the tox environment `reference` sets it.
"""

import os

collect_ignore_glob = [] if os.environ.get("BERTH_REFERENCE") else ["test_against_*.py"]

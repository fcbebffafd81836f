"""Selects the tests of this folder: they build the site of doc/ with Sphinx.

Sphinx is not needed otherwise. So these tests run only if BERTH_SITE is set; the tox environment
`docs` sets it.
"""

import os

collect_ignore_glob = [] if os.environ.get("BERTH_SITE") else ["test_*.py"]

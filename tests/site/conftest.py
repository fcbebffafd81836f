"""Selects the tests of this folder: they read the site that Sphinx made of doc/.

They run only if BERTH_SITE names its folder. The tox environment `docs` builds it there.
"""

import os

collect_ignore_glob = [] if os.environ.get("BERTH_SITE") else ["test_*.py"]

"""Programs of the tests that are forked have nothing to import."""

import os

from tests.functional.forked import IMPORTED, Forked, unimported


def test_what_programs_need_is_imported_once(forking):
    process = Forked(unimported, [IMPORTED], dict(os.environ))
    assert process.communicate() == ("\n", "")
    assert process.returncode == 0

"""Forked programs have their imports: nobody is told if the process they fork from has none."""

import os
import sys

from tests.functional.compute.forked import PRELOADED, Forked


def tell(arguments):
    print(*(name in sys.modules for name in arguments))


def test_forked_programs_import_nothing(forking):
    program = Forked(tell, [PRELOADED, "compute.cli.berth_compute"], dict(os.environ))
    assert program.communicate() == ("True True\n", "")

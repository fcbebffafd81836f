"""Exit codes of commands that ask whether something fits."""

import sys
from typing import NoReturn

#: exit code if nothing fits, and if the time was over before that was found out
NOTHING_FITS, UNKNOWN = 3, 4
#: exit code of argparse
_WRONG_OPTIONS = 2

CODES = """
The exit code is 0 if something fits, 3 if nothing does, 4 if the time was over before that was
found out, 1 if placement can't answer, and 2 if the options are wrong.
"""


def refuse(message: str) -> NoReturn:
    """Say what is wrong with the options, and end the command with the exit code for that."""
    sys.stderr.write(f"{message}\n")
    raise SystemExit(_WRONG_OPTIONS)

"""One process compiles what the tests import, and the others use it.

On a fresh machine nothing is compiled. All workers of a run import the same modules at the same
time. Each would compile all of them, which takes longer than the rest of collecting tests.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

#: the folder whose tests are imported last
LAST = Path(__file__).parent / "versions"


@contextlib.contextmanager
def by_one_process() -> Iterator[None]:
    """Be the one that imports first, or wait for its end; what is compiled needs neither."""
    if (LAST / "__pycache__").exists():
        yield
        return
    with open(__file__) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield

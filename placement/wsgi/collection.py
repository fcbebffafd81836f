"""The garbage collector in a process that only serves."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Collect nothing meanwhile.

    Imports make many objects that stay, and few reference cycles. Each collection would traverse
    them all, and take a tenth of the time of a start.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def settle() -> None:
    """Exclude all existing objects from garbage collection.

    A request creates few reference cycles, but many objects if its response is long. Each new
    collection would traverse all of the service's own objects again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)

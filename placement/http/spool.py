"""A long body that is written before the response begins.

So the database's transaction has ended when a slow client reads the body, and a failure while it
is written still gets a status of its own.
"""

import contextlib
import tempfile
from collections.abc import Iterator

from placement.errors import NoRoomForAnswer

#: bytes that are kept in memory; a longer body goes to a temporary file
IN_MEMORY = 8 * 1024 * 1024
#: bytes that are passed on together
_PIECE = 256 * 1024


class Spool:
    """Bytes that are written once and then read once; `close` frees them."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(in_memory)  # noqa: SIM115 – see `close`
        self.length = 0

    def write(self, data: bytes) -> None:
        """Append bytes. Raises NoRoomForAnswer if the disk for temporary files is full."""
        with _room():
            self._file.write(data)
        self.length += len(data)

    def finish(self) -> None:
        """Store what is buffered yet. Raises NoRoomForAnswer."""
        with _room():
            self._file.flush()

    def restart(self) -> None:
        """Drop what was written."""
        self._file.seek(0)
        self._file.truncate()
        self.length = 0

    def pieces(self) -> Iterator[bytes]:
        """Yield what was written."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece

    def close(self) -> None:
        """Free memory and disk."""
        self._file.close()


@contextlib.contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as failed:
        raise NoRoomForAnswer(why=failed.strerror or failed) from failed


@contextlib.contextmanager
def kept(spool: Spool) -> Iterator[Spool]:
    """Close the spool if the block fails."""
    try:
        yield spool
    except BaseException:
        spool.close()
        raise

"""Opening a SQLite file without changing it, or any file beside it."""

from pathlib import Path

#: byte 18 of a SQLite file whose writers use a write-ahead log
_WAL = 2


def read_only_uri(path: str | Path) -> str:
    """Return a URI that reads the file without creating any other file.

    In WAL mode, even a reader creates a missing write-ahead log. A missing log means that nobody
    writes, so SQLite may treat the file as immutable. Raises OSError if the file can't be read.
    """
    path = Path(path).resolve()
    with path.open("rb") as file:
        header = file.read(20)
    unused = len(header) > 18 and header[18] == _WAL and not Path(f"{path}-wal").exists()
    return f"{path.as_uri()}?{'immutable=1' if unused else 'mode=ro'}"

"""A cursor of the change feed as a text for clients: the *position*.

Clients don't read the text. It holds the position and the mark of every lane, so that any worker on
any host can go on from there. Equal cursors have equal texts.

Form: url-safe base64, without padding, of a version byte, of 20 bytes for each lane in ascending
order (lane, position, mark), and of a checksum. The checksum finds texts that were cut or mistyped;
it doesn't keep anybody from making a position. A made one is harmless: the feed doesn't continue
from there.
"""

import base64
import binascii

from placement.storage.change_feed import Cursor

_VERSION = b"\x01"
#: bytes of a lane's id, of its position and of its mark (`feed_lanes` gives out 48 random bits)
_SIZES = (7, 7, 6)
_LANE = sum(_SIZES)
_CHECKSUM = 4


def written(cursor: Cursor) -> str:
    """Return the position of a reader that has read as far as the cursor says."""
    parts = [_VERSION]
    for lane in sorted(cursor.lanes):
        values = (lane, *cursor.lanes[lane])
        parts += (value.to_bytes(size) for value, size in zip(values, _SIZES, strict=True))
    content = b"".join(parts)
    return base64.urlsafe_b64encode(content + _checksum(content)).rstrip(b"=").decode()


def parsed(text: str) -> Cursor:
    """Return the cursor that `written` has written. Raises ValueError for any other text."""
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as odd:
        raise _unknown() from odd
    lanes = content[len(_VERSION) : -_CHECKSUM]
    cursor = Cursor(dict(_lane(lanes[at : at + _LANE]) for at in range(0, len(lanes), _LANE)))
    # the one check of version, length, order, checksum, and of what base64 overlooks
    if written(cursor) != text:
        raise _unknown()
    return cursor


def _lane(content: bytes) -> tuple[int, tuple[int, int]]:
    values, at = [], 0
    for size in _SIZES:
        values.append(int.from_bytes(content[at : at + size]))
        at += size
    lane, position, mark = values
    return lane, (position, mark)


def _checksum(content: bytes) -> bytes:
    return binascii.crc32(content).to_bytes(_CHECKSUM)


def _unknown() -> ValueError:
    return ValueError("this is no position that the service gave out")

"""A cursor of the change feed as a text for clients: the *position*.

Clients don't read the text. It holds the position and the mark of every lane, so that any worker on
any host can go on from there. Equal cursors have equal texts.

Form: url-safe base64, without padding, of a version byte, of 20 bytes for each lane in ascending
order (lane, position, mark), and of a checksum. The checksum finds texts that were cut or mistyped.
It keeps nobody from making up a position, which is harmless: the feed doesn't continue from there.

A position goes into request lines and headers, whose length servers and proxies limit. So if there
are many lanes, they end before a position is given out (`feed_lanes`). The lanes of writes that run
at this moment are left, and few others.
"""

import base64
import binascii
import contextlib
import itertools
from collections.abc import Callable
from typing import TypeVar

from placement.errors import PlacementError
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed, feed_lanes
from placement.storage.feed.change_feed import Cursor

T = TypeVar("T")

_VERSION = b"\x01"
_CHECKSUM = 4


def is_short(cursor: Cursor) -> bool:
    """Say whether the cursor has so few lanes that its position may be given out."""
    return len(cursor.lanes) <= feed_lanes.MOST_LANES


def ask(database: Database, question: Callable[[Connection, Cursor], T]) -> T:
    """Return the answer of `question`, which gets the cursor of its transaction.

    If there are many lanes, those that no write has locked end first. Where the database takes no
    writes, the question is asked nevertheless, and the position is longer.
    """

    def if_short(connection: Connection) -> tuple[T] | None:
        now = change_feed.start(connection)
        if is_short(now) or database.is_read_only:
            return (question(connection, now),)
        return None

    tried = itertools.count()

    def end_lanes(connection: Connection) -> int:
        return feed_lanes.end_lanes(connection, is_repeated=next(tried) > 0)

    answer = database.read(if_short)
    if answer is None:
        with contextlib.suppress(PlacementError):
            while database.write(end_lanes) == feed_lanes.AT_ONCE:
                pass
        return database.read(lambda connection: question(connection, change_feed.start(connection)))
    return answer[0]


def written(cursor: Cursor) -> str:
    """Return the position of a reader that has read as far as the cursor says."""
    parts = [_VERSION]
    for lane in sorted(cursor.lanes):
        parts.append(feed_lanes.packed(lane, *cursor.lanes[lane]))
    content = b"".join(parts)
    return base64.urlsafe_b64encode(content + _checksum(content)).rstrip(b"=").decode()


def parsed(text: str) -> Cursor:
    """Return the cursor of a position. Raises ValueError if `written` didn't return the text."""
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as odd:
        raise _unknown() from odd
    lanes = content[len(_VERSION) : -_CHECKSUM]
    states = (
        feed_lanes.unpacked(lanes[at : at + feed_lanes.LENGTH])
        for at in range(0, len(lanes), feed_lanes.LENGTH)
    )
    cursor = Cursor({lane: (position, mark) for lane, position, mark in states})
    # this checks the version, length, order and checksum, and characters that base64 ignores
    if written(cursor) != text:
        raise _unknown()
    return cursor


def _checksum(content: bytes) -> bytes:
    return binascii.crc32(content).to_bytes(_CHECKSUM)


def _unknown() -> ValueError:
    return ValueError("this is no position that the service gave out")

"""Others that write to the tables and don't append to the change feed, as OpenStack Placement does.

While they may write, each search first looks at the providers' generations (architecture.rst D4).
Searches and audits notice such writes, and append that to the change feed for the other workers. A
worker in which nothing searches reads it here.
"""

import datetime
import logging
import math
import time
from collections.abc import Callable
from typing import Final

from placement.storage.database.engine import Connection
from placement.storage.feed import signs_of_others
from placement.storage.feed.change_feed import Cursor
from placement.storage.tables import utcnow

LOG = logging.getLogger(__name__)

#: values of [berth]beside_reference
AUTO: Final = "auto"
ALWAYS: Final = "always"
NEVER: Final = "never"
#: for so many seconds after a write by others was noticed, searches look at the generations
WATCHED = 3600.0


class OtherWriters:
    """Whether others may write to the database now, as far as this process knows.

    :param beside: AUTO: for an hour after a write of theirs was noticed; ALWAYS; NEVER
    :param clock: seconds that never go back
    """

    def __init__(self, beside: str = AUTO, clock: Callable[[], float] = time.monotonic) -> None:
        self._beside = beside
        self._clock = clock
        #: when this process last learned of a write by others
        self._seen = -math.inf
        #: whether this process noticed a write that it hasn't told the other workers of
        self.is_untold = False

    @property
    def may_write(self) -> bool:
        """Say whether a search has to look at the generations."""
        if self._beside == AUTO:
            return self._clock() - self._seen < WATCHED
        return self._beside == ALWAYS

    @property
    def is_automatic(self) -> bool:
        """Say whether it depends on noticed writes if others may write."""
        return self._beside == AUTO

    @property
    def are_considered(self) -> bool:
        """Say whether there may be others at all."""
        return self._beside != NEVER

    def seen(self) -> None:
        """Note that this process noticed a write by others: searches look from now on."""
        self.is_untold = self.is_automatic
        self.heard()

    def heard(self) -> None:
        """Note that others write: searches look from now on."""
        if self.is_automatic and not self.may_write:
            LOG.info(
                "Another service writes to this database: searches look for its writes for an hour"
            )
        self._seen = self._clock()

    def suspect(self, connection: Connection) -> None:
        """Ask the tables whether others wrote lately; searches look from now on if they did."""
        if self.is_automatic and not self.may_write:
            since = utcnow() - datetime.timedelta(seconds=WATCHED)
            if signs_of_others.have_written(connection, since):
                self.heard()


class OthersInFeed:
    """What this process knows of other writers, kept up to date from the change feed.

    :param others: shared with the searches of this process
    """

    def __init__(self, others: OtherWriters | None = None) -> None:
        self._others = OtherWriters() if others is None else others
        self._read_to: Cursor | None = None

    @property
    def may_write(self) -> bool:
        """Say whether others may write, as far as this process knows. It asks no database."""
        return self._others.may_write

    @property
    def are_considered(self) -> bool:
        """Say whether there may be others at all."""
        return self._others.are_considered

    def noticed(self) -> None:
        """Note a write by others: searches of this process see it, and other workers are told."""
        self._others.seen()

    def heard(self) -> None:
        """Note that another worker noticed a write by others."""
        self._others.heard()

    def knows(self, cursor: Cursor) -> bool:
        """Say whether `may_write` needs no more of the feed up to the cursor."""
        return not self._others.is_automatic or self._others.may_write or cursor == self._read_to

    def may_write_now(self, connection: Connection, cursor: Cursor) -> bool:
        """Say whether others may write; read what the feed says of them up to the cursor.

        :param cursor: what `change_feed.start` returns in this transaction
        """
        if self._others.is_automatic and not self._others.may_write and cursor != self._read_to:
            since = utcnow() - datetime.timedelta(seconds=WATCHED)
            if signs_of_others.were_noticed(connection, self._read_to, cursor, since):
                self._others.heard()
            self._read_to = cursor
        return self._others.may_write

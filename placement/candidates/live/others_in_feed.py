"""Whether others write, for requests that don't search (see `foreign_writers`).

Searches and audits notice writes of others, and append that to the change feed for the other
workers. A worker in which nothing searches reads it here.
"""

import datetime
import logging

from placement.candidates.live.foreign_writers import WATCHED, OtherWriters
from placement.storage.database.engine import Connection
from placement.storage.feed import signs_of_others
from placement.storage.feed.change_feed import Cursor
from placement.storage.tables import utcnow

LOG = logging.getLogger(__name__)


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
        if self._others.seen():
            LOG.info(
                "Another service writes to this database: searches look for its writes for an hour"
            )

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

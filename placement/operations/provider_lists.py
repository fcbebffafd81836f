"""Lists of providers, from the snapshot of searches where it is at hand (rest-api.md 3.1)."""

from collections.abc import Hashable, Sequence

import numpy as np

from placement.candidates.cloud.columns import Slots
from placement.candidates.cloud.prepared_texts import REMEMBERED, Item
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.live.foreign_writers import OthersInFeed
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.candidates.masks.provider_matching import matching
from placement.domain.provider_filter import ProviderFilter
from placement.operations.database_lists import DatabaseLists, ListedProviders, Write
from placement.storage import provider_list
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed
from placement.storage.provider_list import Numbered

#: how often the snapshot is asked again because something was written meanwhile
_TRIES = 3


class ProviderLists:
    """Says which providers pass a filter, as of now.

    The answer is that of `provider_search.find`, and is as new as a search for candidates. It comes
    from the database where that is cheaper, where only the database can judge the names in the
    filter, and while others may write without the change feed.

    :param asked: answers from the database
    :param live: the snapshot that follows the writes; None: there is none
    """

    def __init__(
        self,
        database: Database,
        others: OthersInFeed,
        asked: DatabaseLists,
        live: LiveSnapshot | None = None,
    ) -> None:
        self._database = database
        self._others = others
        self._asked = asked
        self._live = live

    def find(self, wanted: ProviderFilter, form: Hashable, write: Write) -> ListedProviders:
        """Return the providers that pass.

        Raises BadRequest for traits and resource classes that don't exist.

        :param form: the form in which `write` writes; of equal forms, texts are kept
        """
        found = self._remembered(wanted, form, write)
        return self._asked.find(wanted, write) if found is None else found

    def _remembered(
        self, wanted: ProviderFilter, form: Hashable, write: Write
    ) -> ListedProviders | None:
        """Return the answer from the snapshot and the remembered texts; None: ask the database."""
        live = self._live
        if live is None or self._others.may_write or wanted.name is not None:
            return None
        if not live.is_at_hand and not self._asked.is_worth_loading(wanted):
            return None
        for _ in range(_TRIES):
            snapshot = live.current()
            self._asked.loaded()
            slots = matching(snapshot, wanted)
            if slots is None or len(slots) > REMEMBERED or self._others.may_write:
                return None
            items = self._items(snapshot, slots, form, write)
            if items is not None:
                return _found(items)
        return None

    def _items(
        self, snapshot: Snapshot, slots: Slots, form: Hashable, write: Write
    ) -> list[Item] | None:
        """Return what lists say of the slots' providers, ordered by id.

        What isn't remembered is read from the database. None: something was written after the
        snapshot was current, or not all providers have a root.
        """
        listing = snapshot.listings.of(form)
        in_order = snapshot.register.ascends
        items, missing = listing.take(slots, in_order)
        if missing:
            slot_of = snapshot.register.slot_of_id
            ids = snapshot.register.ids[missing].tolist()
            rows = self._database.read(lambda connection: _rows(connection, snapshot, ids))
            if rows is None or len(rows) != len(missing):
                return None
            listing.add(
                {slot_of[row.provider_id]: Item(write(row[1:6]), row.changed) for row in rows}
            )
            items, missing = listing.take(slots, in_order)
        if missing:
            return None
        return items if in_order else _by_id(snapshot, slots, items)


def _rows(connection: Connection, snapshot: Snapshot, ids: Sequence[int]) -> list[Numbered] | None:
    """Return the stored providers if nothing was written since the snapshot, else None."""
    if change_feed.start(connection) != snapshot.cursor:
        return None
    return provider_list.with_ids(connection, ids)


def _by_id(snapshot: Snapshot, slots: Slots, items: Sequence[Item]) -> list[Item]:
    """Order the items of slots by the ids of their providers."""
    return [items[at] for at in np.argsort(snapshot.register.ids[slots])]


def _found(items: Sequence[Item]) -> ListedProviders:
    modified = provider_list.newest([item.newest for item in items])
    return ListedProviders([item.text for item in items], modified)

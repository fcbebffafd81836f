"""What others wrote beside the change feed, as the providers' generations show it.

See `placement.storage.feed.generation_look` for what generations can show.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from sqlalchemy.exc import DBAPIError

from placement.candidates.cloud.snapshot import UNKNOWN, Names, Snapshot
from placement.candidates.live import apply_changes
from placement.candidates.live.foreign_writers import WATCHED, OtherWriters
from placement.errors import PlacementError
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed, generation_look, signs_of_others
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, News
from placement.storage.feed.generation_look import (
    ALL_KINDS,
    GROUP_BITS,
    GenerationSums,
    ProviderGeneration,
    Sums,
)
from placement.storage.tables import utcnow

LOG = logging.getLogger(__name__)


class ForeignWrites:
    """Brings what others wrote into the snapshot of this process.

    :param writers: whether others may write; also used by other parts of this process
    """

    def __init__(self, database: Database, writers: OtherWriters) -> None:
        self._database = database
        self.writers = writers

    def show_since(self, look: GenerationSums | None) -> bool:
        """Say whether a look now differs from an earlier one; False if nobody has to look."""
        return self.writers.may_write and look != generation_look.ask(self._database)

    def look(self, connection: Connection) -> GenerationSums | None:
        """Look at the generations; None: nobody has to, because no others may write."""
        return generation_look.read(connection) if self.writers.may_write else None

    def with_news(self, connection: Connection, snapshot: Snapshot, news: News) -> Snapshot:
        """Return the snapshot with what the change feed names.

        While others may write, all of these providers is read: others may have changed something
        else of them.
        """
        kinds = news.kinds
        if self.writers.may_write:
            kinds = {key: kind | ALL_KINDS if key else kind for key, kind in kinds.items()}
        return apply_changes.advance(connection, snapshot, kinds) if kinds else snapshot

    def with_theirs(
        self, connection: Connection, snapshot: Snapshot, look: GenerationSums
    ) -> Snapshot:
        """Return the snapshot with what the look shows, which `with_news` returned before."""
        noticed = _noticed(connection, snapshot, look)
        if noticed.theirs:
            self.seen()
        kinds = {**noticed.theirs, **noticed.unsure}
        return apply_changes.advance(connection, snapshot, kinds) if kinds else snapshot

    def theirs(self, connection: Connection, snapshot: Snapshot) -> Mapping[int, ChangeKind]:
        """Look at the generations; return what others wrote and the snapshot lacks.

        :param snapshot: what `with_news` returned in this transaction
        """
        return _noticed(connection, snapshot, generation_look.read(connection)).theirs

    def suspect(self, connection: Connection) -> None:
        """Ask the tables whether others wrote lately; searches look from now on if they did."""
        if self.writers.is_automatic and not self.writers.may_write:
            since = utcnow() - datetime.timedelta(seconds=WATCHED)
            if signs_of_others.have_written(connection, since):
                self._log_if(self.writers.heard())

    def hear(self, news: News) -> None:
        """Let searches look from now on if another worker says that others write."""
        if ChangeKind.OTHERS in news.kinds.get(NO_PROVIDER, ChangeKind(0)):
            self._log_if(self.writers.heard())

    def seen(self) -> None:
        """Let searches look from now on, as others wrote."""
        self._log_if(self.writers.seen())

    def _log_if(self, is_new: bool) -> None:
        if is_new:
            LOG.info(
                "Another service writes to this database: searches look for its writes for an hour"
            )

    def tell_workers(self) -> None:
        """Tell the other workers of what was `seen`. They find out later if that fails."""
        if not self.writers.is_untold:
            return
        try:
            self._database.write(change_feed.record_others)
            self.writers.is_untold = False
        except (PlacementError, DBAPIError) as error:
            LOG.debug("Can't tell other workers of another service: %s", error)


@dataclasses.dataclass(frozen=True)
class _Noticed:
    """How a look differs from a snapshot, as the change feed would name it.

    :param theirs: what others wrote
    :param unsure: providers of which the snapshot doesn't know the generation
    """

    theirs: Mapping[int, ChangeKind]
    unsure: Mapping[int, ChangeKind]


def _noticed(connection: Connection, snapshot: Snapshot, look: GenerationSums) -> _Noticed:
    """Compare a look in this transaction with a snapshot that has all news of the change feed.

    So what differs was written by others.
    """
    table = _table(snapshot)
    known = _look_at(snapshot.names, table)
    theirs: dict[int, ChangeKind] = {}
    unsure: dict[int, ChangeKind] = {}
    if look.providers != known.providers:
        in_database, in_snapshot = _in_differing_groups(connection, table)
        for key in in_database.keys() | in_snapshot.keys():
            ours, now = in_snapshot.get(key), in_database.get(key)
            if ours == now:
                continue
            if ours and now and ours == dataclasses.replace(now, generation=UNKNOWN):
                unsure[key] = ALL_KINDS
            else:
                theirs[key] = ALL_KINDS
    # names may be exchanged where their number and ids stay: they are read again with providers
    if theirs or (look.traits, look.classes) != (known.traits, known.classes):
        theirs[NO_PROVIDER] = ChangeKind.NAMES
    return _Noticed(theirs, unsure)


def _in_differing_groups(
    connection: Connection, table: npt.NDArray[np.int64]
) -> tuple[dict[int, ProviderGeneration], dict[int, ProviderGeneration]]:
    """Return, by id, the providers of those groups whose sums differ.

    First as they are in the database, then as they are in the snapshot.
    """
    theirs, ours = generation_look.groups(connection), _groups_of(table)
    numbers = [
        number for number in theirs.keys() | ours.keys() if theirs.get(number) != ours.get(number)
    ]
    return generation_look.places(connection, numbers), _places_of(table, numbers)


def _look_at(names: Names, table: npt.NDArray[np.int64]) -> GenerationSums:
    """Return what a look would show if the tables were as the snapshot is."""
    return GenerationSums(
        _sums(table),
        (len(names.traits), sum(names.traits)),
        (len(names.classes), sum(names.classes)),
    )


def _table(snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """Return a row (id, generation, parent id or 0, root id) for each provider."""
    forest = snapshot.forest
    alive = np.flatnonzero(forest.alive)
    ids = snapshot.register.ids
    parents = forest.parent[alive]
    return np.column_stack(
        [
            ids[alive],
            snapshot.generations.whole()[alive],
            np.where(parents < 0, 0, ids[parents]),
            ids[forest.root[alive]],
        ]
    )


def _sums(table: npt.NDArray[np.int64]) -> Sums:
    return (len(table), *(int(total) for total in table.sum(axis=0)))


def _groups_of(table: npt.NDArray[np.int64]) -> Mapping[int, Sums]:
    """Return the sums of each group of providers, by the group's number.

    Providers whose ids differ only in the last GROUP_BITS bits form a group: of the ids 255, 256
    and 511, the first is in group 0 and the others are in group 1.
    """
    numbers, group = np.unique(table[:, 0] >> GROUP_BITS, return_inverse=True)
    sums = np.zeros((len(numbers), 1 + table.shape[1]), np.int64)
    np.add.at(sums[:, 0], group, 1)
    np.add.at(sums[:, 1:], group, table)
    return dict(zip(numbers.tolist(), map(tuple, sums.tolist()), strict=True))


def _places_of(table: npt.NDArray[np.int64], numbers: list[int]) -> dict[int, ProviderGeneration]:
    some = table[np.isin(table[:, 0] >> GROUP_BITS, numbers)].tolist()
    return {
        key: ProviderGeneration(generation, parent or None, root)
        for key, generation, parent, root in some
    }

"""Suspects: what placement alone can see that may be wrong (extensions.md 12).

Nothing is remembered for them in the database. Since when something is so, its rows say: the
allocations of an instance, an inventory, a provider. So every worker on every host tells the same,
also one that has just begun (decisions.rst).
"""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Mapping, Sequence

from oslo_config import cfg

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects.rows import Spread
from placement.extensions.suspects.rules import KINDS, SuspectMark
from placement.extensions.suspects.suspicions import Suspect, SuspectLook
from placement.storage.database.engine import Connection, Database
from placement.storage.tables import utcnow


@dataclasses.dataclass(frozen=True)
class SuspectPage:
    """Some suspects.

    :param counts: how many there are of each kind that was asked for
    :param marker: None: there are no more
    """

    suspects: Sequence[Suspect]
    counts: Mapping[str, int]
    marker: SuspectMark | None


class Suspects:
    """Looks for suspects.

    :param current: returns the snapshot as of now
    :param grace: seconds that an instance must hold what is of two hosts
    :param untouched_days: days without any change in a tree; 0: these aren't looked for
    :param now: the time in UTC, without a zone
    """

    def __init__(
        self,
        database: Database,
        current: Callable[[], Snapshot],
        grace: float,
        untouched_days: int,
        now: Callable[[], datetime.datetime] = utcnow,
    ) -> None:
        self._database, self._current, self._now = database, current, now
        self._grace = datetime.timedelta(seconds=grace)
        self._untouched = datetime.timedelta(days=untouched_days)
        #: when this process saw a migration beside an instance, or first saw one without times
        self._seen: Mapping[int, datetime.datetime] = {}

    @classmethod
    def configured(
        cls, conf: cfg.ConfigOpts, database: Database, current: Callable[[], Snapshot]
    ) -> "Suspects":
        """Return what looks as the options say."""
        options = conf.berth
        return cls(database, current, options.suspects_grace, options.suspects_untouched_days)

    def suspected(
        self, kinds: Collection[str], after: SuspectMark | None, limit: int
    ) -> SuspectPage:
        """Return the first `limit` suspects of some kinds after a mark, and all their numbers."""
        snapshot = self._current()
        return self._database.read(
            lambda connection: self._page(snapshot, connection, kinds, after, limit)
        )

    def counts(self) -> Mapping[str, int]:
        """Return how many suspects of each kind there are."""
        return self.suspected(KINDS, None, 0).counts

    def _page(
        self,
        snapshot: Snapshot,
        connection: Connection,
        kinds: Collection[str],
        after: SuspectMark | None,
        limit: int,
    ) -> SuspectPage:
        now = self._now()
        seen: dict[int, datetime.datetime] = {}
        before = now - self._untouched if self._untouched else None
        look = SuspectLook(
            snapshot, connection, now, lambda one: self._is_settled(one, now, seen), before
        )
        counts: dict[str, int] = {}
        suspects: list[Suspect] = []
        last: SuspectMark | None = None
        left = limit
        is_more = False
        for kind in KINDS:
            if kind not in kinds:
                continue
            # one more than is told says whether there is more
            found = look.find(kind, after, left + 1 if limit else 0)
            counts[kind] = found.count
            while len(found.notes) > left:
                found.notes.popitem()
                is_more = True
            suspects += [suspect for _, suspect in look.describe(found)]
            left -= len(found.notes)
            last = next(reversed(found.notes), last)
        if "two_roots" in counts:
            self._seen = seen
        return SuspectPage(suspects, counts, last if is_more else None)

    def _is_settled(
        self, one: Spread, now: datetime.datetime, seen: dict[int, datetime.datetime]
    ) -> bool:
        """Whether an instance has been on two hosts for long enough, and no migration is there.

        :param seen: is told what the next look has to know
        """
        known = self._seen.get(one.consumer_id)
        if one.migrates:
            seen[one.consumer_id] = now
            return False
        if known is None and one.since is None:
            known = now
        if known is not None:
            seen[one.consumer_id] = known
        since = max(time for time in (known, one.since) if time is not None)
        return not self._grace or now - since >= self._grace

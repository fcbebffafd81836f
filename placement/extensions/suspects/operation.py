"""Lists and counts suspects (extensions.md 12).

The database stores nothing about suspects. Since when something is so, its own rows say: the
allocations of an instance, an inventory, a provider. So every worker on every host gives the same
answer, also one that has just begun (decisions.rst).
"""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Mapping, Sequence

from oslo_config import cfg

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects.found_suspects import Suspect
from placement.extensions.suspects.kinds import SuspectLook
from placement.extensions.suspects.rows import SplitInstance
from placement.extensions.suspects.rules import KINDS, TWO_ROOTS, SuspectMark
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
    :param grace: seconds for which an instance must be on two hosts before it is a suspect
    :param untouched_days: days without any change after which a tree is a suspect; 0: never
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
        #: by consumer id of an instance on two hosts: when this process last saw a migration of it,
        #: or first saw it if its rows have no times
        self._seen: Mapping[int, datetime.datetime] = {}

    @classmethod
    def configured(
        cls, conf: cfg.ConfigOpts, database: Database, current: Callable[[], Snapshot]
    ) -> "Suspects":
        """Return an object that looks for suspects as the options say."""
        options = conf.berth
        return cls(database, current, options.suspects_grace, options.suspects_untouched_days)

    def suspected(
        self, kinds: Collection[str], after: SuspectMark | None, limit: int
    ) -> SuspectPage:
        """Return the first `limit` suspects of some kinds after a mark, and how many there are."""
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
        look = SuspectLook(
            snapshot,
            connection,
            now,
            is_settled=lambda instance: self._is_settled(instance, now, seen),
            untouched_before=now - self._untouched if self._untouched else None,
        )
        counts: dict[str, int] = {}
        suspects: list[Suspect] = []
        last: SuspectMark | None = None
        left = limit
        is_more = False
        for kind in KINDS:
            if kind not in kinds:
                continue
            # one more than the page has room for says whether there is another page
            found = look.find(kind, after, left + 1 if limit else 0)
            counts[kind] = found.count
            while len(found.notes) > left:
                found.notes.popitem()
                is_more = True
            suspects += [suspect for _, suspect in look.describe(found)]
            left -= len(found.notes)
            last = next(reversed(found.notes), last)
        if TWO_ROOTS in counts:
            self._seen = seen
        return SuspectPage(suspects, counts, last if is_more else None)

    def _is_settled(
        self, instance: SplitInstance, now: datetime.datetime, seen: dict[int, datetime.datetime]
    ) -> bool:
        """Say whether an instance has been on two hosts for long enough, without a migration.

        :param seen: gets what the next look has to know: the next value of `_seen`
        """
        known = self._seen.get(instance.consumer_id)
        if instance.migrates:
            seen[instance.consumer_id] = now
            return False
        if known is None and instance.since is None:
            known = now
        if known is not None:
            seen[instance.consumer_id] = known
        since = max(time for time in (known, instance.since) if time is not None)
        return not self._grace or now - since >= self._grace

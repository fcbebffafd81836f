"""Usages of projects, from memory where adding them up is long work (architecture.rst D4).

Nova asks for the usage of a project at every boot. To add it up, the database visits each
allocation of the project. So a worker remembers what a project holds of each provider. At each
request the change feed says which providers changed since; only what the project holds of these is
read again.
"""

import collections
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from placement.candidates.live.foreign_writers import OthersInFeed
from placement.storage import project_holdings, usages
from placement.storage.database.engine import Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind, Cursor
from placement.storage.project_holdings import ProjectAllocation
from placement.storage.usages import ProjectUsage

#: allocations that a project must have before it is remembered: a few are added up as quickly
FEW = 64
#: allocations that are remembered of all projects together: about 20 MB
REMEMBERED = 100_000
#: Roughly how many allocations the database visits for each provider that is read again. If that is
#: more in all than the project has, all of the project is read.
_OF_PROVIDER = 50
#: rows of the change feed that are read at most before all of the project is read
_MOST_NEWS = 1000
#: seconds to wait for another request about the same project before asking the database oneself
_LONGEST_WAIT = 1.0


class _Owner(NamedTuple):
    """Whose consumers are counted together."""

    user: str | None
    type_name: str | None


class Holdings:
    """What the consumers of a project hold, by provider, and the sums of it."""

    def __init__(self, rows: Iterable[ProjectAllocation] = ()) -> None:
        self._of_provider: dict[int, list[tuple[_Owner, int, int, int]]] = {}
        self._class_names: dict[int, str | None] = {}
        #: by owner and class: the number of allocations, and what they take
        self._amounts: dict[_Owner, dict[int, tuple[int, int]]] = {}
        #: by owner and consumer: the number of allocations
        self._consumers: dict[_Owner, dict[int, int]] = {}
        #: the number of allocations
        self.size = 0
        self._add(rows)

    def replace(self, provider_ids: Iterable[int], rows: Iterable[ProjectAllocation]) -> None:
        """Replace all allocations of some providers."""
        for provider_id in provider_ids:
            for owner, consumer_id, class_id, used in self._of_provider.pop(provider_id, ()):
                self._count(owner, consumer_id, class_id, -1, -used)
        self._add(rows)

    def _add(self, rows: Iterable[ProjectAllocation]) -> None:
        owners: dict[_Owner, _Owner] = {owner: owner for owner in self._consumers}
        for row in rows:
            owner = _Owner(row.user, row.type_name)
            owner = owners.setdefault(owner, owner)
            held = (owner, row.consumer_id, row.class_id, row.used)
            self._of_provider.setdefault(row.provider_id, []).append(held)
            self._class_names[row.class_id] = row.class_name
            self._count(owner, row.consumer_id, row.class_id, 1, row.used)

    def _count(self, owner: _Owner, consumer_id: int, class_id: int, rows: int, used: int) -> None:
        self.size += rows
        consumers = self._consumers.setdefault(owner, {})
        consumers[consumer_id] = consumers.get(consumer_id, 0) + rows
        if not consumers[consumer_id]:
            del consumers[consumer_id]
        amounts = self._amounts.setdefault(owner, {})
        before, taken = amounts.get(class_id, (0, 0))
        amounts[class_id] = (before + rows, taken + used)
        if not before + rows:
            del amounts[class_id]
        if not consumers:
            del self._consumers[owner], self._amounts[owner]

    def usage(self, user: str | None, by_type: bool) -> ProjectUsage | None:
        """Return what `usages.of_project` returns; None if no allocation of that user is known."""
        owners = [owner for owner in self._consumers if user is None or owner.user == user]
        if not owners and user is not None:
            return None
        counts: collections.Counter[str | None] = collections.Counter()
        amounts: collections.Counter[tuple[str | None, int]] = collections.Counter()
        for owner in owners:
            kind = owner.type_name if by_type else None
            if by_type:
                counts[kind] += len(self._consumers[owner])
            for class_id, (_, taken) in self._amounts[owner].items():
                amounts[kind, class_id] += taken
        rows = []
        for (kind, class_id), taken in amounts.items():
            name = self._class_names[class_id]
            if name is not None:
                rows.append((kind, class_id, name, taken))
        return usages.in_order(rows, dict(counts), self.size)


@dataclasses.dataclass
class _HeldProject:
    """What is remembered of a project.

    :param holdings: as they were at the cursor; changed in place
    :param newest: the id of the newest allocation of all then
    :param read_at: when all of them were read
    """

    holdings: Holdings
    cursor: Cursor
    newest: int | None
    read_at: float


class _Project:
    """A project that was asked for, and what is remembered of it, under a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: _HeldProject | None = None


class ProjectUsages:
    """Says what `usages.of_project` says, as of now.

    A project with many allocations is remembered from the second request on.

    :param others: whether others write without the change feed; the database answers then
    :param longest: seconds after which all of a project is read again, to notice what the change
        feed doesn't name; 0: never
    :param clock: seconds that never go back
    :param few: allocations below which a project isn't remembered
    :param remembered: how many allocations are remembered of all projects together
    """

    def __init__(
        self,
        database: Database,
        others: OthersInFeed,
        longest: float = 0,
        clock: Callable[[], float] = time.monotonic,
        few: int = FEW,
        remembered: int = REMEMBERED,
    ) -> None:
        self._database = database
        self._others = others
        self._longest = longest
        self._clock = clock
        self._few = few
        self._most = remembered
        self._begin_in_process()

    def _begin_in_process(self) -> None:
        """Begin with nothing: a child process has no thread that would release the old locks."""
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._projects: collections.OrderedDict[str, _Project] = collections.OrderedDict()

    def of_project(
        self, project: str, user: str | None = None, by_type: bool = True
    ) -> ProjectUsage:
        """Return the usage; parameters are those of `usages.of_project`."""
        if os.getpid() != self._process:
            self._begin_in_process()
        if self._others.may_write:
            self._forget_all()
            return self._added_up(project, user, by_type)
        known = self._known(project)
        if known is None:
            found = self._added_up(project, user, by_type)
            if self._few <= found.rows <= self._most:
                self._remember(project)
            return found
        found_here = None
        if known.lock.acquire(timeout=_LONGEST_WAIT):
            try:
                held = self._current(project, known)
                if held is not None:
                    found_here = held.holdings.usage(user, by_type)
            finally:
                known.lock.release()
        # a user that isn't among the holdings may be there in another spelling, which the database
        # takes for the same
        return self._added_up(project, user, by_type) if found_here is None else found_here

    def _added_up(self, project: str, user: str | None, by_type: bool) -> ProjectUsage:
        return usages.of_project(self._database, project, user, by_type)

    def _known(self, project: str) -> _Project | None:
        with self._lock:
            known = self._projects.get(project)
            if known is not None:
                self._projects.move_to_end(project)
            return known

    def _remember(self, project: str) -> None:
        with self._lock:
            self._projects.setdefault(project, _Project())

    def _forget_all(self) -> None:
        with self._lock:
            self._projects.clear()

    def _keep_few(self, project: str, known: _Project) -> None:
        """Forget a project that became small, or large, and those that weren't wanted for long."""
        with self._lock:
            size = _size(known)
            if not self._few <= size <= self._most and self._projects.get(project) is known:
                del self._projects[project]
            total = sum(_size(each) for each in self._projects.values())
            while total > self._most:
                total -= _size(self._projects.popitem(last=False)[1])

    def _current(self, project: str, known: _Project) -> _HeldProject | None:
        """Bring what is remembered up to date; None if the database has to answer.

        If that fails in any way, the next request reads all of the project.
        """
        held, known.held = known.held, None
        if held is not None and self._is_old(held):
            held = None
        if held is not None:
            has_news, others_wrote = project_holdings.look(self._database, held.cursor, held.newest)
            if others_wrote:
                self._others.noticed()
                held = None
            elif not has_news:
                known.held = held
                return held
        last = held
        held = self._database.read(lambda connection: self._advanced(connection, project, last))
        known.held = held
        self._keep_few(project, known)
        return held

    def _is_old(self, held: _HeldProject) -> bool:
        return bool(self._longest) and self._clock() - held.read_at > self._longest

    def _advanced(
        self, connection: Connection, project: str, held: _HeldProject | None
    ) -> _HeldProject | None:
        news = None
        if held is not None:
            news = change_feed.read(connection, held.cursor, _MOST_NEWS)
        if held is None or news is None:
            return self._read(connection, project)
        of_none = news.kinds.get(NO_PROVIDER, ChangeKind(0))
        if ChangeKind.OTHERS in of_none:
            self._others.heard()
            if self._others.may_write:
                return None
        changed = [provider_id for provider_id in news.kinds if provider_id != NO_PROVIDER]
        if ChangeKind.NAMES in of_none or len(changed) * _OF_PROVIDER > held.holdings.size:
            return self._read(connection, project)
        if changed:
            rows = project_holdings.on_providers(connection, project, changed)
            held.holdings.replace(changed, rows)
        held.cursor, held.newest = news.cursor, project_holdings.newest(connection)
        return held

    def _read(self, connection: Connection, project: str) -> _HeldProject | None:
        """Read all of a project; None while others write."""
        begun = self._clock()
        cursor = change_feed.start(connection)
        if self._others.may_write_now(connection, cursor):
            return None
        rows = project_holdings.of_project(connection, project)
        return _HeldProject(Holdings(rows), cursor, project_holdings.newest(connection), begun)


def _size(project: _Project) -> int:
    """Return how many allocations are remembered; 1 while they are being read."""
    held = project.held
    return 1 if held is None else held.holdings.size

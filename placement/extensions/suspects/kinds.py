"""How the suspects of each kind are found, and what is said of them (extensions.md 12).

`SuspectLook` looks at the cloud at one moment. Its table has for each kind one method that counts
the suspects and notes the first of them, and one that makes sentences of the notes.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import quote
from typing import ClassVar

import numpy as np

from placement.candidates.cloud.snapshot import Snapshot
from placement.extensions.suspects import rows, rules, snapshot_suspects
from placement.extensions.suspects.found_suspects import Described, FoundSuspects, Notes, Suspect
from placement.extensions.suspects.rows import ConsumerShare, NamedProviderRow, SplitInstance, Time
from placement.extensions.suspects.rules import KINDS, SuspectMark, pci_address, short_name
from placement.storage.database.engine import Connection


class SuspectLook:
    """A look at the cloud at one moment.

    :param now: the time, in UTC
    :param is_settled: says whether an instance on two hosts is a suspect
    :param untouched_before: a tree is a suspect if nothing in it changed since; None: no tree is
    """

    def __init__(
        self,
        snapshot: Snapshot,
        connection: Connection,
        now: datetime.datetime,
        is_settled: Callable[[SplitInstance], bool],
        untouched_before: Time,
    ) -> None:
        self._snapshot = snapshot
        self._connection = connection
        self._now = now
        self._is_settled = is_settled
        self._untouched_before = untouched_before

    def find(self, kind: str, after: SuspectMark | None, limit: int) -> FoundSuspects:
        """Count the suspects of a kind, and note the first `limit` of them after the mark."""
        found = FoundSuspects(kind, after, limit)
        find, _ = self._OF_KIND[kind]
        find(self, found)
        return found

    def describe(self, found: FoundSuspects) -> Described:
        """Yield the noted suspects in their order; those that are gone by now are left out."""
        if found.notes:
            _, describe = self._OF_KIND[KINDS[found.rank]]
            yield from describe(self, found.notes)

    def _find_two_roots(self, found: FoundSuspects) -> None:
        for instance in rows.split_instances(self._connection):
            if self._is_settled(instance):
                found.add(instance.consumer_id, instance.since)

    def _describe_two_roots(self, notes: Notes) -> Described:
        by_consumer = self._shares(notes)
        for mark, since in notes.items():
            shares = [
                share
                for share in by_consumer.get(mark.id, ())
                if share.resource_class in rules.OF_ONE_HOST
            ]
            roots = list(dict.fromkeys((share.root_uuid, share.root_name) for share in shares))
            if len(roots) < 2:
                continue
            uuid, name = roots[0]
            detail = (
                f"The instance holds {_held(shares)}, and no migration of its project is beside "
                f"it. Unless it is being evacuated, one of these is left over: see what runs it, "
                f"and what `nova-manage placement audit --resource_provider {uuid}` says on "
                f"{name}."
            )
            yield mark, self._suspect(mark, roots[0], detail, since, shares[0].consumer)

    def _find_consumer_type_unknown(self, found: FoundSuspects) -> None:
        found.count = rows.untyped_count(self._connection)
        if found.after.rank == found.rank and found.limit:
            for consumer_id, made in rows.untyped(self._connection, found.after.id, found.limit):
                found.notes[SuspectMark(found.rank, consumer_id)] = made

    def _describe_consumer_type_unknown(self, notes: Notes) -> Described:
        by_consumer = self._shares(notes)
        for mark, since in notes.items():
            shares = by_consumer.get(mark.id, [])
            if not shares:
                continue
            first = shares[0]
            holds = first.root_uuid is not None
            detail = (
                f"The consumer has no type, because a client below microversion 1.38 wrote it. It "
                f"holds {_held(shares) if holds else 'nothing'}. `openstack resource provider "
                f"allocation show {first.consumer}` shows all of it; its owner gives it a type "
                f"with the next write."
            )
            root = (first.root_uuid, first.root_name) if holds else None
            yield mark, self._suspect(mark, root, detail, since, first.consumer)

    def _find_over_capacity(self, found: FoundSuspects) -> None:
        found.add_slots(self._snapshot, snapshot_suspects.over_capacity(self._snapshot))

    def _describe_over_capacity(self, notes: Notes) -> Described:
        ids = sorted({mark.id for mark in notes})
        inventory_times = rows.inventory_times(self._connection, ids)
        usage_times = rows.usage_times(self._connection, ids)
        for mark, provider in self._providers(notes):
            class_name = self._class_name(mark.class_id)
            detail = (
                f"{self._overuse(notes[mark], mark.class_id)}. It gets nothing new. Correct the "
                f"inventory, the ratio or what is reserved; or move consumers away: `nova-manage "
                f"placement drain --host {provider.uuid} --over-capacity --plan` says which and "
                f"where to."
            )
            key = (mark.id, mark.class_id)
            since = _newest(inventory_times.get(key), usage_times.get(key))
            yield mark, self._about_provider(mark, provider, detail, since, class_name)

    def _overuse(self, slot: int, class_id: int) -> str:
        """Return how much of an inventory is used, and how much of it could be."""
        column, name = self._snapshot.column(class_id), self._class_name(class_id)
        is_there, positions = column.find(np.array([slot]))
        if not is_there[0]:
            used = self._snapshot.stray_usage.get((slot, class_id), 0)
            return f"{used} of {name} are allocated, and there is no inventory of it"
        position = int(positions[0])
        inventory = column.stock(position)
        return (
            f"{column.used_at(position)} of {name} are allocated, more than there is room for: "
            f"{max(column.capacity(position), 0)} (total {inventory.total}, reserved "
            f"{inventory.reserved}, ratio {inventory.ratio})"
        )

    def _find_empty_root(self, found: FoundSuspects) -> None:
        roots = snapshot_suspects.empty_roots(self._snapshot)
        found.add_slots(self._snapshot, (roots, np.zeros(len(roots), np.int64)))

    def _describe_empty_root(self, notes: Notes) -> Described:
        times = rows.tree_times(self._connection, [mark.id for mark in notes])
        for mark, provider in self._providers(notes):
            detail = (
                f"Nothing in the tree of {provider.name} has an inventory: its agent has not "
                f"reported any, or the host is gone. If no agent has this name any more, "
                f"`openstack resource provider delete {provider.uuid}` removes it."
            )
            yield mark, self._about_provider(mark, provider, detail, times.get(mark.id))

    def _find_untouched(self, found: FoundSuspects) -> None:
        if self._untouched_before is not None:
            for root_id, changed in rows.untouched(self._connection, self._untouched_before):
                found.add(root_id, changed)

    def _describe_untouched(self, notes: Notes) -> Described:
        for mark, provider in self._providers(notes):
            detail = (
                f"Nothing in the tree of {provider.name} changed for a long time: its agent may be "
                f"gone. See `openstack compute service list --host {quote(provider.name)}`, and "
                f"`openstack resource provider usage show {provider.uuid}`."
            )
            yield mark, self._about_provider(mark, provider, detail, notes[mark])

    def _find_duplicate_device(self, found: FoundSuspects) -> None:
        first: dict[tuple[int, str], NamedProviderRow] = {}
        for row in rows.devices(self._connection):
            address = pci_address(row.name)
            if address is not None:
                other = first.setdefault((row.root_id, address), row)
                if other is not row:
                    found.add(row.id, (other.name, other.uuid, address))

    def _describe_duplicate_device(self, notes: Notes) -> Described:
        for mark, provider in self._providers(notes):
            name, uuid, address = notes[mark]
            detail = (
                f"{provider.name} and {name} ({uuid}) both stand for the PCI device {address} of "
                f"one host, which may be given away twice. `openstack resource provider tree "
                f"report {provider.uuid}` shows what each has and who holds it; let one service "
                f"alone report the device."
            )
            yield mark, self._about_provider(mark, provider, detail, provider.created)

    def _find_burned_device(self, found: FoundSuspects) -> None:
        found.add_slots(self._snapshot, snapshot_suspects.burned_devices(self._snapshot))

    def _describe_burned_device(self, notes: Notes) -> Described:
        times = rows.inventory_times(self._connection, sorted({mark.id for mark in notes}))
        for mark, provider in self._providers(notes):
            class_name = self._class_name(mark.class_id)
            detail = (
                f"All {class_name} of this device for one use are reserved, and nobody holds any: "
                f"its last user left, and it was not set back. When it is clean, `nova-manage "
                f"placement devices --release {provider.uuid}` does that."
            )
            since = times.get((mark.id, mark.class_id))
            yield mark, self._about_provider(mark, provider, detail, since, class_name)

    def _find_alike_names(self, found: FoundSuspects) -> None:
        first: dict[str, tuple[str, str]] = {}
        for row in rows.roots(self._connection):
            named = (row.name, row.uuid)
            other = first.setdefault(short_name(row.name), named)
            if other is not named:
                found.add(row.id, other)

    def _describe_alike_names(self, notes: Notes) -> Described:
        for mark, provider in self._providers(notes):
            name, uuid = notes[mark]
            detail = (
                f"{provider.name} and {name} ({uuid}) differ by domain or case alone: one host may "
                f"have reported under two names. If it has, and has the second one now, "
                f"`nova-manage placement adopt_provider --name {quote(name)} --uuid "
                f"{provider.uuid} --as {quote(provider.name)} --dry-run` says what giving it all "
                f"of the first one would do. If they are two hosts, nothing is wrong."
            )
            yield mark, self._about_provider(mark, provider, detail, provider.created)

    #: kind → what finds its suspects, and what describes them
    _OF_KIND: ClassVar[
        Mapping[
            str,
            tuple[
                Callable[["SuspectLook", FoundSuspects], None],
                Callable[["SuspectLook", Notes], Described],
            ],
        ]
    ] = {
        rules.TWO_ROOTS: (_find_two_roots, _describe_two_roots),
        rules.CONSUMER_TYPE_UNKNOWN: (
            _find_consumer_type_unknown,
            _describe_consumer_type_unknown,
        ),
        rules.OVER_CAPACITY: (_find_over_capacity, _describe_over_capacity),
        rules.EMPTY_ROOT: (_find_empty_root, _describe_empty_root),
        rules.UNTOUCHED: (_find_untouched, _describe_untouched),
        rules.DUPLICATE_DEVICE: (_find_duplicate_device, _describe_duplicate_device),
        rules.BURNED_DEVICE: (_find_burned_device, _describe_burned_device),
        rules.ALIKE_NAMES: (_find_alike_names, _describe_alike_names),
    }

    def _shares(self, notes: Notes) -> Mapping[int, Sequence[ConsumerShare]]:
        return rows.shares(self._connection, [mark.id for mark in notes])

    def _providers(self, notes: Notes) -> Iterator[tuple[SuspectMark, NamedProviderRow]]:
        """Return the noted suspects with their providers, without those that are gone by now."""
        providers = rows.named(self._connection, sorted({mark.id for mark in notes}))
        return ((mark, providers[mark.id]) for mark in notes if mark.id in providers)

    def _class_name(self, class_id: int) -> str:
        return self._snapshot.names.classes.get(class_id, str(class_id))

    def _about_provider(
        self,
        mark: SuspectMark,
        provider: NamedProviderRow,
        detail: str,
        since: Time,
        class_name: str | None = None,
    ) -> Suspect:
        named = (provider.uuid, provider.name)
        return self._suspect(mark, named, detail, since, None, class_name)

    def _suspect(
        self,
        mark: SuspectMark,
        provider: tuple[str, str] | None,
        detail: str,
        since: Time,
        consumer: str | None = None,
        class_name: str | None = None,
    ) -> Suspect:
        # a clock of another host may be ahead, and rows of other programs may have no time
        first_seen = self._now if since is None else min(since, self._now)
        kind = KINDS[mark.rank]
        return Suspect(kind, provider, consumer, class_name, detail, first_seen)


#: how many trees a sentence names
_MOST_NAMED = 4


def _held(shares: Sequence[ConsumerShare]) -> str:
    """Return `2 VCPU, 512 MEMORY_MB of host1 (uuid) and 2 VCPU of host2 (uuid)`."""
    by_root: dict[str, list[ConsumerShare]] = {}
    for share in shares:
        by_root.setdefault(share.root_uuid, []).append(share)
    texts = []
    for uuid, of_tree in by_root.items():
        amounts = ", ".join(f"{share.used} {share.resource_class}" for share in of_tree)
        texts.append(f"{amounts} of {of_tree[0].root_name} ({uuid})")
    if len(texts) > _MOST_NAMED:
        rest = len(texts) - _MOST_NAMED + 1
        texts = [*texts[: _MOST_NAMED - 1], f"something of {rest} other trees"]
    return " and ".join(texts)


def _newest(*times: Time) -> Time:
    return max((time for time in times if time is not None), default=None)

"""The transaction that writes a whole tree of providers, with allocations (extensions.md 3)."""

import collections
import contextlib
from collections.abc import Iterable, Iterator, Mapping

from placement.domain.names import is_custom, is_valid_custom
from placement.domain.provider import TreePosition
from placement.domain.provider_names import refuse_taken
from placement.domain.uuids import new as random_name
from placement.errors import InvalidCustomName, LostRace, ResourceClassNotFound
from placement.extensions.provider_tree_changes.rules import TreeChange, TreePlan
from placement.operations import aggregates, reshaper, resource_classes, traits
from placement.operations.allocations import refuse_unknown_providers
from placement.operations.inventories import check_capacities
from placement.operations.locked_consumers import LockedConsumers
from placement.operations.providers import refuse_new, remove
from placement.storage import providers
from placement.storage import traits as stored_traits
from placement.storage.database import galera_locks
from placement.storage.database.engine import TRIES, Connection, Database
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import NO_PROVIDER, ChangeKind
from placement.storage.locking import Hold
from placement.storage.providers import NewProvider
from placement.storage.traits import Trait


def change_tree(
    database: Database,
    change: TreeChange,
    may_be_full: bool,
    may_reparent: bool,
    tries: int = TRIES,
) -> dict[str, int]:
    """Write a tree of providers and the allocations of consumers, in one transaction.

    Providers are created, renamed and moved; then their traits, aggregates and inventories and the
    allocations are replaced; then providers are removed. The rules hold for the result: two
    providers may swap their names, and a name is free if its provider is removed.

    Return the generations of the providers that the change writes, and of those whose allocations
    change, by uuid. The generation of a provider is incremented by one if its inventories, traits,
    aggregates or allocations are written.

    Raises an error if the change can't be made:

    - because of the request itself: NamedTwice, BadRequest (a ratio that is NaN or infinite),
      InvalidCapacity, InvalidCustomName
    - because of what it names: ProviderNotFound (the root), NamedProviderUnknown, UnknownTraits,
      DuplicateName
    - because of the tree afterwards: CreationRefused, ObjectRefused, ProviderOutsideTree,
      ProviderHasChildren, ProviderInUse
    - because others wrote since the caller read: GenerationConflict, ConcurrentUpdate (a consumer's
      generation)
    - as `reshaper.replace` does; and LostRace if other writers interfered `tries` times

    :param may_be_full: whether `reserved` may equal `total` (since microversion 1.26)
    :param may_reparent: whether a provider that has a parent may change it (since 1.37)
    """
    change.refuse_contradiction()
    stocks = {
        uuid: wanted.inventories
        for uuid, wanted in change.providers.items()
        if wanted.inventories is not None
    }

    def run(connection: Connection) -> dict[str, int]:
        # locks: consumers before providers, as in all writes, so no two wait for each other
        locked = LockedConsumers.lock(connection, change.requests)
        plan, nodes = _locked(connection, change, locked)

        # checks, in the order in which clients get errors; `_names` creates missing names, too
        plan.refuse_no_root()
        reshaper.check_generations(change.generations, nodes, "providers")
        reshaper.check_generations(change.remove, nodes, "remove")
        holders = _givers_of_names(connection, plan)
        locked.check_generations()
        plan.refuse_misplaced(may_reparent)
        refuse_unknown_providers(change.requests, {*nodes, *change.new})
        check_capacities(stocks, may_be_full)
        known, names_change = _names(connection, change)

        # writes
        galera_locks.hold_trees(connection, plan.roots)
        ids = _place(connection, plan, holders, {uuid: node.id for uuid, node in nodes.items()})
        kinds = _write_traits_and_aggregates(connection, change, known, ids)
        with _classes_as_seen(change):
            entries = reshaper.replace(connection, stocks, locked, ids, change.new)
        gone = {uuid: ids[uuid] for uuid in change.remove}
        remove(connection, gone)

        # generations and the change feed
        used = {entry.provider_id for entry in entries}
        _mark(kinds, (ids[uuid] for uuid in stocks), ChangeKind.INVENTORY)
        _mark(kinds, used, ChangeKind.USAGE)
        written = kinds.keys() - gone.values()
        providers.bump(connection, written)
        # the snapshots of all workers need to know of the following, too; it changes no generation
        _mark(kinds, locked.provider_ids(), ChangeKind.USAGE)
        _mark(kinds, plan.shifted(), ChangeKind.ROW)
        _mark(kinds, (ids[uuid] for uuid in (*plan.renamed, *change.new)), ChangeKind.ROW)
        _mark(kinds, [NO_PROVIDER] if names_change else [], ChangeKind.NAMES)
        kinds.update(dict.fromkeys(gone.values(), ChangeKind.DELETED))
        change_feed.record_each(connection, kinds, {ids[uuid]: uuid for uuid in gone})
        return {
            uuid: (nodes[uuid].generation if uuid in nodes else 0) + (provider_id in written)
            for uuid, provider_id in ids.items()
            if uuid not in gone and (uuid in change.providers or provider_id in used)
        }

    return database.write(run, tries)


def _locked(
    connection: Connection, change: TreeChange, locked: LockedConsumers
) -> tuple[TreePlan, dict[str, TreePosition]]:
    """Lock all stored providers that the change needs; return the plan, and them by uuid.

    Raises LostRace if the trees changed before they were locked and the change now needs further
    rows or stronger locks, which can't be taken in order any more.
    """
    named = change.named()
    seen = TreePlan(change, providers.members(connection, named))
    hold = Hold.PLACE if seen.changes_places else Hold.CONTENT
    holding = {uuid for request in change.requests for uuid in request.allocations}
    ids = seen.rows | locked.provider_ids()
    if not holding and not ids:
        # nothing to lock, so nothing to wait for: a second look would be no later than the first
        return seen, {}
    nodes = providers.lock(connection, holding, ids, hold)
    plan = TreePlan(change, providers.members(connection, named))
    if plan.changes_places and hold is not Hold.PLACE:
        raise LostRace()
    if not plan.rows <= {node.id for node in nodes.values()}:
        raise LostRace()
    return plan, nodes


def _givers_of_names(connection: Connection, plan: TreePlan) -> set[str]:
    """Return the uuids of the providers that give up a name which another one gets.

    Raises CreationRefused or DuplicateName if a provider can't have its name or uuid.
    """
    new = plan.change.new
    for uuid, wanted in new.items():
        parent = wanted.parent if isinstance(wanted.parent, str) else None
        refuse_new(uuid, wanted.name, parent)
    names = {uuid: wanted.name or "" for uuid, wanted in new.items()}
    given = list(dict.fromkeys([*names.values(), *plan.renamed.values()]))
    stored = providers.having(connection, new, given)
    repeated = providers.repeated(connection, given)
    refuse_taken(stored, names, plan.renamed, plan.change.remove, repeated)
    return stored.keys() & (plan.renamed.keys() | plan.change.remove.keys())


def _names(connection: Connection, change: TreeChange) -> tuple[dict[str, Trait], bool]:
    """Return the wanted traits by name, and whether traits or resource classes were created.

    Raises UnknownTraits if a trait doesn't exist, InvalidCustomName if a name can't be created.
    """
    wanted = dict.fromkeys(name for each in change.providers.values() for name in each.traits or ())
    if not change.create_names:
        known = stored_traits.named(connection, wanted)
        traits.refuse_unknown(wanted, known)
        return known, False
    classes = [name for each in change.providers.values() for name in each.inventories or ()]
    new_classes = resource_classes.create_missing(connection, _custom(classes, "resource class"))
    known = stored_traits.named(connection, wanted)
    missing = _custom((name for name in wanted if name not in known), "trait")
    if missing:
        created, _ = traits.create_missing(connection, missing)
        known |= created
    traits.refuse_unknown(wanted, known)
    return known, bool(new_classes or missing)


@contextlib.contextmanager
def _classes_as_seen(change: TreeChange) -> Iterator[None]:
    """Wrap the write of inventories, which locks their classes.

    Raises LostRace if another writer deleted or renamed a class since `_names` saw or created it:
    the next try creates it.
    """
    try:
        yield
    except ResourceClassNotFound as gone:
        name = gone.facts["name"]
        stocks = (wanted.inventories or () for wanted in change.providers.values())
        if change.create_names and is_custom(name) and any(name in stock for stock in stocks):
            raise LostRace() from gone
        raise


def _custom(names: Iterable[str], kind: str) -> list[str]:
    """Return the custom names among these. Raises InvalidCustomName if one is invalid."""
    custom = [name for name in dict.fromkeys(names) if is_custom(name)]
    for name in custom:
        # a final newline is valid in requests that the reference has, too
        if not is_valid_custom(name) or name.endswith("\n"):
            raise InvalidCustomName(kind=kind, name=name)
    return custom


def _place(
    connection: Connection, plan: TreePlan, holders: Iterable[str], stored: Mapping[str, int]
) -> dict[str, int]:
    """Create, rename and move providers; return the ids of stored and new ones, by uuid.

    :param holders: uuids of the providers that give up a name which another one gets
    :param stored: ids of the stored providers, by uuid
    """
    ids = dict(stored)
    # names are unique at any time: so providers that give up a name get a random one first
    providers.rename(connection, {ids[uuid]: random_name() for uuid in holders})
    for level in plan.levels():
        ids |= providers.insert(connection, [_row(plan, uuid, ids) for uuid in level])
    providers.rename(connection, {ids[uuid]: name for uuid, name in plan.renamed.items()})
    providers.put_below(
        connection,
        {
            provider_id: None if parent is None else ids[parent]
            for provider_id, parent in plan.moved.items()
        },
    )
    providers.put_into_tree(connection, plan.joining, ids[plan.change.root])
    return ids


def _row(plan: TreePlan, uuid: str, ids: Mapping[str, int]) -> NewProvider:
    name = plan.change.providers[uuid].name or ""
    parent = plan.parents[uuid]
    if parent is None:
        return NewProvider(uuid, name)
    return NewProvider(uuid, name, ids[parent], ids[plan.change.root])


def _write_traits_and_aggregates(
    connection: Connection, change: TreeChange, known: Mapping[str, Trait], ids: Mapping[str, int]
) -> dict[int, ChangeKind]:
    """Write traits and aggregates; return what changes, by provider id.

    :param known: the wanted traits, by name
    """
    given = {
        uuid: {known[name].id for name in wanted.traits}
        for uuid, wanted in change.providers.items()
        if wanted.traits is not None
    }
    held: dict[int, set[int]] = {ids[uuid]: set() for uuid in given}
    held |= stored_traits.ids_of_providers(
        connection, [ids[uuid] for uuid in given if uuid not in change.new]
    )
    changed = traits.give(connection, {ids[uuid]: after for uuid, after in given.items()}, held)
    joined = {
        ids[uuid]: wanted.aggregates
        for uuid, wanted in change.providers.items()
        if wanted.aggregates is not None
    }
    aggregates.join(connection, joined)
    kinds: dict[int, ChangeKind] = collections.defaultdict(lambda: ChangeKind(0))
    _mark(kinds, changed, ChangeKind.TRAITS)
    _mark(kinds, joined, ChangeKind.AGGREGATES)
    return kinds


def _mark(kinds: dict[int, ChangeKind], provider_ids: Iterable[int], kind: ChangeKind) -> None:
    for provider_id in provider_ids:
        kinds[provider_id] |= kind

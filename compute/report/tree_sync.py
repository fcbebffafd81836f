"""Making placement look like a ProviderTree: first a plan, then its application (compute.md §3.9).

A plan is a list of steps, and a step one write. The planning functions compare two trees, what
placement is known to have and what is wanted, and send nothing; where both agree the plan is empty
and so is the conversation. A plan can be shown instead of applied: `str()` of a step says what it
would do.

A provider that the wanted tree's editor made is bare in their eyes, and may be there already: a
pool that other hosts share, or what somebody else made at the same moment. Then it keeps what
others gave it: the editor's traits and aggregates come to those it has.

The order is: create what is new, parents first; reshape; delete what is gone, children first; then
set inventory, aggregates and traits where they differ, children first. Providers are never renamed
or given another parent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.provider_tree import ProviderData, ProviderSubTree, ProviderTree
from compute.provider_tree.inventory_record import Inventory
from compute.report.properties import Properties
from compute.report.reshape import Inventories, reshape, reshape_inventories, wanted_data
from compute.report.transport import reached

LOG = logging.getLogger(__name__)

CONVERTED = (
    exceptions.InvalidResourceClass,
    exceptions.InventoryInUse,
    exceptions.ResourceProviderAggregateRetrievalFailed,
    exceptions.ResourceProviderDeletionFailed,
    exceptions.ResourceProviderInUse,
    exceptions.ResourceProviderRetrievalFailed,
    exceptions.ResourceProviderTraitRetrievalFailed,
    exceptions.ResourceProviderUpdateFailed,
    exceptions.TraitCreationFailed,
    exceptions.TraitRetrievalFailed,
)


# Steps


@dataclass(frozen=True)
class AddProvider:
    """Create the provider, unless placement turns out to have it: then read it."""

    uuid: str
    name: str
    parent_uuid: str | None
    #: whether placement had it once: then it isn't made anew
    was_there: bool = False

    def __str__(self) -> str:
        below = f" below {self.parent_uuid}" if self.parent_uuid else ""
        return f"create provider {self.name} ({self.uuid}){below}"

    def apply(self, client: Properties, context: Any) -> None:
        known = client._provider_tree.exists(self.uuid)
        if self.was_there and not known and not client._load_tree(context, self.uuid):
            raise exceptions.ResourceProviderVanished(uuid=self.uuid)
        client._ensure_resource_provider(context, self.uuid, self.name, self.parent_uuid)


@dataclass(frozen=True)
class Reshape:
    """Move inventories and allocations in one transaction."""

    inventories: Inventories
    allocations: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return (
            f"reshape {len(self.inventories)} providers "
            f"and the allocations of {len(self.allocations)} consumers"
        )

    @property
    def uuid(self) -> str:
        """One of the providers it is about."""
        return next(iter(self.inventories), "")

    def apply(self, client: Properties, context: Any) -> None:
        # Those created since it was planned have a generation only now.
        inventories = {
            uuid: record
            if record["resource_provider_generation"] is not None
            else {**record, "resource_provider_generation": _generation(client, uuid)}
            for uuid, record in self.inventories.items()
        }
        reshape(client, context, inventories, self.allocations)


@dataclass(frozen=True)
class RereadInventory:
    """Read back what the reshape made of the provider, its generation above all.

    With `all_of_it`, which is for a provider whose traits or aggregates are to be set next, these
    are read too: at the new generation they may be others' new ones, not to be written over.
    """

    uuid: str
    all_of_it: bool = False

    def __str__(self) -> str:
        return f"read {'all' if self.all_of_it else 'the inventory'} of {self.uuid}"

    def apply(self, client: Properties, context: Any) -> None:
        if not self.all_of_it:
            client._refresh_inventory(context, self.uuid)
            return
        before = client._provider_tree.data(self.uuid)
        client._refresh_associations(context, self.uuid, force=True, refresh_sharing=False)
        after = client._provider_tree.data(self.uuid)
        if (before.traits, before.aggregates) != (after.traits, after.aggregates):
            raise exceptions.ResourceProviderUpdateConflict(
                uuid=self.uuid,
                generation=before.generation or 0,
                error="its traits or aggregates changed during the reshape",
            )


@dataclass(frozen=True)
class RemoveProvider:
    """Delete the provider."""

    uuid: str

    def __str__(self) -> str:
        return f"delete provider {self.uuid}"

    def apply(self, client: Properties, context: Any) -> None:
        client._delete_provider(context, self.uuid)


@dataclass(frozen=True)
class SetInventory:
    """Replace the provider's inventory, creating custom resource classes."""

    uuid: str
    inventory: Inventory
    generation: int | None = None

    def __str__(self) -> str:
        return f"set inventory of {self.uuid} to {self.inventory}"

    def apply(self, client: Properties, context: Any) -> None:
        client.set_inventory_for_provider(
            context, self.uuid, self.inventory, generation=self.generation
        )


@dataclass(frozen=True)
class SetAggregates:
    """Replace the provider's aggregates."""

    uuid: str
    aggregates: frozenset[str]
    generation: int | None = None

    def __str__(self) -> str:
        return f"set aggregates of {self.uuid} to {sorted(self.aggregates)}"

    def beside(self, has: ProviderData) -> SetAggregates:
        """Return a step that keeps what the provider has."""
        return replace(self, aggregates=self.aggregates | has.aggregates)

    def apply(self, client: Properties, context: Any) -> None:
        reached(
            client.set_aggregates_for_provider(
                context, self.uuid, self.aggregates, generation=self.generation
            )
        )


@dataclass(frozen=True)
class SetTraits:
    """Replace the provider's traits, creating custom ones."""

    uuid: str
    traits: frozenset[str]
    generation: int | None = None

    def __str__(self) -> str:
        return f"set traits of {self.uuid} to {sorted(self.traits)}"

    def beside(self, has: ProviderData) -> SetTraits:
        """Return a step that keeps what the provider has."""
        return replace(self, traits=self.traits | has.traits)

    def apply(self, client: Properties, context: Any) -> None:
        reached(
            client.set_traits_for_provider(
                context, self.uuid, self.traits, generation=self.generation
            )
        )


PropertyStep = SetInventory | SetAggregates | SetTraits

Step = AddProvider | Reshape | RereadInventory | RemoveProvider | PropertyStep


# Planning


def plan(
    known: ProviderTree, wanted: ProviderTree, allocations: Mapping[str, Any] | None = None
) -> list[Step]:
    """Everything that lies between `known` and `wanted`, as far as `known` can tell.

    With `allocations`, even none at all, inventories are moved by a reshape.
    """
    removals = plan_removals(known, wanted)
    steps: list[Step] = [*plan_additions(known, wanted)]
    if allocations is not None:
        steps += plan_reshape(known, wanted, allocations, removals)
    steps += removals
    steps += (
        step
        for step in plan_properties(known, wanted)
        if allocations is None or not isinstance(step, SetInventory)
    )
    return steps


def plan_additions(known: ProviderTree, wanted: ProviderTree) -> list[AddProvider]:
    """Create what isn't known, a parent before its children."""
    return [
        AddProvider(
            one.uuid,
            one.name,
            one.parent_uuid,
            was_there=wanted.expected_generation(one.uuid) is not None,
        )
        for one in map(wanted.data, wanted.get_provider_uuids())
        if not known.exists(one.uuid)
    ]


def plan_removals(known: ProviderTree, wanted: ProviderTree) -> list[RemoveProvider]:
    """Delete what was removed, children before their parent.

    What isn't in `wanted` and never was may have come after the copy was made that `wanted` is.
    Of a ProviderSubTree only what is known below its root: the rest is not its business, and a
    sharing provider has other users.
    """
    removed = wanted.removed
    return [RemoveProvider(uuid) for uuid in reversed(_scope(known, wanted)) if uuid in removed]


def plan_reshape(
    known: ProviderTree,
    wanted: ProviderTree,
    allocations: Mapping[str, Any],
    removals: Iterable[RemoveProvider],
) -> list[Step]:
    """One reshape, and reading back what it did to the generations."""
    inventories = reshape_inventories(known, wanted, [step.uuid for step in removals])
    return [
        Reshape(inventories, allocations),
        *(
            RereadInventory(uuid, _has_more_to_set(known, wanted, uuid))
            for uuid in wanted.get_provider_uuids()
        ),
    ]


def _has_more_to_set(known: ProviderTree, wanted: ProviderTree, uuid: str) -> bool:
    """Whether traits or aggregates differ, of a provider that wasn't made just now."""
    if not known.exists(uuid) or not known.data(uuid).generation:
        return False
    wants = wanted_data(known, wanted, uuid)
    return known.have_traits_changed(uuid, wants.traits) or known.have_aggregates_changed(
        uuid, wants.aggregates
    )


def plan_properties(known: ProviderTree, wanted: ProviderTree) -> list[PropertyStep]:
    """Set what differs, children before their parent; what isn't known counts as bare."""
    scope = set(_scope(known, wanted))
    steps: list[PropertyStep] = []
    for uuid in reversed(wanted.get_provider_uuids()):
        wants = wanted_data(known, wanted, uuid)
        if known.exists(uuid):
            if uuid in scope:
                _warn_if_moved(known.data(uuid), wants)
            has = known
        else:
            has = ProviderTree()
            has.new_root(wants.name, uuid)
        if has.has_inventory_changed(uuid, wants.inventory):
            steps.append(SetInventory(uuid, wants.inventory))
        if has.have_aggregates_changed(uuid, wants.aggregates):
            steps.append(SetAggregates(uuid, frozenset(wants.aggregates)))
        if has.have_traits_changed(uuid, wants.traits):
            steps.append(SetTraits(uuid, frozenset(wants.traits)))
    return steps


def _scope(known: ProviderTree, wanted: ProviderTree) -> list[str]:
    """The known providers that `wanted` speaks for."""
    if not isinstance(wanted, ProviderSubTree):
        return known.get_provider_uuids()
    root = wanted.scope_rp_uuid
    return known.get_provider_uuids(root) if known.exists(root) else []


def _warn_if_moved(has: ProviderData, wants: ProviderData) -> None:
    if (has.name, has.parent_uuid) != (wants.name, wants.parent_uuid):
        LOG.warning(
            "Provider %s stays %s below %s: renaming it to %s or moving it below %s is not "
            "supported.",
            has.uuid,
            has.name,
            has.parent_uuid,
            wants.name,
            wants.parent_uuid,
        )


# Applying


def sync(
    client: Properties,
    context: Any,
    wanted: ProviderTree,
    allocations: Mapping[str, Any] | None = None,
) -> None:
    """Make placement look like `wanted`.

    What `wanted` says of a provider is written at the generation that `wanted` has of it: who else
    uses the client may have read it again since `wanted` was copied, and found more there. That is
    a conflict; the next call with the same tree insists.

    Planned in stages: a provider that was to be created may turn out to exist, with properties of
    its own, and a reshape leaves inventories behind that need no further setting. The first
    failure ends it; what was done stays done, and a later call does the rest.
    """
    removals = plan_removals(client._provider_tree, wanted)
    for addition in plan_additions(client._provider_tree, wanted):
        with _conflict_noted(wanted, addition.uuid), _read_again_unless_created(client, addition):
            _apply(client, context, addition)
    _learn(client._provider_tree, wanted)
    if allocations is not None:
        move, *rereads = plan_reshape(client._provider_tree, wanted, allocations, removals)
        current = [
            uuid
            for uuid in wanted.get_provider_uuids()
            if wanted.data(uuid).generation == _generation(client, uuid)
        ]
        move.apply(client, context)
        _apply(client, context, *rereads)
        for uuid in current:
            wanted.note_written(uuid, _generation(client, uuid))
    _apply(client, context, *removals)
    for step in plan_properties(client._provider_tree, wanted):
        uuid = step.uuid
        with _conflict_noted(wanted, uuid):
            _apply(client, context, replace(step, generation=wanted.expected_generation(uuid)))
        wanted.note_written(uuid, _generation(client, uuid))
    client.settled()


def apply(client: Properties, context: Any, steps: Iterable[Step]) -> None:
    """Do what a plan says, in its order; the first failure ends it."""
    added: set[str] = set()
    for step in steps:
        if isinstance(step, Reshape):
            step.apply(client, context)
            continue
        if isinstance(step, AddProvider):
            added.add(step.uuid)
        elif isinstance(step, SetAggregates | SetTraits) and step.uuid in added:
            step = step.beside(client._provider_tree.data(step.uuid))
        _apply(client, context, step)


def _generation(client: Properties, uuid: str) -> int | None:
    return client._provider_tree.data(uuid).generation


@contextmanager
def _conflict_noted(wanted: ProviderTree, uuid: str) -> Iterator[None]:
    """Let who insists on `wanted` after a conflict have it, the next time."""
    try:
        yield
    except exceptions.PlacementAPIConflict:
        wanted.note_conflict(uuid)
        raise


def _apply(client: Properties, context: Any, *steps: Any) -> None:
    for step in steps:
        with _sync_errors(client, step.uuid):
            step.apply(client, context)


@contextmanager
def _read_again_unless_created(client: Properties, addition: AddProvider) -> Iterator[None]:
    """Forget the parent's tree when a child may or may not have been created.

    If it was, and only the answer got lost, a driver that gives its children new uuids finds it
    by its name the next time, instead of colliding with it until the cache is stale.
    """
    try:
        yield
    except (
        ClientException,
        exceptions.PlacementAPIConnectFailure,
        exceptions.ResourceProviderCreationFailed,
    ):
        if addition.parent_uuid is not None:
            _forget(client, addition.parent_uuid)
        raise


def _learn(known: ProviderTree, wanted: ProviderTree) -> None:
    """Put into `wanted` what was found out of the providers that its editor made."""
    for uuid in wanted.get_provider_uuids():
        if wanted.data(uuid).generation is None and known.exists(uuid):
            found = wanted_data(known, wanted, uuid)
            wanted.update_inventory(uuid, found.inventory)
            wanted.update_aggregates(uuid, found.aggregates)
            wanted.update_traits(uuid, found.traits, generation=known.data(uuid).generation)


@contextmanager
def _sync_errors(client: Properties, uuid: str) -> Iterator[None]:
    """Forget the tree of `uuid` when a step fails, so that the next attempt reads it afresh.

    A generation conflict goes on unchanged, for it is worth retrying; failures that aren't become
    ResourceProviderSyncFailed. All else passes, and the cache stays.
    """
    # The step itself may forget the provider, and then nothing would tell its tree.
    tree = client._provider_tree
    root, who = uuid, uuid
    if tree.exists(uuid):
        root = tree.get_provider_uuids_in_tree(uuid)[0]
        who = f"{tree.data(uuid).name} ({uuid})"
    try:
        yield
    except exceptions.PlacementAPIConflict:
        _forget(client, uuid, root)
        raise
    except CONVERTED as failure:
        LOG.error("Failed to synchronize provider %s: %s", who, failure)
        _forget(client, uuid, root)
        general = exceptions.ResourceProviderSyncFailed.msg_fmt
        raise exceptions.ResourceProviderSyncFailed(f"{general} Provider {who}.") from failure


def _forget(client: Properties, *uuids: str) -> None:
    for uuid in uuids:
        client._clear_provider_cache_for_tree(uuid)

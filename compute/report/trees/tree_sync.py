"""Making placement look like a ProviderTree (compute.md §3.9).

`steps_to` plans step by step. `TreeSync.run` sends all steps as one write where placement takes
that. Elsewhere it applies each step before the next one is planned.
`TreeSync.rehearse` only imagines each step, on a copy of the cache, and returns them all: so a
rehearsal shows the steps of the run. Where both trees agree there are no steps and no requests.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.report.trees.cache import ProviderCache
from compute.report.trees.planning import steps_to
from compute.report.trees.steps import (
    AddProvider,
    Parts,
    Reshape,
    SetAggregates,
    SetInventory,
    SetTraits,
    Step,
)
from compute.report.trees.tree_write import NameTaken, TreeWriter, body_of
from compute.report.wire.context import Context

CONVERTED = (
    exceptions.InvalidResourceClass,
    exceptions.ResourceProviderAggregateRetrievalFailed,
    exceptions.ResourceProviderDeletionFailed,
    exceptions.ResourceProviderInUse,
    exceptions.ResourceProviderRetrievalFailed,
    exceptions.ResourceProviderTraitRetrievalFailed,
    exceptions.ResourceProviderUpdateFailed,
    exceptions.TraitCreationFailed,
    exceptions.TraitRetrievalFailed,
)

#: After a conflict of one of these, the next call with the same tree writes at the new generation.
INSISTING = (AddProvider, SetInventory, SetAggregates, SetTraits)


@dataclass
class _Imagined:
    """A copy of the cached tree, which the steps of a rehearsal change."""

    tree: ProviderTree


class TreeSync:
    """Runs and rehearses the synchronization of a tree with placement."""

    def __init__(self, parts: Parts, writer: TreeWriter) -> None:
        self._parts = parts
        self._writer = writer

    def run(self, context: Context, wanted: ProviderTree, allocations: Allocations | None) -> bool:
        """Make placement look like `wanted`; `SchedulerReportClient` tells the rest.

        A provider is written at the generation that `wanted` has of it. If another writer was
        quicker, that is a conflict; the next call with the same tree writes at the generation that
        the provider has by then. The first failure ends the run: what was done stays done.
        """
        cache = self._parts.cache
        with cache.working_with(next(iter(wanted.get_provider_uuids()), "")):
            cache.stop_imagining(wanted.get_provider_uuids())
            cache.note_sharing_in(wanted)
            changed = self._run_at_once(context, wanted, allocations)
            if changed is None:
                changed = self._run_one_by_one(context, wanted, allocations)
            cache.settled()
        return changed

    def _run_at_once(
        self, context: Context, wanted: ProviderTree, allocations: Allocations | None
    ) -> bool | None:
        """Send all steps as one write; return whether there were any, None if that can't be done.

        A provider to create may turn out to exist. Its tree is then read, and the steps are planned
        again.
        """
        cache = self._parts.cache
        if next(steps_to(cache, wanted, allocations), None) is None:
            return False
        if not self._writer.offered(context):
            return None
        steps = self.rehearse(wanted, allocations)
        for step in steps:
            if isinstance(step, AddProvider) and step.was_there:
                with _failures_of(step, cache, wanted):
                    step.apply(self._parts, context)
                steps = []
        while True:
            steps = steps or self.rehearse(wanted, allocations)
            if not steps:
                return False
            body = body_of(steps, cache.tree, wanted)
            if body is None:
                return None
            try:
                return True if self._writer.write(context, body, wanted) else None
            except NameTaken as taken:
                self._adopt(context, steps, taken, wanted)
            steps = []

    def _adopt(
        self, context: Context, steps: list[Step], taken: NameTaken, wanted: ProviderTree
    ) -> None:
        """Read the tree of a provider that was to be created and that another writer made.

        Raises ResourceProviderCreationFailed if it is another provider that has the name;
        ResourceProviderCreationConflict if that one is in the same tree.
        """
        additions = [step for step in steps if isinstance(step, AddProvider)]
        named = [step for step in additions if step.uuid in taken.error]
        for step in named:
            with _failures_of(step, self._parts.cache, wanted):
                found = self._parts.trees.load(context, step.uuid)
            if found:
                return
        # if the error has `compute1_numa10`, it has `compute1_numa1`, too: the longest name counts
        told = [one for one in additions if one.name in taken.error] or additions[:1]
        step = max(told, key=lambda one: len(one.name))
        with _failures_of(step, self._parts.cache, wanted):
            raise self._parts.providers.name_taken(
                context, step.uuid, step.name, step.parent_uuid
            ) from taken

    def _run_one_by_one(
        self, context: Context, wanted: ProviderTree, allocations: Allocations | None
    ) -> bool:
        cache, changed = self._parts.cache, False
        for step in steps_to(cache, wanted, allocations):
            with _failures_of(step, cache, wanted):
                step.apply(self._parts, context)
            changed = True
        return changed

    def rehearse(self, wanted: ProviderTree, allocations: Allocations | None) -> list[Step]:
        """Return the steps that `run` would take, as far as the cache can tell; send nothing."""
        imagined = _Imagined(copy.deepcopy(self._parts.cache.tree))
        steps: list[Step] = []
        for step in steps_to(imagined, copy.deepcopy(wanted), allocations):
            step.imagine(imagined.tree)
            steps.append(step)
        return steps


@contextmanager
def _failures_of(step: Step, cache: ProviderCache, wanted: ProviderTree) -> Iterator[None]:
    """Convert what a step raises, and forget what the failure leaves uncertain.

    `Reshaper.reshape` does both itself, so the exceptions of a reshape pass.
    """
    with ExitStack() as stack:
        if isinstance(step, INSISTING):
            stack.enter_context(_conflict_noted(wanted, step.uuid))
        if isinstance(step, AddProvider):
            stack.enter_context(_read_again_unless_created(cache, step))
        if not isinstance(step, Reshape):
            stack.enter_context(_sync_errors(cache, step.uuid))
        yield


@contextmanager
def _conflict_noted(wanted: ProviderTree, uuid: str) -> Iterator[None]:
    """Note a conflict in `wanted`, so that the next call writes at the new generation."""
    try:
        yield
    except exceptions.PlacementAPIConflict:
        wanted.note_conflict(uuid)
        raise


@contextmanager
def _read_again_unless_created(cache: ProviderCache, addition: AddProvider) -> Iterator[None]:
    """Forget the parent's tree when a child may or may not have been created.

    If the child was created and only the answer got lost, a driver that gives its children new
    uuids finds it by its name the next time. Otherwise the names would collide until the cache is
    stale.
    """
    try:
        yield
    except (
        ClientException,
        exceptions.PlacementAPIConnectFailure,
        exceptions.ResourceProviderCreationFailed,
    ):
        if addition.parent_uuid is not None:
            cache.forget_tree(addition.parent_uuid)
        raise


@contextmanager
def _sync_errors(cache: ProviderCache, uuid: str) -> Iterator[None]:
    """Forget the tree of `uuid` when a step fails, so that the next attempt reads it afresh.

    A generation conflict passes, because it is worth a retry; so does InventoryInUse, which the
    callers of nova's client know. The failures of CONVERTED become ResourceProviderSyncFailed. All
    else passes, and the cache stays.
    """
    # The step itself may forget the provider, and then its tree can't be looked up any more.
    tree = cache.tree
    root, who = uuid, uuid
    if tree.exists(uuid):
        root = tree.get_provider_uuids_in_tree(uuid)[0]
        who = f"{tree.data(uuid).name} ({uuid})"
    try:
        yield
    except exceptions.PlacementAPIConflict:
        cache.forget_tree(uuid)
        cache.forget_tree(root)
        raise
    except (exceptions.InventoryInUse, *CONVERTED) as failure:
        cache.forget_tree(uuid)
        cache.forget_tree(root)
        if isinstance(failure, exceptions.InventoryInUse):
            raise
        general = exceptions.ResourceProviderSyncFailed.msg_fmt
        raise exceptions.ResourceProviderSyncFailed(f"{general} Provider {who}.") from failure

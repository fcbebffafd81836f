"""Deleting the providers of a compute node (compute.md §3.11)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.report.consumers.allocations import ConsumerAllocations
from compute.report.trees.cache import ProviderCache
from compute.report.trees.providers import Providers
from compute.report.trees.trees import Trees
from compute.report.wire.context import Context

LOG = logging.getLogger(__name__)


class NodeRecord(Protocol):
    """What is read of a compute node record."""

    uuid: str
    hypervisor_hostname: str


class NodeDeletion:
    """Deletes nodes' trees."""

    def __init__(
        self,
        cache: ProviderCache,
        providers: Providers,
        trees: Trees,
        allocations: ConsumerAllocations,
    ) -> None:
        self._cache = cache
        self._providers = providers
        self._trees = trees
        self._allocations = allocations

    def delete(
        self,
        context: Context,
        compute_node: NodeRecord,
        cascade: bool,
        instances: Iterable[str] | None,
        evacuated: Iterable[str],
    ) -> None:
        """Delete the node's provider and all below it, children first.

        With `cascade` allocations go first: all allocations of each of `instances`, the uuids of
        the instances on the node; and, of each of `evacuated`, those in the node's tree. Without
        `instances` placement is asked: a consumer that holds nothing of another host counts as an
        instance on the node, any other as one that moved away.

        A provider that is in use or can't be deleted is logged and stays. Raises
        ResourceProviderRetrievalFailed if the tree can't be read, what reading and deleting
        allocations raises, and ClientException if placement is unreachable.
        """
        uuid = compute_node.uuid
        if cascade:
            if instances is None:
                instances, evacuated = self._consumers_of(context, uuid)
            for instance in instances:
                self._allocations.delete(context, instance, force=True)
            for instance in evacuated:
                self._allocations.remove_tree(context, instance, uuid)
        there = ProviderTree()
        there.populate_from_iterable(self._providers.in_tree(context, uuid))
        # What stays must be read again, with all that other writers gave it.
        self._cache.forget_tree(uuid)
        if not there.exists(uuid):
            return
        for member in reversed(there.get_provider_uuids(uuid)):
            try:
                self._providers.delete(context, member)
            except (
                exceptions.ResourceProviderInUse,
                exceptions.ResourceProviderDeletionFailed,
            ) as refusal:
                LOG.warning(
                    "Provider %s of node %s stays: %s",
                    member,
                    compute_node.hypervisor_hostname,
                    refusal,
                )

    def _consumers_of(self, context: Context, uuid: str) -> tuple[list[str], list[str]]:
        """Return the consumers that hold something of this tree alone, and the others."""
        if not self._trees.load(context, uuid):
            return [], []
        here = set(self._trees.known_subtree(context, uuid).get_provider_uuids())
        resident: list[str] = []
        moved: list[str] = []
        for consumer, body in self._allocations.of_tree(context, uuid).items():
            (resident if here.issuperset(body["allocations"]) else moved).append(consumer)
        return resident, moved

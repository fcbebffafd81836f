"""SchedulerReportClient: the compute side's one door to placement, with nova's method names."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.report import tree_sync
from compute.report.candidates import SchedulingReads
from compute.report.transport import report_construction_failure

LOG = logging.getLogger(__name__)


class ComputeNode(Protocol):
    """What the client reads of a compute node record."""

    uuid: str
    hypervisor_hostname: str


class SchedulerReportClient(SchedulingReads):
    """Reads, ensures and updates what placement knows of this host's resources.

    It remembers what it read and wrote, and sends only differences: a tree that hasn't changed
    costs no request.

    :param adapter: a prepared keystoneauth1 adapter; None: one is built from `[placement]`
    :param conf: configuration with groups [placement] and [compute], as `compute.config.load`
        makes it; None: every option has its default
    :param sleep: waits so many seconds between attempts
    :raises keystoneauth1.exceptions.ClientException: `[placement]` is unusable
    """

    def __init__(
        self,
        adapter: Adapter | None = None,
        conf: cfg.ConfigOpts | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(adapter, _defaults() if conf is None else conf, sleep)

    def update_from_provider_tree(
        self,
        context: Any,
        new_tree: ProviderTree,
        allocations: Mapping[str, Any] | None = None,
    ) -> None:
        """Make placement look like `new_tree`, a copy that came from this client and was edited.

        Of a ProviderSubTree, only the providers below its root can be removed by being absent.
        With `allocations` – what `get_allocations_for_provider_tree` gave, edited; even empty –
        inventories and allocations are first moved by one `POST /reshaper`.

        Providers added get their generation written into `new_tree`. It isn't atomic as a whole:
        the first failure ends it, and a later call does the rest. Afterwards the cache equals
        `new_tree`, and calling it again sends nothing.

        Raises PlacementReshapeConflict and ResourceProviderUpdateConflict, which are worth a retry
        from a fresh tree; ReshapeFailed; ResourceProviderSyncFailed for failures with one
        provider; ResourceProviderCreationFailed; and ClientException or PlacementAPIConnectFailure
        if placement is unreachable.
        """
        first = next(iter(new_tree.get_provider_uuids()), "")
        with self.working_with(first):
            tree_sync.sync(self, context, new_tree, allocations)

    def plan(
        self, new_tree: ProviderTree, allocations: Mapping[str, Any] | None = None
    ) -> list[tree_sync.Step]:
        """What `update_from_provider_tree` would do, a write each, without doing it.

        `str()` of a step tells what it is; `apply` does them all.
        """
        return tree_sync.plan(self._provider_tree, new_tree, allocations)

    def apply(self, context: Any, plan: Sequence[tree_sync.Step]) -> None:
        """Do what a plan says, in its order. Raises as `update_from_provider_tree`.

        A plan knows only what was known when it was made. Where a provider to be created turns out
        to exist, with more to it than is wanted, `update_from_provider_tree` does the rest.
        """
        first = next((step.uuid for step in plan), "")
        with self.working_with(first):
            tree_sync.apply(self, context, plan)

    def delete_resource_provider(
        self,
        context: Any,
        compute_node: ComputeNode,
        cascade: bool = False,
        instances: Iterable[str] | None = None,
        evacuated: Iterable[str] = (),
    ) -> None:
        """Delete the node's provider and all below it, children first.

        With `cascade` allocations go first: all of each of `instances`, the uuids of the instances
        on the node, and for each of `evacuated`, those that were evacuated from it, what they hold
        in its tree. Without `instances` placement is asked: a consumer that holds nothing of
        another host is taken for an instance on the node, any other for one that moved away.

        A provider that is still in use or can't be deleted is logged and stays. Raises
        ResourceProviderRetrievalFailed, failures to read or delete allocations, and
        ClientException if placement is unreachable.
        """
        uuid = compute_node.uuid
        if cascade:
            if instances is None:
                instances, evacuated = self._consumers_of(context, uuid)
            for instance in instances:
                self.delete_allocation_for_instance(context, instance, force=True)
            for instance in evacuated:
                self.remove_provider_tree_from_instance_allocation(context, instance, uuid)
        there = ProviderTree()
        there.populate_from_iterable(self.get_providers_in_tree(context, uuid))
        # What stays must be read again, with all that others have there.
        self._clear_provider_cache_for_tree(uuid)
        if not there.exists(uuid):
            return
        for member in reversed(there.get_provider_uuids(uuid)):
            try:
                self._delete_provider(context, member)
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

    def _consumers_of(self, context: Any, uuid: str) -> tuple[list[str], list[str]]:
        """The consumers that hold something of the tree: those at home in it, and the others."""
        if not self._load_tree(context, uuid):
            return [], []
        here = set(self._provider_tree.subtree_with_sharing(uuid).get_provider_uuids())
        resident: list[str] = []
        moved: list[str] = []
        for consumer, body in self.get_allocations_for_provider_tree(context, uuid).items():
            (resident if here.issuperset(body["allocations"]) else moved).append(consumer)
        return resident, moved


def _defaults() -> cfg.ConfigOpts:
    # Not at the top: the configuration registers the options of this package.
    from compute import config

    return config.load(files=[], environ={})


_singleton: SchedulerReportClient | None = None
_singleton_lock = threading.Lock()


def report_client_singleton(conf: cfg.ConfigOpts | None = None) -> SchedulerReportClient:
    """The process-wide client, made from `conf` when it is first asked for.

    Why it can't be made is logged in an operator's words, and the exception passes.
    """
    global _singleton
    with _singleton_lock:
        if _singleton is None:
            try:
                _singleton = SchedulerReportClient(conf=conf)
            except Exception as failure:
                report_construction_failure(failure)
                raise
        return _singleton

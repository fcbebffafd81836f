"""Moving a node's inventory and allocations while its service is down (compute.md §7.1).

The service's own tracker works out what a node's providers shall be, on a copy of the records.
`migrate` has the tracker send that; `rehearse` only reports what would be sent.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from compute import exceptions
from compute.maintenance.migrate.moves import AmountMove, moves_of
from compute.maintenance.migrate.rehearsal import refuses_writes
from compute.maintenance.migrate.reshape_check import misfits, used_after
from compute.maintenance.provider_details import ProviderDetails, details_of, usages_in_tree
from compute.provider_tree import ProviderSubTree
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from compute.report.trees.steps import AddProvider, Reshape, Step
from compute.report.wire.context import RequestContext, admin_context
from compute.resource_tracker import ResourceTracker
from compute.resource_tracker.reporting.patience import Patience
from compute.resource_tracker.reporting.reporting import WantedProviders
from compute.resource_tracker.reporting.reshape import Reshaped

LOG = logging.getLogger(__name__)


class Result(enum.StrEnum):
    """What became of a node."""

    UNCHANGED = "no reshape needed"
    MIGRATED = "migrated"
    SYNCHRONIZED = "synchronized"
    WOULD_MIGRATE = "would be migrated"
    WOULD_SYNCHRONIZE = "would be synchronized"
    FAILED = "failed"


@dataclass(frozen=True)
class NamedProvider:
    """A provider: its uuid and its name."""

    uuid: str
    name: str


@dataclass
class NodeReport:
    """What was done, or would be done, with one node.

    `moves` is consumer → moves, `names` provider uuid → name for those that the moves are between.
    A rehearsal also has the providers before and after, what doesn't fit (`misfits`), the `steps`
    in words, and the body of the `POST /reshaper` that it would send (`payload`).
    """

    node: str
    uuid: str
    result: Result
    created: list[NamedProvider] = field(default_factory=list)
    removed: list[NamedProvider] = field(default_factory=list)
    moves: dict[str, list[AmountMove]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    before: list[ProviderDetails] = field(default_factory=list)
    after: list[ProviderDetails] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    payload: dict[str, Any] | None = None
    error: Exception | None = None

    @property
    def reshape_failed(self) -> bool:
        """Say whether the reshape itself failed, not something before or after it."""
        kinds = (exceptions.ReshapeFailed, exceptions.ReshapeNeeded)
        return isinstance(self.error, kinds)


@dataclass(frozen=True)
class Migrator:
    """Migrates nodes one by one, each with a report client of its own.

    A new client knows one tree, so that no reshape can touch another node's tree.

    :param new_client: makes a report client with an empty cache; for rehearsals one that refuses
        to write (`rehearsal.rehearsing_client`)
    :param new_tracker: makes the tracker of a node's service, which works with the client
    :param ask_permission: raises ReshapeFailed if placement doesn't let this user reshape
    :param sync: also write what differs without a reshape, as the service would
    :param patience: how long to go on while other writers change the node's providers
    """

    new_client: Callable[[], SchedulerReportClient]
    new_tracker: Callable[[ComputeNode, SchedulerReportClient], ResourceTracker]
    ask_permission: Callable[[], None]
    sync: bool = False
    patience: Patience = field(default_factory=lambda: Patience(0))

    def migrate(self, node: ComputeNode) -> NodeReport:
        """Bring one node up to date. A failure is in the report; nothing is raised."""
        # One client for all tries: it reads again only what other writers changed meanwhile.
        client = cache(self.new_client)
        moving: list[_Work] = []
        return self._reported(node, lambda: self._migrate(node, client(), moving))

    def rehearse(self, node: ComputeNode) -> NodeReport:
        """Report what `migrate` would do. `new_client` must make clients that refuse to write."""
        return self._reported(node, lambda: self._rehearse(node))

    def _reported(self, node: ComputeNode, work: Callable[[], NodeReport]) -> NodeReport:
        try:
            return self.patience.until_undisturbed(work, node.hypervisor_hostname)
        except Exception as error:
            # Whatever the failure is, the other nodes are worth a try.
            LOG.exception("Node %s could not be migrated", node.hypervisor_hostname)
            return NodeReport(node.hypervisor_hostname, node.uuid, Result.FAILED, error=error)

    def _migrate(
        self, node: ComputeNode, client: SchedulerReportClient, moving: list[_Work]
    ) -> NodeReport:
        """Try once.

        `moving` gets this try's work if there is something to move. If an earlier try is in it and
        this one has nothing to move, the earlier try has moved it before another writer disturbed
        it.
        """
        work = self._begun(node, client)
        if work.wanted.reshaped is not None:
            self.ask_permission()
            moving.append(work)
        elif not self.sync and not moving:
            return work.compared(Result.UNCHANGED)
        pending = bool(work.steps())
        work.tracker.flush(work.context, work.wanted)
        if moving:
            return moving[-1].compared(Result.MIGRATED)
        return work.compared(Result.SYNCHRONIZED if pending else Result.UNCHANGED)

    def _rehearse(self, node: ComputeNode) -> NodeReport:
        client = self.new_client()
        if not refuses_writes(client):
            raise TypeError("A rehearsal needs a client that refuses to write")
        root = AddProvider(node.uuid, node.hypervisor_hostname, None)
        missing = not client.trees.load(admin_context(), node.uuid)
        if missing:
            client.cache.imagine_root(root.name, root.uuid)
        work = self._begun(node, client)
        existing = work.read_existing()
        steps = work.steps()
        if work.wanted.reshaped is not None:
            self.ask_permission()
            result = Result.WOULD_MIGRATE
        elif self.sync and steps:
            result = Result.WOULD_SYNCHRONIZE
        else:
            result, steps = Result.UNCHANGED, []
        report = work.compared(result)
        report.created = [one for one in report.created if one.uuid not in existing]
        if missing:
            report.created.insert(0, NamedProvider(root.uuid, root.name))
        report.steps = [str(step) for step in ([root, *steps] if missing else steps)]
        reshape = next((step for step in steps if isinstance(step, Reshape)), None)
        report.payload = None if reshape is None else _body(reshape)
        if result is not Result.UNCHANGED:
            work.add_details(report, existing)
        return report

    def _begun(self, node: ComputeNode, client: SchedulerReportClient) -> _Work:
        """Read the node's providers, and have its tracker work out what they shall be."""
        context, nodename = admin_context(), node.hypervisor_hostname
        before = client.get_provider_subtree_and_ensure_root(
            context, node.uuid, name=nodename, with_sharing=True
        )
        tracker = self.new_tracker(node, client)
        wanted = tracker.wanted_providers(context, nodename)
        moved = wanted.reshaped
        if moved is None and wanted.allocations is not None:
            now = client.get_allocations_for_provider_tree(context, nodename)
            moved = Reshaped(now, wanted.allocations)
        return _Work(node, client, context, tracker, before, wanted, moved)


@dataclass(frozen=True)
class _Work:
    """A node's providers as they are and as they shall be, and the allocations that move."""

    node: ComputeNode
    client: SchedulerReportClient
    context: RequestContext
    tracker: ResourceTracker
    before: ProviderSubTree
    wanted: WantedProviders
    moved: Reshaped | None

    def read_existing(self) -> set[str]:
        """Read and return the providers to be created that exist already, as a run does.

        An example is a sharing provider of other hosts. Once it is known, the steps don't create
        it, and set only what differs.
        """
        client = self.client
        unknown = [
            uuid
            for uuid in self.wanted.tree.get_provider_uuids()
            if not client.cache.tree.exists(uuid)
        ]
        return client.trees.load_existing(self.context, unknown)

    def steps(self) -> list[Step]:
        return self.client.tree_sync.rehearse(self.wanted.tree, self.wanted.allocations)

    def compared(self, result: Result) -> NodeReport:
        if result is Result.UNCHANGED:
            return NodeReport(self.node.hypervisor_hostname, self.node.uuid, result)
        after = self.wanted.tree
        had, has = self.before.get_provider_uuids(), after.get_provider_uuids()
        names = {uuid: self.before.data(uuid).name for uuid in had}
        names |= {uuid: after.data(uuid).name for uuid in has}
        return NodeReport(
            self.node.hypervisor_hostname,
            self.node.uuid,
            result,
            created=[NamedProvider(uuid, names[uuid]) for uuid in has if uuid not in had],
            removed=[NamedProvider(uuid, names[uuid]) for uuid in had if uuid not in has],
            moves=moves_of(self.moved.before, self.moved.after) if self.moved else {},
            names=names,
        )

    def add_details(self, report: NodeReport, existing: set[str]) -> None:
        before, after = self.before, self.wanted.tree
        had = before.get_provider_uuids()
        imagined = self.client.cache.imagined
        nothing: dict[str, dict[str, int]] = {uuid: {} for uuid in had if uuid in imagined}
        used = nothing | usages_in_tree(
            self.client,
            self.context,
            self.node.uuid,
            [uuid for uuid in [*had, *existing] if uuid not in imagined],
        )
        moved = self.moved or Reshaped({}, {})
        later = used_after(used, moved.before, moved.after)
        gone = [uuid for uuid in had if not after.exists(uuid)]
        report.before = details_of(before, used)
        report.after = details_of(after, later)
        if report.payload is not None:
            report.misfits = misfits(report.after, details_of(before, later, gone), moved.after)


def _body(reshape: Reshape) -> dict[str, object]:
    """Return the body of the request; providers that will be created begin at generation 0."""
    inventories = {
        uuid: {
            **record,
            "resource_provider_generation": record["resource_provider_generation"] or 0,
        }
        for uuid, record in reshape.inventories.items()
    }
    return {"inventories": inventories, "allocations": reshape.allocations}

"""Moving a node's inventory and allocations while its service is down (compute.md §7.1).

`migrate` does what the service does at its start-up, on the same code; `rehearse` reads, asks the
driver, and tells what a migration would do.
"""

from __future__ import annotations

import copy
import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute import exceptions
from compute.compute_node import ComputeNode
from compute.context import RequestContext, admin_context
from compute.manage.moves import Move, moves_of
from compute.manage.picture import ProviderPicture, picture_of, usages_of
from compute.manage.rehearsal import RehearsalClient
from compute.manage.verdict import misfits, used_after
from compute.provider_tree import ProviderSubTree
from compute.report import SchedulerReportClient
from compute.report.tree_sync import AddProvider, Reshape
from compute.resource_tracker.driver_tree import edit_tree, until_undisturbed
from compute.resource_tracker.reshape import Reshaped

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
class Named:
    """A provider, by both its names."""

    uuid: str
    name: str


@dataclass
class NodeReport:
    """What was done, or would be done, to one node.

    `moves` is consumer → moves, `names` provider uuid → name for those that the moves are between.
    A rehearsal also has the pictures before and after, what doesn't fit (`misfits`), the `steps` in
    words, and the body of the `POST /reshaper` it would send (`payload`).
    """

    node: str
    uuid: str
    result: Result
    created: list[Named] = field(default_factory=list)
    removed: list[Named] = field(default_factory=list)
    moves: dict[str, list[Move]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    before: list[ProviderPicture] = field(default_factory=list)
    after: list[ProviderPicture] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    payload: dict[str, Any] | None = None
    error: Exception | None = None

    @property
    def reshape_failed(self) -> bool:
        """Whether it was the reshape that failed, and not something before or after it."""
        kinds = (exceptions.ReshapeFailed, exceptions.ReshapeNeeded)
        return isinstance(self.error, kinds)


@dataclass(frozen=True)
class Migrator:
    """Migrates nodes one by one, each with a report client of its own.

    A fresh client knows one tree, so that no reshape can touch another node's.

    :param new_client: makes a report client with an empty cache; for rehearsals one that refuses
        to write
    :param sync: also flush what differs without a reshape, as the service would
    """

    new_client: Callable[[], SchedulerReportClient]
    driver: Any
    conf: cfg.ConfigOpts
    sync: bool = False

    def migrate(self, node: ComputeNode) -> NodeReport:
        """Bring one node up to date. What fails is in the report; nothing is raised."""
        return self._reported(node, self._migrate)

    def rehearse(self, node: ComputeNode) -> NodeReport:
        """Tell what `migrate` would do. `new_client` must make RehearsalClients."""
        return self._reported(node, self._rehearse)

    def _reported(self, node: ComputeNode, work: Callable[[ComputeNode], NodeReport]) -> NodeReport:
        try:
            return until_undisturbed(lambda: work(node), node.hypervisor_hostname)
        except Exception as error:
            # Whatever it is, the other nodes are worth a try.
            LOG.exception("Node %s could not be migrated", node.hypervisor_hostname)
            return NodeReport(node.hypervisor_hostname, node.uuid, Result.FAILED, error=error)

    def _migrate(self, node: ComputeNode) -> NodeReport:
        client, context = self.new_client(), admin_context()
        before, tree, reshaped = self._wanted(client, context, node)
        if reshaped is None and not self.sync:
            return NodeReport(node.hypervisor_hostname, node.uuid, Result.UNCHANGED)
        pending = bool(client.plan(tree, reshaped.after if reshaped else None))
        client.update_from_provider_tree(
            context, tree, allocations=reshaped.after if reshaped else None
        )
        result = Result.SYNCHRONIZED if pending else Result.UNCHANGED
        return _compared(node, Result.MIGRATED if reshaped else result, before, tree, reshaped)

    def _rehearse(self, node: ComputeNode) -> NodeReport:
        client, context = self.new_client(), admin_context()
        if not isinstance(client, RehearsalClient):
            raise TypeError("A rehearsal needs a client that refuses to write")
        before, tree, reshaped = self._wanted(client, context, node)
        plan = client.plan(tree, reshaped.after if reshaped else None)
        if reshaped is not None:
            result = Result.WOULD_MIGRATE
        elif self.sync and plan:
            result = Result.WOULD_SYNCHRONIZE
        else:
            result, plan = Result.UNCHANGED, []
        report = _compared(node, result, before, tree, reshaped)
        report.created[:0] = [Named(row["uuid"], row["name"]) for row in client.imagined.values()]
        report.steps = [str(step) for step in plan]
        report.steps[:0] = [
            str(AddProvider(row["uuid"], row["name"], row["parent_provider_uuid"]))
            for row in client.imagined.values()
        ]
        reshape = next((step for step in plan if isinstance(step, Reshape)), None)
        report.payload = None if reshape is None else _body(reshape)
        if result is not Result.UNCHANGED:
            _add_pictures(report, client, context, before, tree, reshaped)
        return report

    def _wanted(
        self, client: SchedulerReportClient, context: RequestContext, node: ComputeNode
    ) -> tuple[ProviderSubTree, ProviderSubTree, Reshaped | None]:
        """The tree as it is and as the driver wants it; allocations only if they are to move."""
        tree = client.get_provider_subtree_and_ensure_root(
            context, node.uuid, name=node.hypervisor_hostname, with_sharing=True
        )
        before = copy.deepcopy(tree)
        reshaped = edit_tree(self.driver, self.conf, client, context, tree, node, may_reshape=True)
        return before, tree, reshaped


def _body(reshape: Reshape) -> dict[str, Any]:
    """The body of the request; providers that are yet to be created begin at generation 0."""
    inventories = {
        uuid: {
            **record,
            "resource_provider_generation": record["resource_provider_generation"] or 0,
        }
        for uuid, record in reshape.inventories.items()
    }
    return {"inventories": inventories, "allocations": reshape.allocations}


def _compared(
    node: ComputeNode,
    result: Result,
    before: ProviderSubTree,
    after: ProviderSubTree,
    reshaped: Reshaped | None,
) -> NodeReport:
    had, has = before.get_provider_uuids(), after.get_provider_uuids()
    names = {uuid: before.data(uuid).name for uuid in had}
    names |= {uuid: after.data(uuid).name for uuid in has}
    if result is Result.UNCHANGED:
        had = has = []
    return NodeReport(
        node.hypervisor_hostname,
        node.uuid,
        result,
        created=[Named(uuid, names[uuid]) for uuid in has if uuid not in had],
        removed=[Named(uuid, names[uuid]) for uuid in had if uuid not in has],
        moves=moves_of(reshaped.before, reshaped.after) if reshaped else {},
        names=names,
    )


def _add_pictures(
    report: NodeReport,
    client: RehearsalClient,
    context: RequestContext,
    before: ProviderSubTree,
    after: ProviderSubTree,
    reshaped: Reshaped | None,
) -> None:
    had = before.get_provider_uuids()
    used = {
        uuid: {} if uuid in client.imagined else usages_of(client, context, uuid) for uuid in had
    }
    moved = reshaped or Reshaped({}, {})
    later = used_after(used, moved.before, moved.after)
    gone = [uuid for uuid in had if not after.exists(uuid)]
    report.before = picture_of(before, used)
    report.after = picture_of(after, later)
    report.misfits = misfits(report.after, picture_of(before, later, gone), moved.after)

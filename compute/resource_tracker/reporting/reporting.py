"""Reporting a node: its wanted providers to placement, then its record to the cell database."""

from __future__ import annotations

import copy
import logging
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from oslo_config import cfg

from compute import exceptions
from compute.driver import ServiceDriver
from compute.provider_config import Provider
from compute.provider_tree import ProviderSubTree, ProviderTree
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.kept_inventory import restore
from compute.provider_tree.names import ADOPTING
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.trees.namesakes import COMMAND
from compute.report.wire.context import RequestContext
from compute.resource_tracker.node.node import TrackedNode
from compute.resource_tracker.node.node_traits import RootTraits
from compute.resource_tracker.node.nodes import Nodes
from compute.resource_tracker.provider_yaml.additions_ownership import AdditionsOwnership, Owned
from compute.resource_tracker.reporting.driver_tree import edit_tree
from compute.resource_tracker.reporting.lowered_inventory import (
    Capacities,
    capacities,
    warn_of_excess,
)
from compute.resource_tracker.reporting.patience import Patience
from compute.resource_tracker.reporting.pci_reporting import PciReporting
from compute.resource_tracker.reporting.replaced_classes import refuse_replaced
from compute.resource_tracker.reporting.reshape import Reshaped

LOG = logging.getLogger(__name__)

#: what an update raises if a class of which something is allocated goes
KINDS = (
    exceptions.InventoryInUse,
    exceptions.ReshapeFailed,
    exceptions.PlacementPciException,
)

_HINT = (
    "[compute]cpu_dedicated_set alone leaves no processor for VCPU, and guests hold some: name "
    "processors for them in [compute]cpu_shared_set."
)


def with_option(error: exceptions.NovaException, conf: cfg.ConfigOpts) -> exceptions.NovaException:
    """Return the error, with the option in its text if that is why it was raised."""
    shared = conf.compute.cpu_shared_set or conf.vcpu_pin_set
    is_why = conf.compute.cpu_dedicated_set and not shared and re.search(r"\bVCPU\b", str(error))
    if not is_why:
        return error
    named = type(error)(f"{str(error).strip()} {_HINT}")
    named.__cause__ = error.__cause__ or error
    return named


@dataclass(frozen=True)
class WantedProviders:
    """What a node's providers shall be.

    `reshaped` is what the driver moves, if it reshapes. `allocations` are those to write with the
    tree, changed by the driver or by the report of PCI devices. `owned` is what the operator's
    files add, and no longer add. `capacities` are those that placement had before.
    """

    nodename: str
    tree: ProviderSubTree
    reshaped: Reshaped | None
    allocations: Allocations | None
    owned: Owned
    capacities: Capacities


class Reporting:
    """Brings nodes' providers up to date, and then their records (compute.md §4.5–§4.8).

    `provider_tree` is the tree last handed to the report client.
    """

    def __init__(
        self,
        driver: ServiceDriver,
        conf: cfg.ConfigOpts,
        reportclient: SchedulerReportClient,
        cell: CellDatabase,
        nodes: Nodes,
        traits: RootTraits,
        pci: PciReporting,
        provider_configs: Mapping[str, Provider],
    ) -> None:
        self._driver = driver
        self._conf = conf
        self._reportclient = reportclient
        self._cell = cell
        self._nodes = nodes
        self._traits = traits
        self._pci = pci
        self.additions = AdditionsOwnership(
            reportclient, conf, provider_configs, self._warn_if_absent
        )
        self.provider_tree: ProviderTree | None = None

    @property
    def absent_providers(self) -> set[str]:
        """The ids of the operator's files that no node has, and of which a warning was logged."""
        return self.additions.absent

    def update(self, context: RequestContext, node: TrackedNode, startup: bool = False) -> None:
        """Bring placement up to date, and then the record.

        In this order, so that a fatal reshape leaves no record of a state that never was. If other
        writers change the node's providers concurrently, it starts again from a fresh tree.
        """
        node.changed = node.reshaped = False
        try:
            for _ in range(2):
                Patience.configured(self._conf).until_undisturbed(
                    lambda: self.flush(context, self.wanted(context, node, startup)), node.name
                )
                if self._pci.settled(node):
                    break
        except KINDS as error:
            named = with_option(error, self._conf)
            if named is error:
                raise
            raise named from named.__cause__
        self._save(node)

    def wanted(
        self, context: RequestContext, node: TrackedNode, may_reshape: bool
    ) -> WantedProviders:
        """Work out what the node's providers shall be; at most a missing root is created.

        The service and the commands that stand in for it both come here, and nowhere else.
        """
        tree = self._reportclient.get_provider_subtree(
            context, node.uuid, name=node.name, with_sharing=True
        )
        self._refuse_other_name(tree, node)
        restore(tree, node.uuid)
        before = capacities(tree)
        additions = self.additions.of_node(node.uuid)
        given = additions.take_out(tree)
        reshaped = edit_tree(
            self._driver, self._conf, self._reportclient, context, tree, node.record, may_reshape
        )
        tree.update_traits(node.name, self._traits.of(context, node.record, tree))
        allocations = self._pci.report(context, tree, node, reshaped.after if reshaped else None)
        owned = self.additions.merge(context, additions, tree, given)
        self._traits.mark_own(context, tree, additions.named(tree))
        return WantedProviders(node.name, tree, reshaped, allocations, owned, before)

    def _refuse_other_name(self, tree: ProviderTree, node: TrackedNode) -> None:
        """Raise InvalidConfiguration if placement knows the node's uuid by another name."""
        known = tree.data(node.uuid).name
        if known.startswith(ADOPTING):
            raise exceptions.InvalidConfiguration(
                f"Provider {node.uuid}, which this host's compute_id names, is being adopted: its "
                f"guests aren't all there yet. Run again: {COMMAND} --name "
                f"{shlex.quote(node.name)} --uuid {node.uuid} – then start the agent."
            )
        if known != node.name:
            raise exceptions.InvalidConfiguration(
                f"Provider {node.uuid}, which this host's compute_id names, is called {known} in "
                f"placement, and this host is called {node.name}. If {known} is this host's former "
                f"name: {COMMAND} --name {shlex.quote(known)} --uuid {node.uuid} --as "
                f"{shlex.quote(node.name)} (with --dry-run first). If {known} is another host, "
                f"from which compute_id was copied: remove that file and the records beside it "
                f"from {self._conf.state_path}, and start again."
            )

    def flush(self, context: RequestContext, wanted: WantedProviders) -> None:
        """Make placement look as `wanted`.

        Raises what `update_from_provider_tree` raises, and PlacementPciException for a device that
        is in use and gone.
        """
        node = self._nodes.get(wanted.nodename)
        node.tree = self.provider_tree = wanted.tree
        # true until the outcome is known, also while a conflict makes another attempt necessary
        before, node.changed = node.changed, True
        try:
            refuse_replaced(
                self._reportclient, context, wanted.capacities, wanted.tree, wanted.allocations
            )
            with self.additions.remembered(wanted.owned, wanted.tree):
                changed = self._reportclient.update_from_provider_tree(
                    context, wanted.tree, allocations=wanted.allocations
                )
            node.changed = before or bool(changed)
            node.reshaped = wanted.reshaped is not None
        except exceptions.InventoryInUse as in_use:
            if self._conf.pci.report_in_placement:
                raise exceptions.PlacementPciException(error=in_use) from in_use
            raise
        if changed:
            warn_of_excess(
                self._reportclient, context, wanted.nodename, wanted.capacities, wanted.tree
            )

    def forget(self) -> None:
        """Forget what placement said, so that the next update asks it again."""
        self._traits.forget()
        self.additions.ask_again()

    def _save(self, node: TrackedNode) -> None:
        """Save the record if it differs from the one last saved."""
        if node.record == node.saved:
            return
        before, node.saved = node.saved, copy.deepcopy(node.record)
        try:
            self._cell.compute_nodes.save(node.record)
        except Exception:
            node.saved = before
            raise

    def _warn_if_absent(self, provider_id: str) -> None:
        """Warn once of a provider that no node has, when all nodes have been reported."""
        trees = [node.tree for node in self._nodes.all()]
        waiting = sum(tree is None for tree in trees) > 1 or len(trees) < len(
            self._driver.get_available_nodes()
        )
        elsewhere = any(tree is not None and tree.exists(provider_id) for tree in trees)
        if waiting or elsewhere or provider_id in self.absent_providers:
            return
        self.absent_providers.add(provider_id)
        LOG.warning(
            "Provider %s of the provider config files doesn't exist; its entry is ignored.",
            provider_id,
        )

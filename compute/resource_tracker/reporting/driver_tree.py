"""How a driver edits a node's tree, in a reshape with allocations (compute.md §4.6, §7.1).

The service calls this, and so do the commands that stand in for it.
"""

import logging

from oslo_config import cfg

from compute import exceptions
from compute.driver import ServiceDriver, novas_words
from compute.provider_tree import ProviderTree
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.resource_tracker.node import root_inventory
from compute.resource_tracker.reporting.reshape import Reshaped, reshaped_allocations

LOG = logging.getLogger(__name__)


def edit_tree(
    driver: ServiceDriver,
    conf: cfg.ConfigOpts,
    reportclient: SchedulerReportClient,
    context: RequestContext,
    tree: ProviderTree,
    node: ComputeNode,
    may_reshape: bool,
) -> Reshaped | None:
    """Let the driver edit `tree` into what the node has; return allocations only if it reshaped.

    Raises ReshapeNeeded if the driver has to reshape and may not, or asks for it twice;
    ReshapeFailed if the driver can't reshape; and what gathering the allocations raises.
    """
    try:
        _ask_driver(driver, conf, tree, node)
    except exceptions.ReshapeNeeded:
        if not may_reshape:
            raise
        nodename = node.hypervisor_hostname
        LOG.info("Node %s needs its inventory and allocations reshaped", nodename)
        return reshaped_allocations(driver, reportclient, context, tree, nodename)
    return None


def _ask_driver(
    driver: ServiceDriver, conf: cfg.ConfigOpts, tree: ProviderTree, node: ComputeNode
) -> None:
    """Let the driver edit the tree; for an older driver, which can't, fill the root."""
    nodename = node.hypervisor_hostname
    try:
        # Drivers from before the reshape take two arguments.
        with novas_words():
            driver.update_provider_tree(tree, nodename)
    except NotImplementedError:
        tree.update_inventory(nodename, _legacy_inventory(driver, conf, node))
        try:
            tree.add_traits(nodename, *driver.get_traits(nodename))
        except NotImplementedError:
            LOG.debug("The driver of %s tells no traits", nodename)


def _legacy_inventory(
    driver: ServiceDriver, conf: cfg.ConfigOpts, node: ComputeNode
) -> root_inventory.Inventory:
    try:
        told = driver.get_inventory(node.hypervisor_hostname)
    except NotImplementedError:
        return root_inventory.from_record(node, conf)
    return root_inventory.completed(told, node, conf)

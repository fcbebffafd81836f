"""The tracker of a service that is down: it works as the service's tracker, on a copy of records.

It reads the host's records from the copy, and what it would write there stays in the copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from oslo_config import cfg

from compute.driver import ServiceDriver
from compute.provider_config import Provider, get_provider_configs
from compute.records.cell_database import CellDatabase
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.compute_node import ComputeNode
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.resource_tracker import ResourceTracker


@dataclass(frozen=True)
class StandIn:
    """Makes trackers of one host's nodes, all on one copy of the host's records."""

    driver: ServiceDriver
    conf: cfg.ConfigOpts
    cell: MemoryCellDatabase
    provider_configs: Mapping[str, Provider]

    @classmethod
    def of(cls, driver: ServiceDriver, conf: cfg.ConfigOpts, cell: CellDatabase) -> StandIn:
        """Copy the records and read the operator's files.

        Raises ProviderConfigException if a file can't be used.
        """
        configs = get_provider_configs(conf.compute.provider_config_location)
        return cls(driver, conf, MemoryCellDatabase.copy_of(cell), configs)

    def tracker(self, node: ComputeNode, client: SchedulerReportClient) -> ResourceTracker:
        """Return a tracker for the node, as after a start of the service."""
        recorded = self.cell.compute_nodes.by_uuid(node.uuid, include_deleted=True)
        if recorded is not None and recorded.host != self.conf.host:
            # The service takes a node over from another host before anything else.
            recorded.host = self.conf.host
            self.cell.compute_nodes.save(recorded)
        return ResourceTracker(
            self.conf.host,
            self.driver,
            client,
            conf=self.conf,
            cell=self.cell,
            identity=NodeIdentity.known(node.uuid),
            provider_configs=self.provider_configs,
        )

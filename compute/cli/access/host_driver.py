"""The driver of this host, for commands that ask it instead of its service."""

from oslo_config import cfg

from compute.maintenance.nodes import CommandVirtAPI
from compute.records.cell_database import CellDatabase
from compute.records.node_identity import NodeIdentity
from compute.service.drivers import DriverLoadError, ServiceDriver, load_driver


class DriverUnusable(Exception):
    """The driver can't be loaded, or can't work (yet)."""


def host_driver(conf: cfg.ConfigOpts, cell: CellDatabase) -> ServiceDriver:
    """Return the configured driver, started. Raises DriverUnusable if that fails."""
    virtapi = CommandVirtAPI(conf.host, NodeIdentity.from_config(conf), cell)
    try:
        driver = load_driver(virtapi, conf.compute_driver, conf)
    except DriverLoadError as error:
        raise DriverUnusable(error) from error
    try:
        driver.init_host(conf.host)
    except Exception as error:
        # The hypervisor's library may raise anything.
        raise DriverUnusable(
            f"The compute driver can't work on host {conf.host}: {error}"
        ) from error
    return driver

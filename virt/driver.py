"""The contract that a driver keeps with its compute service.

A driver reports what a host has: it edits the `ProviderTree` it is handed and, in the one case of
a reshape, the allocations it is handed. It never calls Placement. compute.md §6.1–6.3.
"""

import logging
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import config
from compute.provider_tree.inventory_record import completed
from compute.service.driver_callbacks import VirtAPI
from compute.service.drivers import (
    NAMESPACE,
    DriverLoadError,
    ServiceDriver,
    available_drivers,
    driver_class,
    load_driver,
)
from virt.capabilities import capability_traits

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

__all__ = [
    "NAMESPACE",
    "ComputeDriver",
    "DriverLoadError",
    "ServiceDriver",
    "VirtAPI",
    "available_drivers",
    "driver_class",
    "load_compute_driver",
    "load_driver",
]

LOG = logging.getLogger(__name__)

# Resource class → (option that always wins, option for a class reported for the first time).
_RATIO_OPTIONS = {
    "VCPU": ("cpu_allocation_ratio", "initial_cpu_allocation_ratio"),
    "MEMORY_MB": ("ram_allocation_ratio", "initial_ram_allocation_ratio"),
    "DISK_GB": ("disk_allocation_ratio", "initial_disk_allocation_ratio"),
}


class ComputeDriver:
    """A hypervisor, seen from the compute service. Subclasses override what they support.

    `capabilities` says what the hypervisor can do, by the names of virt/capabilities.py.

    `virtapi` has the calls back into the service. `self.conf` is the configuration. `load_driver`
    sets it before `__init__` begins, so subclasses may have nova's signature, `Driver(virtapi)`.
    A driver that is made without the loader and without `conf` gets the default of each option.
    """

    capabilities: Mapping[str, bool] = {}

    #: The driver starts the instances on its nodes, so the compute service has their records.
    manages_instances = True
    #: `pci_passthrough_devices` has only devices that `[pci]device_spec` offers, with their tags.
    #: Where this is missing, as in drivers of nova's own, the tracker chooses them.
    lists_offered_devices = True
    #: Nodes may move to other hosts without an operator's command (ironic).
    rebalances_nodes = False
    #: The tracker must write allocations again at every periodic run (compute.md §4.10).
    requires_allocation_refresh = False

    def __init__(self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None) -> None:
        self.virtapi = virtapi
        if conf is not None:
            self.conf = conf
        elif not hasattr(self, "conf"):
            self.conf = config.load(files=[], environ={})

    def init_host(self, host: str) -> None:
        """Prepare for work as the compute service `host`; called once, before anything else."""
        raise NotImplementedError

    def cleanup_host(self, host: str) -> None:
        """Release what init_host acquired."""

    # Nodes

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the names of this host's nodes; their root providers have the same names.

        Raises VirtDriverNotReady while they can't be listed yet.
        """
        raise NotImplementedError

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        """Return node uuid → nodename. Drivers with several nodes must override this."""
        return {self.virtapi.local_node_uuid(): self.get_available_nodes(refresh=refresh)[0]}

    def node_is_available(self, nodename: str) -> bool:
        """Say whether `nodename` is one of ours, asking the hypervisor anew before saying no."""
        return nodename in self.get_available_nodes() or nodename in self.get_available_nodes(
            refresh=True
        )

    def is_node_deleted(self, nodename: str) -> bool:
        """Say whether a node that vanished from the list is gone for good, and its records too."""
        return False

    # Resources

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Return the node's totals and usage as the hypervisor sees them (compute.md §4.2).

        Required keys: vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used,
        cpu_info, numa_topology. Memory in MiB, disk in GiB.
        """
        raise NotImplementedError

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: dict[str, Any] | None = None,
    ) -> None:
        """Edit `provider_tree` until it shows the node's providers as they are (compute.md §6.2).

        No other call uses the tree. Without `allocations`, raise ReshapeNeeded if inventory in the
        tree has to move to another provider or class. The service then calls again, with the same
        tree as this call left it and with `allocations`: consumer uuid → {"allocations": {provider
        uuid: {"resources": {class: amount}}}, "project_id", "user_id", "consumer_generation"}. Edit
        `allocations` in place, leave no provider key without resources, and raise ReshapeFailed if
        it can't be done.
        """
        raise NotImplementedError

    def places_of_guest(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        consumer: str,
        resources: Mapping[str, int],
    ) -> dict[str, dict[str, int]]:
        """Return provider uuid → class → amount of what a guest has, as far as that is known.

        A command asks this to give a guest the allocations that it lacks. `provider_tree` shows the
        node's providers as placement has them, and is not to be edited; `consumer` is the guest's
        uuid, `resources` is class → how much it should have. A driver that doesn't know leaves a
        class out.
        """
        return {}

    def get_inventory(self, nodename: str) -> dict[str, dict[str, Any]]:
        """Return class → inventory record of the root. Superseded by update_provider_tree."""
        raise NotImplementedError

    def get_traits(self, nodename: str) -> list[str]:
        """Return the root's traits. Superseded by update_provider_tree."""
        raise NotImplementedError

    def capabilities_as_traits(self) -> dict[str, bool]:
        """Return trait → supported, for each capability this driver mentions that has a trait."""
        return capability_traits(self.capabilities, self.conf.compute.image_type_exclude_list)

    def _get_allocation_ratios(
        self, inventory: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, float]:
        """Return the ratio to report per VCPU, MEMORY_MB and DISK_GB (compute.md §4.4).

        `inventory` is what the provider has now. A ratio set in the configuration wins; else a
        class that is new gets the initial ratio; else the ratio stays, so that an operator may
        change it in Placement.
        """
        ratios = {}
        for resource_class, (always, initially) in _RATIO_OPTIONS.items():
            configured = getattr(self.conf, always)
            if configured:
                ratios[resource_class] = configured
            elif resource_class in inventory:
                ratios[resource_class] = completed(inventory[resource_class])["allocation_ratio"]
            else:
                ratios[resource_class] = getattr(self.conf, initially)
        return ratios

    def _get_reserved_host_disk_gb_from_config(self) -> int:
        """Return `reserved_host_disk_mb` in whole GiB, rounded up."""
        return math.ceil(self.conf.reserved_host_disk_mb / 1024)

    # Instances

    def list_instances(self) -> list[str]:
        """Return the names of the guests on this host."""
        raise NotImplementedError

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the guests on this host."""
        raise NotImplementedError

    def all_instance_uuids(self) -> list[str]:
        """Return the uuids of the guests on this host, whether or not it has their records.

        What they hold of this host is never removed.
        """
        return self.list_instance_uuids()

    def devices_of_guests(self) -> dict[str, list[str]]:
        """Return uuid → addresses of the PCI devices, for each guest on this host that has some.

        A device for one use that a guest has isn't given back.
        """
        raise NotImplementedError

    def get_num_instances(self) -> int:
        """Return the number of guests on this host."""
        return len(self.list_instances())

    def instance_exists(self, instance: Any) -> bool:
        """Say whether the guest, anything with a `uuid`, is on this host."""
        return instance.uuid in self.list_instance_uuids()

    def spawn(
        self,
        context: Any,
        instance: Any,
        image_meta: Any = None,
        injected_files: Any = (),
        admin_password: str | None = None,
        allocations: Any = None,
        network_info: Any = None,
        block_device_info: Any = None,
        power_on: bool = True,
        accel_info: Any = None,
    ) -> None:
        """Start a guest. The parameters are nova's."""
        raise NotImplementedError

    def destroy(
        self,
        context: Any,
        instance: Any,
        network_info: Any = None,
        block_device_info: Any = None,
        destroy_disks: bool = True,
        destroy_secrets: bool = True,
    ) -> None:
        """Stop a guest and forget it. The parameters are nova's."""
        raise NotImplementedError

    def get_info(self, instance: Any, use_cache: bool = True) -> Any:
        """Return the state of a guest; with `use_cache`, the state may be a little old."""
        raise NotImplementedError

    def get_host_ip_addr(self) -> str:
        """Return the address at which other hosts reach this host."""
        raise NotImplementedError

    def set_host_enabled(self, enabled: bool) -> str:
        """Accept guests, or no more. NotImplementedError: the manager answers instead."""
        raise NotImplementedError


def load_compute_driver(
    virtapi: VirtAPI, compute_driver: str | None = None, conf: cfg.ConfigOpts | None = None
) -> ServiceDriver:
    """Load the driver as load_driver does; without a name, the one that the configuration names.

    Log a failure and end the process with exit code 1.

    :param conf: None: the configuration that `berth-compute` would read
    """
    if conf is None:
        conf = config.load()
    try:
        driver = load_driver(virtapi, compute_driver or conf.compute_driver, conf)
    except DriverLoadError as error:
        LOG.error("%s", error)
        sys.exit(1)
    LOG.info("Loaded compute driver %s", type(driver).__name__)
    return driver

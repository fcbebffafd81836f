"""The contract between a compute service and its driver, and how drivers are found.

A driver reports what a host has: it edits the `ProviderTree` it is handed and, in the one case of
a reshape, the allocations it is handed. It never calls Placement. compute.md §6.1–6.3.
"""

import importlib
import logging
import math
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from stevedore.named import NamedExtensionManager

from virt.capabilities import capability_traits
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

LOG = logging.getLogger(__name__)

NAMESPACE = "virt.drivers"

# Resource class → (option that always wins, option for a class reported for the first time).
_RATIO_OPTIONS = {
    "VCPU": ("cpu_allocation_ratio", "initial_cpu_allocation_ratio"),
    "MEMORY_MB": ("ram_allocation_ratio", "initial_ram_allocation_ratio"),
    "DISK_GB": ("disk_allocation_ratio", "initial_disk_allocation_ratio"),
}


class DriverLoadError(Exception):
    """The compute driver named in the configuration can't be used; the text says why."""


class ComputeDriver:
    """A hypervisor, seen from the compute service. Subclasses override what they support.

    `capabilities` says what the hypervisor can do, by the names of virt/capabilities.py.
    """

    capabilities: Mapping[str, bool] = {}

    #: The instances on its nodes are started by it, and so in the records of the compute service.
    manages_instances = True
    #: Nodes may move to other hosts of their own accord (ironic).
    rebalances_nodes = False
    #: The tracker must write allocations again at every periodic run (compute.md §4.10).
    requires_allocation_refresh = False

    def __init__(self, virtapi: VirtAPI, conf: cfg.ConfigOpts) -> None:
        self.virtapi = virtapi
        self.conf = conf

    def init_host(self, host: str) -> None:
        """Prepare for work as the compute service `host`; called once, before anything else."""
        raise NotImplementedError

    def cleanup_host(self, host: str) -> None:
        """Let go of what init_host took."""

    # Nodes

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the names of the nodes this host manages; the root providers bear these names.

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
        """Edit `provider_tree` into the final picture of the node's providers (compute.md §6.2).

        The tree is this call's own. Without `allocations`, raise ReshapeNeeded when inventory in
        it has to move to another provider or class; the very same tree, half edited as it may be,
        comes back with `allocations`: consumer uuid → {"allocations": {provider uuid:
        {"resources": {class: amount}}}, "project_id", "user_id", "consumer_generation"}. Edit it in
        place, leave no provider key without resources, and raise ReshapeFailed if it can't be done.
        """
        raise NotImplementedError

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
        class not there yet gets the initial ratio; else what is there stays, so that an operator's
        change made in Placement sticks.
        """
        ratios = {}
        for resource_class, (always, initially) in _RATIO_OPTIONS.items():
            configured = getattr(self.conf, always)
            if configured:
                ratios[resource_class] = configured
            elif resource_class in inventory:
                # Placement's own default, should the record come without the field.
                ratios[resource_class] = inventory[resource_class].get("allocation_ratio", 1.0)
            else:
                ratios[resource_class] = getattr(self.conf, initially)
        return ratios

    def _get_reserved_host_disk_gb_from_config(self) -> int:
        """Return `reserved_host_disk_mb` in whole GiB, rounded up: never promise what is kept."""
        return math.ceil(self.conf.reserved_host_disk_mb / 1024)

    # Instances

    def list_instances(self) -> list[str]:
        """Return the names of the guests on this host."""
        raise NotImplementedError

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the guests on this host."""
        raise NotImplementedError

    def spawn(self, context: Any, instance: Any, **details: Any) -> None:
        """Start a guest."""
        raise NotImplementedError

    def destroy(self, context: Any, instance: Any, **details: Any) -> None:
        """Stop a guest and forget it."""
        raise NotImplementedError

    def get_info(self, instance: Any) -> Any:
        """Return the state of a guest."""
        raise NotImplementedError

    def get_host_ip_addr(self) -> str:
        """Return the address other hosts reach this one at."""
        raise NotImplementedError

    def set_host_enabled(self, enabled: bool) -> str:
        """Take guests, or no more; NotImplementedError leaves the answer to the manager."""
        raise NotImplementedError


def driver_class(name: str | None) -> type[ComputeDriver]:
    """Find the driver called `name`, as load_driver does, without making one.

    Raises DriverLoadError.
    """
    if not name:
        raise DriverLoadError(
            "No compute driver is configured: set compute_driver to one of "
            f"{_listed(available_drivers())}."
        )
    found = _find_driver(name)
    if not (isinstance(found, type) and issubclass(found, ComputeDriver)):
        raise DriverLoadError(
            f"Compute driver {name!r} is not a subclass of {ComputeDriver.__module__}."
            f"{ComputeDriver.__qualname__}."
        )
    return found


def load_driver(virtapi: VirtAPI, name: str | None, conf: cfg.ConfigOpts) -> ComputeDriver:
    """Find the driver called `name` and make one.

    `name` is an entry point of group `virt.drivers` (`host`), a class below our own `virt` package
    (`fake.SmallFakeDriver`), or any importable class (`vendor.driver.TheirDriver`), tried in this
    order. Raises DriverLoadError; compute.md §6.3.
    """
    found = driver_class(name)
    try:
        return found(virtapi, conf)
    except Exception as error:
        raise DriverLoadError(f"Compute driver {name!r} can't be started: {error}") from error


def load_compute_driver(virtapi: VirtAPI, name: str | None, conf: cfg.ConfigOpts) -> ComputeDriver:
    """As load_driver, with `compute_driver` standing in for an empty name; logs and exits 1."""
    try:
        driver = load_driver(virtapi, name or conf.compute_driver, conf)
    except DriverLoadError as error:
        LOG.error("%s", error)
        sys.exit(1)
    LOG.info("Loaded compute driver %s", type(driver).__name__)
    return driver


def available_drivers() -> list[str]:
    """Return the names installed in the entry point group `virt.drivers`, sorted."""
    return sorted(_entry_points(()).entry_points_names())


def _entry_points(names: Iterable[str]) -> NamedExtensionManager:
    """Look at the drivers' entry points, importing only those in `names`."""
    return NamedExtensionManager(
        NAMESPACE,
        names=list(names),
        on_load_failure_callback=_refuse_broken_entry_point,
        on_missing_entrypoints_callback=_tolerate_missing,
    )


def _tolerate_missing(_names: Any) -> None:
    """Say nothing: the name may still be that of a class."""


def _refuse_broken_entry_point(_manager: Any, entry_point: Any, error: BaseException) -> None:
    raise DriverLoadError(
        f"Compute driver {entry_point.name!r} ({entry_point.value}) can't be imported: {error}"
    ) from error


def _find_driver(name: str) -> Any:
    extensions = _entry_points([name])
    if name in extensions:
        return extensions[name].plugin
    for path in (f"virt.{name}", name):
        found = _import_dotted(path)
        if found is not None:
            return found
    raise DriverLoadError(
        f"Unknown compute driver {name!r}: not one of {_listed(available_drivers())}, "
        "nor a class that can be imported."
    )


def _import_dotted(path: str) -> Any:
    """Return what `path` names, or None if there is no such module or attribute.

    A module that is there but fails to import is an error of its own, not an unknown name.
    """
    module_path, _, attribute = path.rpartition(".")
    if not (module_path and attribute and all(part.isidentifier() for part in path.split("."))):
        return None
    try:
        module = importlib.import_module(module_path)
    except ModuleNotFoundError as error:
        if error.name and (module_path + ".").startswith(error.name + "."):
            return None
        raise DriverLoadError(f"Compute driver {path!r} can't be imported: {error}") from error
    except Exception as error:
        raise DriverLoadError(f"Compute driver {path!r} can't be imported: {error}") from error
    return getattr(module, attribute, None)


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "(none installed)"

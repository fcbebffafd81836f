"""Which traits the tracker wants on a node's root provider (compute.md §4.7)."""

from collections.abc import Iterable, Mapping, Set

import os_traits

from compute.records.compute_node import ComputeNode

# Say whose provider it is. Older placements don't know them.
MARKERS = (os_traits.COMPUTE_NODE, os_traits.OWNER_NOVA)


def wanted_traits(
    current: Set[str],
    capabilities: Mapping[str, bool],
    markers: Iterable[str],
    disabled: bool | None,
) -> set[str]:
    """Return the root's traits after the tracker had its say.

    :param current: what the driver and others put there; what isn't the tracker's business stays
    :param capabilities: trait → whether the driver can do it; what it can't do goes, whoever set it
    :param markers: those of MARKERS that placement knows
    :param disabled: whether the compute service takes no new instances; None: nobody knows
    """
    traits = set(current)
    traits.update(trait for trait, supported in capabilities.items() if supported)
    traits.difference_update(trait for trait, supported in capabilities.items() if not supported)
    traits.update(markers)
    return traits if disabled is None else with_status(traits, disabled)


def with_status(traits: Set[str], disabled: bool) -> set[str]:
    """Return `traits` with or without COMPUTE_STATUS_DISABLED."""
    status = {os_traits.COMPUTE_STATUS_DISABLED}
    return set(traits) | status if disabled else set(traits) - status


def capabilities_of(node: ComputeNode, supported: Mapping[str, bool]) -> dict[str, bool]:
    """Return what the driver supports, less what this one node has no devices for."""
    capabilities = dict(supported)
    if os_traits.COMPUTE_REMOTE_MANAGED_PORTS in capabilities:
        capabilities[os_traits.COMPUTE_REMOTE_MANAGED_PORTS] &= any(
            str(pool.get("remote_managed", "")).lower() == "true" for pool in node.pci_device_pools
        )
    return capabilities

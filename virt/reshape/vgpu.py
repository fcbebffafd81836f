"""One child provider per physical GPU, and VGPU moved there from the root (compute.md §6.5.1)."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, holdings, take
from compute.provider_tree.inventory_record import with_reserved
from compute.provider_tree.names import child_name, child_suffix
from virt.ownership import Ownership, ensure_child, own_child, suffix_like
from virt.reshape.removal import remove_gone

if TYPE_CHECKING:
    from compute.provider_tree import ProviderData, ProviderTree

LOG = logging.getLogger(__name__)

VGPU = "VGPU"

#: The kind of the names of PCI devices' providers, for an Ownership.
is_pci_device = suffix_like(r"pci_[0-9a-f]{4,}_[0-9a-f]{2}_[0-9a-f]{2}_[0-7]")

#: Consumer uuid → device → how many of its mediated devices the consumer has.
AssignedDevices = Callable[[str], Mapping[str, int]]


def pgpu_name(nodename: str, device: str) -> str:
    """Return the name of a physical GPU's provider, e.g. `compute1_pci_0000_84_00_0`."""
    return child_name(nodename, device)


def remove_other_pgpus(
    tree: "ProviderTree",
    nodename: str,
    devices: Collection[str],
    allocations: Allocations | None = None,
    known: Collection[str] = (),
) -> None:
    """Remove the providers of physical GPUs that aren't among `devices`: they are gone.

    A provider whose VGPUs are allocated stays: Placement refuses to delete it until its guests are
    gone.

    :param known: devices that exist but are no longer GPUs. A device that isn't a PCI device is
        only recognised if it is listed here
    """
    root = tree.data(nodename)
    for provider in of_pgpus(nodename, known).below_root(tree):
        is_gone = child_suffix(nodename, provider.name) not in devices
        if is_gone and provider.parent_uuid == root.uuid:
            remove_gone(tree, provider.uuid, allocations)


def of_pgpus(nodename: str, known: Collection[str] = ()) -> Ownership:
    """Return the Ownership of the providers of physical GPUs.

    :param known: devices that are, or were, GPUs; all PCI devices are recognised besides
    """
    return Ownership(nodename, is_pci_device, frozenset(known).__contains__)


def update_pgpus(
    tree: "ProviderTree",
    nodename: str,
    inventories: Mapping[str, Mapping[str, object]],
    assigned: AssignedDevices,
    allocations: Allocations | None = None,
    resource_classes: Mapping[str, str] | None = None,
) -> "dict[str, ProviderData]":
    """Report each physical GPU on a child of its own, and take VGPU off the root.

    :param inventories: device (`pci_0000_84_00_0`) → inventory record; total 0 removes its child
    :param assigned: asks the hypervisor what a consumer really has
    :param allocations: None, or the allocations to move, in place
    :param resource_classes: device → class, where it isn't VGPU
    :return: device → snapshot of its provider, for choosing a device at spawn

    Raises ReshapeNeeded if the root has VGPU and `allocations` is None; the children are in the
    tree by then. Raises ReshapeFailed if VGPU of a physical GPU's provider is allocated already, or
    if a consumer of VGPU has no devices here; the allocations are as they were.

    Without `inventories` nothing is done: then VGPU on the root is the caller's concern.
    """
    if not inventories:
        return {}
    root = tree.data(nodename)
    classes = dict.fromkeys(inventories, VGPU) | dict(resource_classes or {})
    children = _update_children(tree, nodename, inventories, classes, allocations)
    if VGPU in root.inventory:
        if allocations is None:
            raise exceptions.ReshapeNeeded()
        _move(
            root.uuid,
            of_pgpus(nodename, inventories).below_root(tree),
            children,
            classes,
            assigned,
            allocations,
        )
        del root.inventory[VGPU]
        tree.update_inventory(root.uuid, root.inventory)
    return {device: tree.data(uuid) for device, uuid in children.items()}


def _update_children(
    tree: "ProviderTree",
    nodename: str,
    inventories: Mapping[str, Mapping[str, object]],
    classes: Mapping[str, str],
    allocations: Allocations | None,
) -> dict[str, str]:
    """Make the children what they should be, and return device → provider uuid."""
    children = {}
    for device, record in inventories.items():
        name = pgpu_name(nodename, device)
        if record["total"] == 0:
            if own_child(tree, name) is not None:
                remove_gone(tree, name, allocations)
            continue
        children[device] = ensure_child(tree, name, nodename)
        inventory = {classes[device]: dict(record)}
        tree.update_inventory(name, with_reserved(inventory, tree.data(name).inventory))
    return children


def _move(
    root_uuid: str,
    pgpus: "Collection[ProviderData]",
    children: Mapping[str, str],
    classes: Mapping[str, str],
    assigned: AssignedDevices,
    allocations: Allocations,
) -> None:
    """Replace each consumer's VGPU on the root by what it really has on the children."""
    _refuse_vgpu_elsewhere({one.uuid for one in pgpus}, allocations)
    counts = {
        consumer: _device_counts(consumer, held(body, root_uuid, VGPU), children, assigned)
        for consumer, body in sorted(allocations.items())
        if held(body, root_uuid, VGPU)
    }
    for consumer, count_by_device in counts.items():
        body = allocations[consumer]
        for device, count in count_by_device.items():
            give(body, children[device], classes[device], count)
        take(body, root_uuid, VGPU)


def _refuse_vgpu_elsewhere(pgpus: set[str], allocations: Allocations) -> None:
    """Raise ReshapeFailed for VGPU that is held on one of our physical GPUs' providers already.

    Providers of other hosts, and of other services below this root, don't matter.
    """
    for consumer, body in sorted(allocations.items()):
        for provider_uuid, resource_class, _amount in holdings(body):
            if resource_class == VGPU and provider_uuid in pgpus:
                raise exceptions.ReshapeFailed(
                    error=f"unexpected VGPU allocation on provider {provider_uuid} of consumer "
                    f"{consumer}: they should all be on the root provider"
                )


def _device_counts(
    consumer: str, amount: int, children: Mapping[str, str], assigned: AssignedDevices
) -> dict[str, int]:
    counts = {device: count for device, count in assigned(consumer).items() if count > 0}
    if not counts:
        raise exceptions.ReshapeFailed(
            error=f"consumer {consumer} has allocated {amount} VGPU but no mediated device here"
        )
    missing = sorted(counts.keys() - children.keys())
    if missing:
        raise exceptions.ReshapeFailed(
            error=f"consumer {consumer} has devices of {', '.join(missing)}, which can't have any"
        )
    if sum(counts.values()) != amount:
        LOG.warning(
            "Consumer %s has allocated %d VGPU but has %d mediated devices; the devices count",
            consumer,
            amount,
            sum(counts.values()),
        )
    return counts

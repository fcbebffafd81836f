"""Instances that lack allocations, and what they hold once they are healed."""

from compute.records.instance import Flavor
from tests.functional.compute.maintenance.site import HOST

SIZE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
#: where the cards of VGPUHost are, one VGPU each
FIRST, SECOND, THIRD = (f"{HOST}_pci_0000_8{number}_00_0" for number in (4, 5, 6))


def flavor(**specs):
    return Flavor(vcpus=2, memory_mb=1024, root_gb=10, extra_specs=specs)


def with_gpu(amount=1):
    return flavor(**{"resources:VGPU": str(amount)})


def held(site, consumer):
    with site.placement() as outsider:
        return outsider.allocations(consumer)


def uuids(site, root):
    """Return name → uuid of the node's providers."""
    with site.placement() as outsider:
        rows = outsider.call("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
    return {row["name"]: row["uuid"] for row in rows}


def allocate(site, resources, consumer):
    with site.placement() as outsider:
        outsider.allocate(resources, consumer)

"""What a flavor has itself: processors, memory and disk."""

from collections.abc import Mapping

from compute.records.instance import Flavor


def disk_gb(flavor: Flavor, booted_from_volume: bool) -> int:
    """Return root, ephemeral and swap disk together. Swap is in MiB and rounded up."""
    root = 0 if booted_from_volume else flavor.root_gb
    return root + flavor.ephemeral_gb + -(-flavor.swap // 1024)


def own_amounts(flavor: Flavor, booted_from_volume: bool) -> Mapping[str, int]:
    """Return class → amount, VCPU for all processors."""
    return {
        "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": disk_gb(flavor, booted_from_volume),
    }

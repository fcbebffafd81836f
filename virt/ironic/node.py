"""A bare metal machine, and the inventory of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import os_resource_classes

from virt.inventory import Inventory, record

POWER_OFF = "power off"
POWER_ERROR = "error"
AVAILABLE = "available"


@dataclass(frozen=True)
class IronicNode:
    """One machine, in ironic's words; states are None where nothing is known yet."""

    uuid: str
    name: str | None = None
    resource_class: str | None = None
    traits: Collection[str] = field(default=frozenset())
    maintenance: bool = False
    power_state: str | None = POWER_OFF
    provision_state: str | None = AVAILABLE
    instance_uuid: str | None = None
    cpu_arch: str | None = None

    @property
    def is_used(self) -> bool:
        """Say whether an instance has it."""
        return self.instance_uuid is not None

    @property
    def is_unavailable(self) -> bool:
        """Say whether no instance could be put on it."""
        return (
            self.maintenance
            or self.power_state in (POWER_ERROR, None)
            or self.provision_state not in (AVAILABLE, None)
        )


class NodeSource(Protocol):
    """Tells which machines there are.

    A source that lists only some of the machines also has a method `has(uuid)`, which says whether
    there is such a machine, listed or not. It may raise VirtDriverNotReady.
    """

    def nodes(self) -> Sequence[IronicNode]:
        """Return all machines, those of other hosts too.

        Raises VirtDriverNotReady while the list isn't available, and InvalidConfiguration if an
        administrator has to correct it first.
        """


def custom_class(resource_class: str) -> str:
    """Return a machine's class as Placement calls it: `CUSTOM_BAREMETAL_GOLD`."""
    return os_resource_classes.normalize_name(resource_class)


def inventory(resource_class: str, reserved: bool) -> Inventory:
    """Return an inventory of one machine of the class, free or `reserved`."""
    return {custom_class(resource_class): record(1, reserved=int(reserved))}

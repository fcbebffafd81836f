"""PCI devices of a host."""

from collections.abc import Sequence
from dataclasses import dataclass

from compute.pci import offered as by_specs
from compute.pci.device_spec import DeviceSpec


@dataclass(frozen=True)
class PciDevice:
    """One device. Addresses are like `0000:84:00.0`, ids like `8086`.

    A physical function has `virtual_functions`, the addresses of those that exist, and can have
    `max_functions`; a virtual one has the address of its `physical_function`. `numa_node` is None
    where the firmware doesn't say, `interface` the name of its network interface, if it has one,
    `serial_number` that of its card, if the card tells it. Guests get a function with `is_vdpa` by
    vDPA. `is_there` is False for a virtual function that its card can create but hasn't created
    yet; its address isn't known.
    """

    address: str
    vendor_id: str
    product_id: str
    numa_node: int | None = None
    interface: str | None = None
    virtual_functions: Sequence[str] = ()
    physical_function: str | None = None
    is_there: bool = True
    max_functions: int = 0
    serial_number: str | None = None
    is_vdpa: bool = False

    @property
    def kind(self) -> str:
        """Return the type nova gives it: `type-PF`, `type-VF`, `vdpa` or `type-PCI`."""
        if self.physical_function is not None:
            return "vdpa" if self.is_vdpa else "type-VF"
        return "type-PF" if self.virtual_functions or self.max_functions else "type-PCI"

    def listed(self) -> dict[str, object]:
        """Return the device as the compute service knows it, without tags."""
        vpd = {"vpd": {"card_serial_number": self.serial_number}} if self.serial_number else {}
        return {
            "address": self.address,
            "vendor_id": self.vendor_id,
            "product_id": self.product_id,
            "dev_type": self.kind,
            "numa_node": self.numa_node,
            "parent_addr": self.physical_function,
            "status": "available",
            **({"capabilities": vpd} if vpd else {}),
        }


def offered(
    devices: Sequence[PciDevice], specs: Sequence[DeviceSpec]
) -> list[tuple[PciDevice, DeviceSpec]]:
    """Return the devices guests may have, each with the first spec that allows it."""
    by_address = {device.address: device for device in devices}
    by_interface = {device.interface: device.address for device in devices if device.interface}
    listed = [device.listed() for device in devices]
    found = by_specs.offered(listed, specs, by_interface.get)
    return [(by_address[one["address"]], spec) for one, spec in found]

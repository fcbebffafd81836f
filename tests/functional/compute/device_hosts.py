"""A host with PCI devices in placement, and the scheduler and the guests of its tests."""

from compute.provider_tree import Resource
from compute.records.instance import Flavor, Instance
from compute.records.migration import Migration
from compute.report.wire.context import admin_context
from virt.fake import MediumFakeDriver
from virt.inventory import record

CONTEXT = admin_context()
WRITERS = ("scheduler", "auto", "tracker")
CLASS = "CUSTOM_GPU"
CARD_CLASS = "CUSTOM_FUNCTION"
CARD = "0000:05:00.0"
TINY = Flavor(vcpus=1, memory_mb=64, root_gb=1)
OWN = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}


def device(number, **tags):
    """Return the device with the address `0000:<number>:00.0`."""
    return {
        "address": f"0000:{number}:00.0",
        "dev_type": "type-PCI",
        "vendor_id": "10de",
        "product_id": "1db6",
        "resource_class": "gpu",
        **tags,
    }


def functions(count, **tags):
    """Return virtual functions of one card."""
    return [
        {
            "address": f"{CARD[:-1]}{number}",
            "parent_addr": CARD,
            "dev_type": "type-VF",
            "vendor_id": "8086",
            "product_id": "2",
            "resource_class": CARD_CLASS,
            **tags,
        }
        for number in range(1, count + 1)
    ]


class DeviceHost:
    """A host whose tracker reports devices, and those who ask placement for them.

    :param devices: what the driver lists; change it to plug and unplug
    """

    def __init__(self, host, outsider, writer, devices):
        self.host, self.outsider, self.devices = host, outsider, devices
        self.names = ()
        host.conf.set_override("allocation_writer", writer, "compute")
        host.conf.set_override("report_in_placement", True, "pci")
        self.start()

    def start(self):
        """Start the service, or start it again."""

        equipment = self

        class Driver(MediumFakeDriver):
            def get_available_resource(self, nodename):
                listed = {"pci_passthrough_devices": [dict(one) for one in equipment.devices]}
                return super().get_available_resource(nodename) | listed

            def update_provider_tree(self, tree, nodename, allocations=None):
                super().update_provider_tree(tree, nodename)
                if equipment.names:
                    root = tree.data(nodename)
                    slots = {Resource(root.uuid, "CUSTOM_PMEM", name) for name in equipment.names}
                    inventory = {**root.inventory, "CUSTOM_PMEM": record(len(slots))}
                    tree.update_inventory(nodename, inventory)
                    tree.update_resources(nodename, {"CUSTOM_PMEM": slots})

        self.host.start(Driver)

    @property
    def rt(self):
        return self.host.manager.rt

    @property
    def name(self):
        return self.host.name

    def update(self):
        """Update as the agent does, at once; nothing may fail."""
        assert self.host.update().failures == {}

    def provider(self, address):
        """Return the uuid of the device's provider."""
        found = self.outsider.call("GET", f"/resource_providers?in_tree={self.host.uuid}")
        names = {row["name"]: row["uuid"] for row in found["resource_providers"]}
        return names[f"{self.name}_{address.upper()}"]

    def record(self, address):
        """Return the inventory of the device's provider."""
        (inventory,) = self.outsider.inventory(self.provider(address)).values()
        return inventory

    def reserve(self, address, reserved):
        """Play the operator, who sets `reserved`."""
        uuid = self.provider(address)
        inventory = self.outsider.inventory(uuid)
        changed = {name: {**one, "reserved": reserved} for name, one in inventory.items()}
        self.outsider.set_inventory(uuid, changed)

    def scheduled(self, consumer, *addresses, amount=1, resource_class=CLASS):
        """Play the scheduler, who allocates devices; return the allocations for a claim."""
        parts = {self.host.uuid: OWN}
        parts |= {self.provider(one): {resource_class: amount} for one in addresses}
        self.outsider.allocate(parts, consumer)
        return {uuid: {"resources": part} for uuid, part in parts.items()}

    def guest(self, *wanted, **fields):
        """Return a recorded guest that requests devices, one for each of `wanted`."""
        requests = [{"count": 1, "spec": [spec]} for spec in wanted]
        fields = {"project_id": "project", "user_id": "user", "flavor": TINY, **fields}
        instance = Instance(**{"pci_requests": requests, **fields})
        self.host.cell.instances.create(instance)
        return instance

    def claim(self, instance, given=None):
        """Claim for the guest and return the addresses of its devices."""
        self.rt.instance_claim(CONTEXT, instance, self.name, given)
        return addresses(instance.pci_devices)

    def resize(self, instance):
        """Begin a resize on this host, and return its migration."""
        instance.vm_state, instance.task_state = "active", "resize_prep"
        self.host.cell.instances.save(instance)
        migration = Migration(
            instance.uuid,
            migration_type="resize",
            source_compute=self.name,
            source_node=self.name,
        )
        self.host.cell.migrations.create(migration)
        return migration

    def delete(self, instance):
        """Delete the guest, and its allocations as the API does."""
        instance.vm_state = "deleted"
        self.host.cell.instances.destroy(instance)
        self.rt.update_usage(CONTEXT, instance, self.name)
        self.outsider.adapter.delete(f"/allocations/{instance.uuid}")

    def held(self, consumer):
        """Return the addresses of the providers that the consumer holds devices of."""
        found = self.outsider.call("GET", f"/resource_providers?in_tree={self.host.uuid}")
        names = {row["uuid"]: row["name"] for row in found["resource_providers"]}
        return {
            names[uuid].removeprefix(f"{self.name}_").lower(): sum(part.values())
            for uuid, part in self.outsider.allocations(consumer).items()
            if uuid in names and uuid != self.host.uuid
        }


def addresses(devices):
    return [one["address"] for one in devices]

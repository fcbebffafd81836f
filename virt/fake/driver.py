"""Drivers of imaginary hypervisors, with guests kept in memory (compute.md §6.4)."""

import json
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from compute.provider_tree.inventory_record import with_reserved
from compute.provider_tree.names import child_name
from virt.driver import ComputeDriver
from virt.inventory import Inventory, record
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


class FakeDriver(ComputeDriver):
    """A very large hypervisor. `vcpus`, `memory_mb` and `local_gb` are its totals."""

    capabilities = {
        "has_imagecache": True,
        "supports_evacuate": True,
        "supports_migrate_to_same_host": False,
        "supports_attach_interface": True,
        "supports_device_tagging": True,
        "supports_tagged_attach_interface": True,
        "supports_tagged_attach_volume": True,
        "supports_extend_volume": True,
        "supports_multiattach": True,
        "supports_trusted_certs": True,
        "supports_pcpus": False,
        "supports_accelerators": True,
        "supports_remote_managed_ports": True,
        "supports_address_space_passthrough": True,
        "supports_address_space_emulated": True,
        "supports_stateless_firmware": True,
        "supports_virtio_fs": True,
        "supports_mem_backing_file": True,
        "supports_image_type_raw": True,
        "supports_image_type_vhd": False,
    }

    vcpus = 1000
    memory_mb = 800000
    local_gb = 600000

    def __init__(self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None) -> None:
        super().__init__(virtapi, conf)
        self._nodes: dict[str, None] = {}
        self._instances: dict[str, Any] = {}

    def init_host(self, host: str) -> None:
        """Manage one node called like the host."""
        self._set_nodes([host])

    def _set_nodes(self, nodes: Iterable[str]) -> None:
        self._nodes = dict.fromkeys(nodes)

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the nodes of init_host, or those set since."""
        return list(self._nodes)

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Return the totals, all unused. Raises ComputeHostNotFound if the node isn't ours."""
        if nodename not in self._nodes:
            raise exceptions.ComputeHostNotFound(host=nodename)
        totals = self._totals(nodename)
        return {
            "vcpus": totals["VCPU"],
            "vcpus_used": 0,
            "memory_mb": totals["MEMORY_MB"],
            "memory_mb_used": 0,
            "local_gb": totals["DISK_GB"],
            "local_gb_used": 0,
            "disk_available_least": 0,
            "cpu_info": json.dumps({"arch": "x86_64", "vendor": "fake", "features": []}),
            "numa_topology": None,
            "hypervisor_type": "fake",
            "hypervisor_version": 1000000,
            "hypervisor_hostname": nodename,
            "supported_instances": [["x86_64", "fake", "hvm"]],
            "stats": {},
        }

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report VCPU, MEMORY_MB and DISK_GB on the root; traits stay as they are."""
        now = provider_tree.data(nodename).inventory
        provider_tree.update_inventory(nodename, self._root_inventory(now, nodename))

    def _root_inventory(self, now: Inventory, nodename: str = "") -> Inventory:
        """Return all the node has; ratios are kept from `now` where they should be."""
        ratios = self._get_allocation_ratios(now)
        reserved = self._reserved()
        totals = self._totals(nodename)
        return {name: record(total, reserved[name], ratios[name]) for name, total in totals.items()}

    def _totals(self, nodename: str) -> dict[str, int]:
        """Return class → total of a node; here, they are all alike."""
        return {"VCPU": self.vcpus, "MEMORY_MB": self.memory_mb, "DISK_GB": self.local_gb}

    def _reserved(self) -> dict[str, int]:
        return {
            "VCPU": self.conf.reserved_host_cpus,
            "MEMORY_MB": self.conf.reserved_host_memory_mb,
            "DISK_GB": self._get_reserved_host_disk_gb_from_config(),
        }

    # Guests: anything with a `uuid` and a `name`

    def list_instances(self) -> list[str]:
        """Return the names of the spawned guests."""
        return [instance.name for instance in self._instances.values()]

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the spawned guests."""
        return list(self._instances)

    def spawn(self, context: object, instance: Any, *details: object, **more: object) -> None:
        """Remember the guest."""
        self._instances[instance.uuid] = instance

    def destroy(self, context: object, instance: Any, *details: object, **more: object) -> None:
        """Forget the guest; one that isn't there is fine."""
        self._instances.pop(instance.uuid, None)

    def get_info(self, instance: Any, use_cache: bool = True) -> dict[str, str]:
        """Return {"state": "running"}. Raises KeyError if the guest was never spawned."""
        found = self._instances[instance.uuid]
        return {"uuid": found.uuid, "state": "running"}

    def get_host_ip_addr(self) -> str:
        """Return an address of the range that is for documentation."""
        return "192.0.2.1"


class SmallFakeDriver(FakeDriver):
    """A hypervisor with next to no processors."""

    vcpus = 2
    memory_mb = 8192
    local_gb = 1028


class MediumFakeDriver(FakeDriver):
    """The usual driver in tests, with room for a few guests."""

    vcpus = 10
    memory_mb = 8192
    local_gb = 1028


class MediumFakeDriverWithNestedCustomResources(MediumFakeDriver):
    """Has a child provider `<node>-child` with ten CUSTOM_MAGIC."""

    child_resources: Inventory = {"CUSTOM_MAGIC": record(10)}

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report the root as any fake driver does, and the child."""
        super().update_provider_tree(provider_tree, nodename, allocations)
        child = child_name(nodename, "child", "-")
        if not provider_tree.exists(child):
            provider_tree.new_child(child, nodename)
        known = provider_tree.data(child).inventory
        provider_tree.update_inventory(child, with_reserved(self.child_resources, known))


class SameHostColdMigrateDriver(MediumFakeDriver):
    """Can resize a guest where it is."""

    capabilities = {**FakeDriver.capabilities, "supports_migrate_to_same_host": True}


class RescueBFVDriver(MediumFakeDriver):
    """Can rescue guests that boot from volumes."""

    capabilities = {**FakeDriver.capabilities, "supports_bfv_rescue": True}


class EphEncryptionDriver(MediumFakeDriver):
    """Can encrypt guests' local disks."""

    capabilities = {**FakeDriver.capabilities, "supports_ephemeral_encryption": True}


class EphEncryptionDriverLUKS(MediumFakeDriver):
    """Can encrypt guests' local disks with LUKS."""

    capabilities = {
        **EphEncryptionDriver.capabilities,
        "supports_ephemeral_encryption_luks": True,
    }


class EphEncryptionDriverPLAIN(MediumFakeDriver):
    """Can encrypt guests' local disks plainly."""

    capabilities = {
        **EphEncryptionDriver.capabilities,
        "supports_ephemeral_encryption_plain": True,
    }


class PowerUpdateFakeDriver(SmallFakeDriver):
    """Takes over the power state of a guest that others switched on or off."""

    def __init__(self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None) -> None:
        super().__init__(virtapi, conf)
        self._power: dict[str, str] = {}

    def power_update_event(self, instance: Any, target_power_state: str) -> None:
        """Take note of the guest's state, `POWER_ON` or `POWER_OFF`."""
        self._power[instance.uuid] = target_power_state

    def get_info(self, instance: Any, use_cache: bool = True) -> dict[str, str]:
        """Return the state `shutdown` for a guest that was switched off."""
        found = super().get_info(instance, use_cache)
        off = self._power.get(instance.uuid) == "POWER_OFF"
        return found | ({"state": "shutdown"} if off else {})


class FakeDriverWithPciResources(SmallFakeDriver):
    """Has three network cards, each with one virtual function; the first is in another network."""

    cards = {
        "0000:01:00": "physnet1",
        "0000:02:00": "physnet2",
        "0000:03:00": "physnet2",
    }

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Add the cards and their functions."""
        devices = [
            device for slot, network in self.cards.items() for device in _card(slot, network)
        ]
        found = super().get_available_resource(nodename)
        return found | {"pci_passthrough_devices": json.dumps(devices)}


class NodesNamedByUUID(FakeDriver):
    """Its nodes' uuids follow from their names."""

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        """Add the uuid."""
        return super().get_available_resource(nodename) | {"uuid": node_uuid(nodename)}

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        """Return node uuid → nodename."""
        return {node_uuid(node): node for node in self.get_available_nodes(refresh=refresh)}


class PredictableNodeUUIDDriver(NodesNamedByUUID, SmallFakeDriver):
    """One node whose uuid follows from its name."""


class FakeMultiNodeDriver(NodesNamedByUUID, MediumFakeDriver):
    """Manages several nodes, as ironic does."""

    def __init__(
        self,
        virtapi: VirtAPI,
        conf: cfg.ConfigOpts | None = None,
        nodes: Iterable[str] = ("fake-node-1", "fake-node-2"),
    ) -> None:
        super().__init__(virtapi, conf)
        self._set_nodes(nodes)
        self._deleted: set[str] = set()

    def init_host(self, host: str) -> None:
        """Keep the nodes given at construction: they aren't named after the host."""

    def drop_node(self, nodename: str, deleted: bool) -> None:
        """Let a node vanish from the list: for good (`deleted`), or only out of sight."""
        del self._nodes[nodename]
        if deleted:
            self._deleted.add(nodename)

    def is_node_deleted(self, nodename: str) -> bool:
        """Say whether the node was dropped for good."""
        return nodename in self._deleted


def node_uuid(nodename: str) -> str:
    """Return the uuid that follows from a node's name."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, nodename))


def _card(slot: str, network: str) -> list[dict[str, Any]]:
    """Return a card and its one virtual function as the compute service knows them."""
    card = {
        "address": f"{slot}.0",
        "vendor_id": "8086",
        "product_id": "1528",
        "dev_type": "type-PF",
        "parent_addr": None,
        "numa_node": 0,
        "label": "label_8086_1528",
        "status": "available",
        "physical_network": network,
    }
    function = card | {
        "address": f"{slot}.1",
        "product_id": "1515",
        "dev_type": "type-VF",
        "parent_addr": card["address"],
        "label": "label_8086_1515",
    }
    return [card, function]

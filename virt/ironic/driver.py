"""The ironic driver: it reports bare metal machines, each as a node. It deploys none itself."""

import bisect
import hashlib
import logging
import threading
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from oslo_config import cfg

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations, give, held, take
from virt.driver import ComputeDriver
from virt.ironic.bare_metal_api import BareMetalAPI
from virt.ironic.inventory_file import InventoryFile
from virt.ironic.node import IronicNode, NodeSource, custom_class, inventory
from virt.ironic.reported_traits import ReportedTraits
from virt.virtapi import VirtAPI

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree

LOG = logging.getLogger(__name__)

#: the classes of machines that an older service reported as processors, memory and disk
FORMER = ("VCPU", "MEMORY_MB", "DISK_GB")
# Directory below the state path.
_TRAITS = "ironic_traits"
#: places that each host has on the ring
_PARTITIONS = 32


class IronicDriver(ComputeDriver):
    """Many nodes, each a whole machine that one instance gets; compute.md §6.10.

    A node is called by the machine's uuid, which is that of its resource provider as well. A
    NodeSource lists the machines: by default the one that `[ironic]node_source` names.
    """

    rebalances_nodes = True

    def __init__(
        self, virtapi: VirtAPI, conf: cfg.ConfigOpts | None = None, source: NodeSource | None = None
    ) -> None:
        super().__init__(virtapi, conf)
        self._source = source or _configured_source(self.conf)
        self._host: str = self.conf.host
        self._lock = threading.Lock()
        self._known: dict[str, IronicNode] | None = None
        self._reported = ReportedTraits(Path(self.conf.state_path) / _TRAITS)

    def init_host(self, host: str) -> None:
        """Look at the machines. If the source can't be asked yet, it is asked again later.

        Raises InvalidConfiguration if the source is wrong, or if this host isn't among its peers.
        """
        self._host = host
        peers = self._peers()
        if peers and host.lower() not in peers:
            raise exceptions.InvalidConfiguration(
                f"[ironic]peer_list has {', '.join(sorted(peers))}, but not this host, {host}. "
                "It has to be the same on all hosts that share the machines."
            )
        try:
            self._refresh()
        except exceptions.VirtDriverNotReady as error:
            LOG.warning("%s", error)

    # Nodes

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the uuids of this host's machines, asking the source anew.

        These are the machines whose instance is this host's, and this host's part of the free ones,
        which the hosts of `[ironic]peer_list` divide among themselves. A host without peers, or
        with a shard of its own, has all.

        Raises VirtDriverNotReady while the source can't be asked.
        """
        known = self._refresh()
        peers = self._peers()
        if len(peers) < 2:
            return list(known)
        me, ring = self._host.lower(), HashRing(peers)
        here = self.virtapi.instances_of_host(self._host)
        return [
            uuid
            for uuid, node in known.items()
            if (node.instance_uuid in here if node.is_used else ring.host_of(uuid) == me)
        ]

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        """Return node uuid → nodename, which are the same."""
        return {uuid: uuid for uuid in self.get_available_nodes(refresh=refresh)}

    def node_is_available(self, nodename: str) -> bool:
        """Say whether there is such a machine. The source is asked anew before the answer is no."""
        return nodename in (self._known or {}) or nodename in self._refresh()

    def is_node_deleted(self, nodename: str) -> bool:
        """Say whether there is no such machine any more, of this host or another.

        A machine that moved to a peer may have been listed a moment ago, so the source is asked
        anew before a machine counts as gone: for that machine, because one in another conductor
        group or shard isn't listed here.
        """
        try:
            deleted = not self._exists(nodename)
        except exceptions.VirtDriverNotReady as error:
            LOG.warning("%s", error)
            return False
        if deleted:
            self._reported.set(nodename, ())
        return deleted

    # Resources

    def get_available_resource(self, nodename: str) -> dict[str, object]:
        """Return zeros: an instance gets a whole machine, and only Placement counts machines.

        Raises ComputeHostNotFound if there is no such machine.
        """
        node = self._node(nodename)
        return {
            "uuid": node.uuid,
            "hypervisor_hostname": node.uuid,
            "hypervisor_type": "ironic",
            "hypervisor_version": 1,
            "vcpus": 0,
            "vcpus_used": 0,
            "memory_mb": 0,
            "memory_mb_used": 0,
            "local_gb": 0,
            "local_gb_used": 0,
            "disk_available_least": 0,
            "cpu_info": "",
            "numa_topology": None,
            "supported_instances": [[node.cpu_arch, "baremetal", "hvm"]] if node.cpu_arch else [],
            "stats": {},
        }

    def update_provider_tree(
        self,
        provider_tree: "ProviderTree",
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        """Report one of the machine's class, and its traits.

        A machine that is unavailable is reserved. A machine in use that was reported as processors,
        memory and disk needs a reshape.

        Raises NoResourceClass if the machine has no class, ComputeHostNotFound if there is no such
        machine, and by the contract ReshapeNeeded and ReshapeFailed.
        """
        node = self._node(nodename)
        if node.resource_class is None:
            raise exceptions.NoResourceClass(node=nodename)
        reserved = self._is_reserved(node)
        if node.is_used and has_former_classes(provider_tree, nodename):
            if allocations is None:
                raise exceptions.ReshapeNeeded()
            name = custom_class(node.resource_class)
            # Placement refuses new allocations of a reserved machine: the next update reserves it.
            reserved &= not give_whole_machine(provider_tree, nodename, name, allocations)
        provider_tree.update_inventory(nodename, inventory(node.resource_class, reserved))
        self._update_traits(provider_tree, node)

    def list_instances(self) -> list[str]:
        """Return the uuids of this host's instances that have a machine; names aren't known."""
        return self.list_instance_uuids()

    def list_instance_uuids(self) -> list[str]:
        """Return the uuids of the instances of this host that have a machine."""
        here = self.virtapi.instances_of_host(self._host)
        nodes = (self._known or {}).values()
        return [uuid for node in nodes if (uuid := node.instance_uuid) is not None and uuid in here]

    def all_instance_uuids(self) -> list[str]:
        """Return the uuids of all instances that have a machine, asking the source anew."""
        nodes = self._refresh().values()
        return [node.instance_uuid for node in nodes if node.instance_uuid is not None]

    def get_host_ip_addr(self) -> str:
        """Return the configured `my_ip`."""
        return self.conf.my_ip

    def _peers(self) -> set[str]:
        """Return the hosts that share the machines; host names have no case."""
        options = self.conf.ironic
        return set() if options.shard else {peer.lower() for peer in options.peer_list if peer}

    def _exists(self, nodename: str) -> bool:
        # Sources that list everything don't have it.
        has = getattr(self._source, "has", None)
        if has is None or nodename in (self._known or {}):
            return self.node_is_available(nodename)
        return has(nodename)

    def _refresh(self) -> dict[str, IronicNode]:
        found = {node.uuid: node for node in self._source.nodes()}
        with self._lock:
            self._known = found
        return found

    def _node(self, nodename: str) -> IronicNode:
        """Return the machine as of the last refresh; one request serves all updates."""
        known = self._known if self._known is not None else self._refresh()
        if nodename not in known:
            raise exceptions.ComputeHostNotFound(host=nodename)
        return known[nodename]

    def _is_reserved(self, node: IronicNode) -> bool:
        if node.is_used:
            return not self.conf.workarounds.skip_reserve_in_use_ironic_nodes
        return node.is_unavailable

    def _update_traits(self, tree: "ProviderTree", node: IronicNode) -> None:
        """Add the machine's traits, and remove those it had before.

        The traits to remove are remembered until the tree lacks them, because an update may fail.
        """
        gone = self._reported.of(node.uuid) - set(node.traits)
        left = gone & tree.data(node.uuid).traits
        self._reported.set(node.uuid, {*node.traits, *left})
        tree.add_traits(node.uuid, *node.traits)
        tree.remove_traits(node.uuid, *left)


def _configured_source(conf: cfg.ConfigOpts) -> NodeSource:
    if conf.ironic.node_source == "openstack":
        return BareMetalAPI(conf)
    return InventoryFile(conf.ironic.inventory_file)


def has_former_classes(tree: "ProviderTree", nodename: str) -> bool:
    """Say whether the node's root is reported in the former way."""
    return not tree.data(nodename).inventory.keys().isdisjoint(FORMER)


def give_whole_machine(
    tree: "ProviderTree", nodename: str, resource_class: str, allocations: Allocations
) -> bool:
    """Replace what consumers hold of former classes by one of `resource_class`, in place.

    Return whether a consumer got the class that didn't hold it before. Raises ReshapeFailed if
    several consumers would hold the machine; then nothing has changed.
    """
    root = tree.data(nodename).uuid
    former = {
        consumer: body
        for consumer, body in sorted(allocations.items())
        if any(held(body, root, name) for name in FORMER)
    }
    owners = {one for one, body in allocations.items() if held(body, root, resource_class)}
    if len(owners | former.keys()) > 1:
        raise exceptions.ReshapeFailed(
            error=f"machine {nodename} is held by several consumers, and one only can have it: "
            f"{', '.join(sorted(owners | former.keys()))}"
        )
    for consumer, body in former.items():
        # Give first: a record that is empty for a moment is removed, and then comes back as the
        # last.
        if consumer not in owners:
            give(body, root, resource_class, 1)
        for name in FORMER:
            take(body, root, name)
    return bool(former.keys() - owners)


class HashRing:
    """Hosts on a ring; a machine is the next host's. Few move when hosts come or go.

    It is the ring of the library tooz, as nova has it: beside nova's agents, or after them, a host
    has to have the same machines. Otherwise two hosts report one machine, and nobody another.
    """

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts: dict[int, str] = {}
        for host in hosts:
            place = hashlib.md5(host.encode(), usedforsecurity=False)
            for _ in range(_PARTITIONS):
                place.update(host.encode())
                self._hosts[int(place.hexdigest(), 16)] = host
        self._places = sorted(self._hosts)

    def host_of(self, node_uuid: str) -> str:
        """Return the host that gets a machine."""
        place = int(hashlib.md5(node_uuid.encode(), usedforsecurity=False).hexdigest(), 16)
        found = bisect.bisect(self._places, place) % len(self._places)
        return self._hosts[self._places[found]]

"""One provider for each network card whose virtual functions guests may have.

See compute.md §6.6, §6.8.

The provider is a child of the card's NUMA cell where cells are modelled, else of the root, with
SRIOV_NET_VF and the trait of the network the card is plugged into.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compute import exceptions
from compute.pci.device_spec import DeviceSpec
from compute.provider_tree.inventory_record import with_reserved
from compute.provider_tree.names import child_name, child_suffix
from virt.inventory import Inventory, record
from virt.ownership import is_foreign
from virt.pci_device import PciDevice, offered
from virt.reshape.numa import CellProvider

if TYPE_CHECKING:
    from compute.provider_tree import ProviderData, ProviderTree

SRIOV_NET_VF = "SRIOV_NET_VF"

#: Beginning of the traits of networks.
PHYSNET_TRAIT = "CUSTOM_PHYSNET_"


@dataclass(frozen=True)
class PhysicalFunction:
    """A network card that can be divided: its network, and its virtual functions for guests.

    `name` is that of its interface; `virtual_functions` are PCI addresses, or other unique names.
    """

    name: str
    physical_network: str
    virtual_functions: Sequence[str]
    numa_node: int | None = None

    @property
    def inventory(self) -> Inventory:
        """Return the inventory that guests can request."""
        return {SRIOV_NET_VF: record(len(self.virtual_functions))}

    @property
    def traits(self) -> list[str]:
        """Return the trait of its network."""
        return [physnet_trait(self.physical_network)]


def physnet_trait(physical_network: str) -> str:
    """Return the trait of the cards in a network: `CUSTOM_PHYSNET_<NAME>`."""
    return PHYSNET_TRAIT + re.sub(r"[^A-Z0-9_]", "_", physical_network.upper())


def physical_functions(
    devices: Sequence[PciDevice], specs: Sequence[DeviceSpec]
) -> list[PhysicalFunction]:
    """Return the cards whose virtual functions `specs` offer and put into a network.

    Raises InvalidConfiguration if `specs` put one card into two networks.
    """
    functions: dict[str, list[str]] = {}
    networks: dict[str, set[str]] = {}
    for device, spec in offered(devices, specs):
        if device.physical_function is not None and spec.physical_network is not None:
            functions.setdefault(device.physical_function, []).append(device.address)
            networks.setdefault(device.physical_function, set()).add(spec.physical_network)
    cards = [device for device in devices if device.address in functions]
    for card in cards:
        if len(networks[card.address]) > 1:
            raise exceptions.InvalidConfiguration(
                f"[pci]device_spec puts {card.interface or card.address} into more than one "
                f"physical network: {', '.join(sorted(networks[card.address]))}."
            )
    return [
        PhysicalFunction(
            name=card.interface or f"pf_{card.address}",
            physical_network=next(iter(networks[card.address])),
            virtual_functions=tuple(sorted(functions[card.address])),
            numa_node=card.numa_node,
        )
        for card in cards
    ]


class CardProviders:
    """The providers of a node's cards, as they are in the tree and as they should be.

    A card's provider is called `<node>_<card>`. A provider's parent can't be changed. If the
    provider of that name is below the wrong parent, another provider replaces it, called
    `<node>_<card>_<last part of the parent's name>`.
    """

    def __init__(
        self, tree: "ProviderTree", nodename: str, functions: Sequence[PhysicalFunction]
    ) -> None:
        self._tree = tree
        self._nodename = nodename
        self._parent_of = _parents(tree, nodename)
        self.functions = functions
        #: name of a provider in the tree → its card, for the cards there are
        self.present: dict[str, str] = {}
        #: names of providers in the tree whose cards are gone
        self.gone: list[str] = []
        having = set(_with_virtual_functions(tree, nodename))
        for name in _not_foreign(tree, nodename):
            card = next((one.name for one in functions if self._is_of(name, one.name)), None)
            if card is not None:
                # It has no inventory if a service ended between creating and filling it.
                self.present[name] = card
            elif name in having:
                self.gone.append(name)

    def wanted(self, parents: Mapping[str, str]) -> dict[str, CellProvider]:
        """Return card → the provider it should have, given the name of the one above it.

        What an operator reserved, and other traits, come along from the provider it has now.
        """
        return {
            one.name: CellProvider(
                self._name(one.name, parents[one.name]),
                parents[one.name],
                with_reserved(one.inventory, self._inventory(one.name)),
                [*one.traits, *self._other_traits(one.name)],
                PHYSNET_TRAIT,
            )
            for one in self.functions
        }

    def _of_card(self, card: str) -> "list[ProviderData]":
        return [self._tree.data(name) for name, of in self.present.items() if of == card]

    def _inventory(self, card: str) -> Inventory:
        """Return what the card's providers have; of two records, the one that keeps more."""
        found: list[Inventory] = [one.inventory for one in self._of_card(card)]
        return max(found, key=_reserved) if found else {}

    def _other_traits(self, card: str) -> list[str]:
        traits = {trait for one in self._of_card(card) for trait in one.traits}
        return sorted(one for one in traits if not one.startswith(PHYSNET_TRAIT))

    def _is_of(self, name: str, card: str) -> bool:
        suffix = child_suffix(self._nodename, name)
        like = re.escape(card) + r"(_root|_numa\d+)?"
        return suffix is not None and re.fullmatch(like, suffix) is not None

    def _name(self, card: str, parent: str) -> str:
        is_root = parent == self._nodename
        place = "root" if is_root else child_suffix(self._nodename, parent) or parent
        usual = child_name(self._nodename, card)
        other = child_name(self._nodename, f"{card}_{place}")
        if self._parent_of.get(other) == parent or self._parent_of.get(usual, parent) != parent:
            return other
        return usual


def _parents(tree: "ProviderTree", nodename: str) -> dict[str, str]:
    """Return name → parent's name, of all providers below the root."""
    providers = [tree.data(uuid) for uuid in tree.get_provider_uuids(nodename)]
    names = {one.uuid: one.name for one in providers}
    return {one.name: names[one.parent_uuid] for one in providers[1:] if one.parent_uuid}


def _not_foreign(tree: "ProviderTree", nodename: str) -> list[str]:
    """Return the names of the providers below the root that have no other owner."""
    below = (tree.data(uuid) for uuid in tree.get_provider_uuids(nodename)[1:])
    return [one.name for one in below if not is_foreign(one)]


def _with_virtual_functions(tree: "ProviderTree", nodename: str) -> list[str]:
    """Return the names of the providers of cards, also of those that are gone.

    Such a provider has SRIOV_NET_VF, a network's trait, and a name that begins with the node's.
    """
    below = (tree.data(uuid) for uuid in tree.get_provider_uuids(nodename)[1:])
    return [
        one.name
        for one in below
        if child_suffix(nodename, one.name) is not None
        and SRIOV_NET_VF in one.inventory
        and any(trait.startswith(PHYSNET_TRAIT) for trait in one.traits)
    ]


def _reserved(inventory: Inventory) -> int:
    return inventory.get(SRIOV_NET_VF, {}).get("reserved", 0)

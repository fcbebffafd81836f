"""On which providers of a tree a guest has what it has."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from oslo_config import cfg

from compute.pci.device_spec import parse_device_specs
from compute.provider_tree.cells import cell_name
from virt.node.facts import Guest, HostFacts
from virt.node.gpus import gpus
from virt.node.guest_places import card_places, cell_places, device_counts
from virt.reshape.vgpu import VGPU, pgpu_name
from virt.sriov import SRIOV_NET_VF, CardProviders, physical_functions

if TYPE_CHECKING:
    from compute.provider_tree import ProviderTree


def places_of(
    guest: Guest,
    tree: "ProviderTree",
    nodename: str,
    resources: Mapping[str, int],
    facts: HostFacts,
    conf: cfg.ConfigOpts,
    dedicated: Collection[int],
) -> dict[str, dict[str, int]]:
    """Return provider uuid → class → amount, of the providers in the tree.

    :param resources: class → how much the guest should have
    :param dedicated: processors of the host that a guest can have to itself
    """
    names: dict[str, dict[str, int]] = {}
    for cell, found in cell_places(guest, facts.cells, resources, dedicated).items():
        names.setdefault(cell_name(nodename, cell), {}).update(found)
    specs = parse_device_specs(conf.pci.device_spec)
    cards = CardProviders(tree, nodename, physical_functions(facts.pci_devices, specs))
    counts = card_places(guest, {one.name: one.virtual_functions for one in cards.functions})
    for name, card in cards.present.items():
        # A provider without inventory was replaced by another one of the same card.
        if card in counts and SRIOV_NET_VF in tree.data(name).inventory:
            names.setdefault(name, {})[SRIOV_NET_VF] = counts[card]
    classes = gpus(facts, conf).classes
    for device, count in device_counts(guest, facts.mediated_devices).items():
        name = pgpu_name(nodename, device)
        names.setdefault(name, {})[classes.get(device, VGPU)] = count
    return {tree.data(name).uuid: found for name, found in names.items() if tree.exists(name)}

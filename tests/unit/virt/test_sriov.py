import json

import pytest

from compute.exceptions import InvalidConfiguration
from compute.pci.device_spec import parse_device_specs
from tests.unit.virt.node.hosts import network_card
from virt.inventory import record
from virt.sriov import CardProviders, PhysicalFunction, physical_functions, physnet_trait

FIRST, SECOND = network_card("ens1", 1, 2, 0), network_card("ens2", 2, 3, 1)


def specs(*fields):
    return parse_device_specs([json.dumps(one) for one in fields])


def test_cards_are_those_whose_functions_are_offered_in_a_network():
    offered = specs({"devname": "ens2", "physical_network": "net"}, {"vendor_id": "8086"})
    (card,) = physical_functions([*FIRST, *SECOND], offered)
    assert card == PhysicalFunction(
        "ens2", "net", ("0000:02:10.0", "0000:02:10.1", "0000:02:10.2"), 1
    )


def test_only_the_functions_that_are_offered_count():
    offered = specs({"address": {"bus": "02", "function": "[12]"}, "physical_network": "net"})
    (card,) = physical_functions(SECOND, offered)
    assert card.inventory == {"SRIOV_NET_VF": record(2)}


def test_one_card_in_two_networks_is_refused_naming_it():
    offered = specs(
        {"address": "0000:01:10.0", "physical_network": "a"},
        {"address": "0000:01:10.1", "physical_network": "b"},
    )
    with pytest.raises(InvalidConfiguration, match=r"\[pci\]device_spec puts ens1.*a, b"):
        physical_functions(FIRST, offered)


def test_a_card_without_an_interface_is_named_by_its_address():
    card, *functions = network_card(None, 1, 1)
    (found,) = physical_functions([card, *functions], specs({"physical_network": "a"}))
    assert found.name == "pf_0000:01:00.0"


@pytest.mark.parametrize(
    ("network", "trait"),
    [("physnet1", "CUSTOM_PHYSNET_PHYSNET1"), ("my-net.2", "CUSTOM_PHYSNET_MY_NET_2")],
)
def test_the_trait_of_a_network_is_its_name_in_capitals(network, trait):
    assert physnet_trait(network) == trait


def test_providers_without_a_networks_trait_or_a_name_of_ours_are_somebody_elses(tree):
    for name, traits in (("host1_mine", ()), ("other", ["CUSTOM_PHYSNET_A"])):
        tree.new_child(name, "host1")
        tree.update_inventory(name, {"SRIOV_NET_VF": record(1)})
        tree.add_traits(name, *traits)
    cards = CardProviders(tree, "host1", [])
    assert (cards.present, cards.gone) == ({}, [])

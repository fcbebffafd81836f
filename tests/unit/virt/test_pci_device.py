import json

import pytest

from compute.exceptions import InvalidConfiguration
from tests.unit.virt.node.hosts import network_card
from virt.pci_device import PciDevice, offered, parse_device_specs

GPU = PciDevice("0000:84:00.0", "10de", "1db6", 1)


def spec(**fields):
    (parsed,) = parse_device_specs([json.dumps(fields)])
    return parsed


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({}, True),
        ({"vendor_id": "10de"}, True),
        ({"vendor_id": "0x10DE", "product_id": "1db6"}, True),
        ({"vendor_id": "*"}, True),
        ({"vendor_id": "8086"}, False),
        ({"product_id": "1db7"}, False),
        ({"address": "0000:84:00.0"}, True),
        ({"address": "84:00.0"}, True),
        ({"address": "*:84:*"}, True),
        ({"address": "*:85:*"}, False),
        ({"address": {"bus": "8[0-4]"}}, True),
        ({"address": {"bus": "8[0-4]", "function": "[1-7]"}}, False),
        ({"devname": "ens1"}, False),
    ],
)
def test_a_device_is_as_specified_if_every_field_is(fields, matches):
    assert spec(**fields).matches(GPU) is matches


def test_a_domain_may_have_more_than_four_digits():
    behind_vmd = PciDevice("10000:e0:06.0", "8086", "09ab")
    assert spec(address={"domain": "10000", "slot": "06"}).matches(behind_vmd)


def test_what_is_no_field_of_a_device_is_a_tag():
    parsed = spec(vendor_id="10de", physical_network="net1", trusted="true")
    assert (parsed.physical_network, parsed.tags["trusted"]) == ("net1", "true")


def test_several_specs_may_be_given_as_one_list():
    assert len(parse_device_specs(['[{"vendor_id": "1"}, {"vendor_id": "2"}]', "{}"])) == 3


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "3",
        '["eth0"]',
        '{"vendor_id": "intel"}',
        '{"vendor_id": 8086}',
        '{"address": "in slot three"}',
        '{"address": {"bus": "["}}',
        '{"address": {"buss": "1"}}',
        '{"address": 3}',
        '{"devname": "a", "address": "84:00.0"}',
        '{"physical_network": 3}',
    ],
)
def test_what_cannot_be_read_is_refused_naming_the_option_and_the_value(text):
    with pytest.raises(InvalidConfiguration) as refused:
        parse_device_specs([text])
    assert str(refused.value).startswith(f"[pci]device_spec {text!r}: ")


def test_a_spec_of_a_card_fits_its_virtual_functions():
    card, first, second = network_card("ens1", 1, 2)
    specs = parse_device_specs(['{"devname": "ens1"}', "{}"])
    assert offered([card, first, second, GPU], specs) == [
        (card, specs[0]),
        (first, specs[0]),
        (second, specs[0]),
        (GPU, specs[1]),
    ]


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"product_id": "10fb"}, ["type-PF"]),
        ({"devname": "ens1", "product_id": "10fb"}, ["type-PF"]),
        ({"devname": "ens1", "product_id": "10ed"}, ["type-VF", "type-VF"]),
        ({"address": "01:00.0", "vendor_id": "8086"}, ["type-PF", "type-VF", "type-VF"]),
        ({"address": "01:00.0", "vendor_id": "10de"}, []),
    ],
)
def test_where_a_card_is_counts_for_its_functions_what_it_is_does_not(fields, kinds):
    found = offered(network_card("ens1", 1, 2), [spec(**fields)])
    assert [device.kind for device, _ in found] == kinds


def test_kinds_are_those_of_nova():
    card, function = network_card("ens1", 1, 1)
    assert [one.kind for one in (card, function, GPU)] == ["type-PF", "type-VF", "type-PCI"]

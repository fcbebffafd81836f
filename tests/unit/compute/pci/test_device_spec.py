import json
from dataclasses import replace

import pytest

from compute.exceptions import InvalidConfiguration
from compute.pci.device_spec import parse_device_specs
from tests.unit.virt.node.hosts import network_card
from virt.pci_device import PciDevice, offered

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
        ({"address": "*"}, True),
        ({"address": "*:*:*.*"}, True),
        ({"address": "84:00"}, True),
        ({"address": "84:01"}, False),
        ({"address": ".0"}, True),
        ({"address": ".1"}, False),
        ({"address": "0:84:0.0 "}, True),
        ({"address": None}, True),
        ({"address": {}}, True),
        ({"address": {"bus": "8"}}, True),
        ({"address": {"bus": "4"}}, False),
        ({"vendor_id": "010de"}, True),
        ({"address": {"bus": "8[0-4]"}}, True),
        ({"address": {"bus": "8[0-4]", "function": "[1-7]"}}, False),
        ({"devname": "ens1"}, False),
    ],
)
def test_a_device_is_as_specified_if_every_field_is(fields, matches):
    """As nova reads them."""
    found = offered([GPU], [spec(**fields)])
    assert [device for device, _ in found] == [GPU] * matches


def test_a_device_in_a_domain_above_ffff_is_left_out_with_a_line(caplog):
    behind_vmd = PciDevice("10000:e0:06.0", "8086", "09ab")
    for _ in range(2):
        assert offered([behind_vmd, GPU], [spec()]) == [(GPU, spec())]
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("PCI device 10000:e0:06.0 of [pci]device_spec is left out: its PCI dom")


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
        '{"resource_class": 5}',
        '{"traits": ["a"]}',
        '{"managed": "maybe"}',
        '{"live_migratable": ""}',
        '{"one_time_use": 2}',
        '{"address": "84"}',
        '{"address": "10000:84:00.0"}',
        '{"address": "0000:84:00.8"}',
        '{"address": "8*:00.0"}',
        '{"address": "*:84:00.[1-2]"}',
        '{"address": "0:0:84:00.0"}',
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
        ({"address": "0000:01:00.0", "vendor_id": "8086"}, ["type-PF", "type-VF", "type-VF"]),
        ({"address": "0:1:0.0", "product_id": "10ed"}, ["type-VF", "type-VF"]),
        (
            {"address": {"domain": "0000", "bus": "01", "slot": "00", "function": "0"}},
            ["type-PF", "type-VF", "type-VF"],
        ),
        # what names no single device doesn't name a card
        ({"address": "01:00.0"}, ["type-PF"]),
        ({"address": {"slot": "00"}}, ["type-PF"]),
        ({"address": {"slot": "10"}}, ["type-VF", "type-VF"]),
        ({"address": "0000:01:00.0", "vendor_id": "10de"}, []),
    ],
)
def test_where_a_card_is_counts_for_its_functions_what_it_is_does_not(fields, kinds):
    found = offered(network_card("ens1", 1, 2), [spec(**fields)])
    assert [device.kind for device, _ in found] == kinds


def test_kinds_are_those_of_nova():
    card, function = network_card("ens1", 1, 1)
    assert [one.kind for one in (card, function, GPU)] == ["type-PF", "type-VF", "type-PCI"]


def test_a_card_whose_functions_are_not_made_is_a_card():
    assert PciDevice("0000:01:00.0", "8086", "10fb", max_functions=8).kind == "type-PF"


@pytest.mark.parametrize("name", ["managed", "live_migratable", "one_time_use", "remote_managed"])
@pytest.mark.parametrize(
    ("value", "tag"),
    [("y", "true"), ("On", "true"), (1, "true"), (True, "true"), ("f", "false"), (False, "false")],
)
def test_a_tag_that_is_true_or_false_is_read_as_nova_reads_it(name, value, tag):
    assert spec(**{name: value}).tags == {name: tag}


def test_a_tag_without_a_value_is_none():
    assert spec(managed=None, physical_network=None).physical_network is None
    assert spec(managed=None).tags == {}
    assert spec(physical_network="").physical_network is None


def test_what_is_managed_remotely_is_a_function_of_a_card_that_tells_its_serial_number(caplog):
    card, *functions = network_card("ens1", 0x41, 2)
    numbered = [replace(one, serial_number="MT1") for one in (card, *functions)]
    remote = spec(vendor_id="8086", remote_managed="true")
    assert [device for device, _ in offered(numbered, [remote])] == numbered[1:]
    assert offered([card, *functions], [remote]) == []
    lines = {record.getMessage().partition(" is left out")[0] for record in caplog.records}
    assert len(lines) == 3

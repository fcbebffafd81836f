"""The values of [pci]alias."""

import json

import pytest

from compute.requests.pci_aliases import BadAlias, aliases_of
from compute.requests.settings import PciAlias

GPU = {"name": "gpu", "vendor_id": "10DE", "product_id": "1eb8"}


def read(*values: dict[str, object], in_placement: bool = True) -> dict[str, PciAlias]:
    return aliases_of([json.dumps(value) for value in values], in_placement)


def test_vendor_and_product_make_the_class() -> None:
    assert read(GPU) == {"gpu": PciAlias("CUSTOM_PCI_10DE_1EB8")}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("vgpu", "VGPU"),
        ("gold gpu", "CUSTOM_GOLD_GPU"),
        ("a  b", "CUSTOM_A_B"),
        ("custom_gold", "CUSTOM_GOLD"),
        (" VGPU ", "CUSTOM__VGPU_"),
        ("é", "CUSTOM__"),
        ("", "CUSTOM_PCI_10DE_1EB8"),
    ],
)
def test_a_class_gets_a_name_that_placement_takes(given: str, name: str) -> None:
    assert read(GPU | {"resource_class": given})["gpu"].resource_class == name


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("custom_fast,hw-cpu", {"CUSTOM_FAST", "CUSTOM_HW_CPU"}),
        ("compute_node", {"CUSTOM_COMPUTE_NODE"}),
        ("COMPUTE_NODE", {"COMPUTE_NODE"}),
        ("a, b", {"CUSTOM_A", "CUSTOM__B"}),
        ("custom-x", {"CUSTOM_CUSTOM_X"}),
        ("", set()),
    ],
)
def test_traits_get_names_that_placement_takes(given: str, names: set[str]) -> None:
    assert read(GPU | {"traits": given})["gpu"].traits == names


def test_a_class_is_enough() -> None:
    assert read({"name": "x", "resource_class": "X"}) == {"x": PciAlias("CUSTOM_X")}


def test_a_name_may_come_twice_where_devices_are_not_in_placement() -> None:
    assert set(read(GPU, GPU | {"product_id": "1eb9"}, in_placement=False)) == {"gpu"}


def test_less_is_enough_where_devices_are_not_in_placement() -> None:
    assert read({"name": "x"}, in_placement=False) == {"x": PciAlias("")}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (['{"name":'], "is no JSON"),
        (["[]"], "must be a JSON object of texts"),
        ([json.dumps(GPU | {"vendor_id": 1})], "must be a JSON object of texts"),
        ([json.dumps(GPU | {"x": "y"})], "has no x"),
        ([json.dumps(GPU | {"name": ""})], "has no name"),
        ([json.dumps(GPU | {"vendor_id": "xyz"})], "four hexadecimal digits"),
        ([json.dumps(GPU | {"device_type": "PF"})], "device_type"),
        (['{"name": "a", "vendor_id": "10de"}'], "needs vendor_id and product_id"),
        ([json.dumps(GPU)] * 2, "comes twice"),
        ([json.dumps(GPU), json.dumps(GPU | {"device_type": "type-VF"})], "two device types"),
    ],
)
def test_what_is_no_alias_is_told(values: list[str], why: str) -> None:
    with pytest.raises(BadAlias, match=why):
        aliases_of(values, in_placement=True)

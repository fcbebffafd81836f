"""The tags of devices, and that requests find devices by the same names (compute.md §6.11)."""

import json

import pytest

from compute.pci.tags import MANAGED, class_of, traits_of
from compute.requests.pci_aliases import aliases_of


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        # as nova 34 names them
        ("", set()),
        ("fast,CUSTOM_MINE,custom_yours", {"CUSTOM_FAST", "CUSTOM_MINE", "CUSTOM_YOURS"}),
        ("HW_GPU_API_VULKAN", {"HW_GPU_API_VULKAN"}),
        ("hw_gpu_api_vulkan", {"CUSTOM_HW_GPU_API_VULKAN"}),
        ("hw-gpu-api-vulkan", {"CUSTOM_HW_GPU_API_VULKAN"}),
        ("a, b ,a--b", {"CUSTOM_A", "CUSTOM__B_", "CUSTOM_A_B"}),
        ("a,,b", {"CUSTOM_", "CUSTOM_A", "CUSTOM_B"}),
        ("ß", {"CUSTOM_SS"}),
        # placement would refuse nova's
        ("CUSTOM_\u00e9", {"CUSTOM__"}),
    ],
)
def test_traits_of_a_device_and_of_an_alias_have_the_same_names(tag, names):
    (alias,) = aliases_of([json.dumps({"name": "a", "traits": tag})], False).values()
    assert traits_of({"traits": tag}) - {MANAGED} == alias.traits == names


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("", "CUSTOM_PCI_10DE_1EB8"),
        ("vgpu", "VGPU"),
        (" vgpu", "CUSTOM__VGPU"),
        ("qat engine", "CUSTOM_QAT_ENGINE"),
        ("a--b", "CUSTOM_A_B"),
        ("custom_a", "CUSTOM_A"),
        ("custom-a", "CUSTOM_CUSTOM_A"),
        ("CUSTOM_a b", "CUSTOM_A_B"),
    ],
)
def test_so_have_classes(tag, name):
    value = {"vendor_id": "10de", "product_id": "1eb8", "resource_class": tag}
    (alias,) = aliases_of([json.dumps({"name": "a", **value})], False).values()
    assert class_of(value) == alias.resource_class == name


@pytest.mark.parametrize("yes", ["1", "t", "True", " on ", "Y", "yes", True])
def test_a_device_for_one_use_is_known_by_every_word_for_yes(yes):
    assert "HW_PCI_ONE_TIME_USE" in traits_of({"one_time_use": yes})
    assert "HW_PCI_LIVE_MIGRATABLE" in traits_of({"live_migratable": yes})


@pytest.mark.parametrize("no", ["0", "f", "no", "off", "", None, False])
def test_other_words_are_no(no):
    assert traits_of({"one_time_use": no, "live_migratable": no}) == {MANAGED}

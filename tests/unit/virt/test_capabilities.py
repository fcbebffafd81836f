import os_traits
import pytest

from virt.capabilities import CAPABILITY_TRAITS, capability_traits
from virt.driver import ComputeDriver


def test_every_trait_in_the_table_is_a_standard_trait():
    assert os_traits.check_traits(CAPABILITY_TRAITS.values())[1] == set()


def test_the_table_has_the_thirty_two_capabilities_of_the_specification():
    assert (len(CAPABILITY_TRAITS), len(set(CAPABILITY_TRAITS.values()))) == (32, 32)


def test_only_mentioned_capabilities_give_traits():
    traits = capability_traits({"supports_multiattach": True, "supports_bfv_rescue": False})

    assert traits == {"COMPUTE_VOLUME_MULTI_ATTACH": True, "COMPUTE_RESCUE_BFV": False}


@pytest.mark.parametrize(
    "capability", ["has_imagecache", "supports_evacuate", "supports_pcpus", "supports_vtpm"]
)
def test_some_capabilities_have_no_trait(capability):
    assert capability_traits({capability: True}) == {}


def test_an_excluded_image_type_is_not_supported_whatever_the_driver_says(make_conf, virtapi):
    class ImageDriver(ComputeDriver):
        capabilities = {"supports_image_type_raw": True, "supports_image_type_qcow2": True}

    driver = ImageDriver(virtapi, make_conf(compute__image_type_exclude_list=["qcow2"]))

    assert driver.capabilities_as_traits() == {
        "COMPUTE_IMAGE_TYPE_RAW": True,
        "COMPUTE_IMAGE_TYPE_QCOW2": False,
    }

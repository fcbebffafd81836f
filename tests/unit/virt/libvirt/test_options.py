"""Options of nova that change what is reported: honoured, or refused with a sentence."""

import pytest

from compute.exceptions import InvalidConfiguration
from tests.unit.virt.libvirt.owners import SWTPM_OWNERS
from virt.libvirt.options import check_options

FILES = {
    "libvirt__file_backed_memory": 4096,
    "ram_allocation_ratio": 1.0,
    "reserved_host_memory_mb": 0,
}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"libvirt__cpu_mode": "custom"}, "cpu_models has to name models"),
        ({"libvirt__cpu_models": ["Penryn"]}, "cpu_models is set, which needs"),
        ({"libvirt__images_type": "lvm"}, "images_volume_group has to name"),
        (
            {"libvirt__swtpm_enabled": True, "libvirt__virt_type": "lxc"},
            "swtpm_enabled needs .*virt_type kvm or qemu, not lxc",
        ),
        (
            {"libvirt__swtpm_enabled": True, **SWTPM_OWNERS, "libvirt__swtpm_user": "no-such"},
            "needs the user that .*swtpm_user names: this host has no user no-such",
        ),
        (
            {"libvirt__swtpm_enabled": True, **SWTPM_OWNERS, "libvirt__swtpm_group": "no-such"},
            "needs the group that .*swtpm_group names: this host has no group no-such",
        ),
        (
            {"libvirt__images_type": "rbd", "force_raw_images": False},
            "rbd, which needs force_raw_images = true",
        ),
        ({**FILES, "libvirt__virt_type": "lxc"}, "file_backed_memory needs .*, not lxc"),
        ({**FILES, "ram_allocation_ratio": None}, "needs ram_allocation_ratio = 1.0"),
        ({**FILES, "ram_allocation_ratio": 1.5}, "needs ram_allocation_ratio = 1.0"),
        ({**FILES, "reserved_host_memory_mb": 1}, "needs reserved_host_memory_mb = 0"),
        ({**FILES, "berth__numa_in_placement": True}, "numa_in_placement can't be set"),
    ],
)
def test_options_that_contradict_each_other_are_refused(make_conf, options, complaint):
    with pytest.raises(InvalidConfiguration, match=complaint):
        check_options(make_conf(**options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        FILES,
        {"libvirt__images_type": "rbd"},
        {"libvirt__cpu_mode": "custom", "libvirt__cpu_models": ["Penryn"]},
        {"libvirt__swtpm_enabled": True, "libvirt__virt_type": "qemu", **SWTPM_OWNERS},
        {"libvirt__swtpm_user": "no-such", "libvirt__swtpm_group": "no-such"},
        {"libvirt__images_type": "qcow2", "force_raw_images": False},
    ],
)
def test_others_are_taken(make_conf, options):
    check_options(make_conf(**options))


def test_the_driver_refuses_them_at_its_start(make_driver):
    with pytest.raises(InvalidConfiguration, match="cpu_models has to name"):
        make_driver(libvirt__cpu_mode="custom")


@pytest.mark.parametrize(
    ("options", "takes"),
    [
        ({}, True),
        ({"force_raw_images": False}, True),
        ({"libvirt__images_type": "lvm"}, True),
        ({"libvirt__images_type": "lvm", "force_raw_images": False}, False),
    ],
)
def test_a_volume_group_without_raw_images_takes_no_qcow2(make_driver, options, takes):
    """As nova 34 has it."""
    driver = make_driver(libvirt__images_volume_group="nova", **options)
    assert driver.capabilities_as_traits()["COMPUTE_IMAGE_TYPE_QCOW2"] is takes

"""Options of nova that change what is reported: honoured, or refused with a sentence."""

import pytest

from compute.exceptions import InvalidConfiguration
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
        {"libvirt__swtpm_enabled": True, "libvirt__virt_type": "qemu"},
    ],
)
def test_others_are_taken(make_conf, options):
    check_options(make_conf(**options))


def test_the_driver_refuses_them_at_its_start(make_driver):
    with pytest.raises(InvalidConfiguration, match="cpu_models has to name"):
        make_driver(libvirt__cpu_mode="custom")

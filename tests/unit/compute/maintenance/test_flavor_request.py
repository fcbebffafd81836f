"""Flavors as the scheduler asks placement for them."""

from urllib.parse import unquote_plus

import pytest

from compute.maintenance.flavor_request import flavor_request
from compute.records.instance import Flavor

#: of every request: hosts whose compute service is disabled are out
ENABLED = "root_required=!COMPUTE_STATUS_DISABLED"


def query(booted_from_volume: bool = False, **extra_specs: str) -> str:
    """Return the query for a flavor with these extra specs; `__` stands for a colon."""
    specs = {name.replace("__", ":"): value for name, value in extra_specs.items()}
    flavor = Flavor(4, 8192, 20, 5, 1025, specs, "m1.large")
    return unquote_plus(flavor_request(flavor, booted_from_volume).request.to_querystring())


def resources(**extra_specs: str) -> str:
    """Return the group without a suffix alone."""
    parts = [part for part in query(**extra_specs).split("&") if part != ENABLED]
    return "&".join(parts)


def test_a_flavor_is_processors_memory_and_all_its_disks() -> None:
    assert query() == f"resources=DISK_GB:27,MEMORY_MB:8192,VCPU:4&{ENABLED}"


def test_a_root_disk_on_a_volume_takes_no_disk_of_the_host() -> None:
    assert query(True) == f"resources=DISK_GB:7,MEMORY_MB:8192,VCPU:4&{ENABLED}"


@pytest.mark.parametrize(
    ("extra_specs", "expected"),
    [
        ({"resources__VCPU": "0"}, "resources=DISK_GB:27,MEMORY_MB:8192"),
        (
            {"resources__VCPU": "0", "resources__MEMORY_MB": "0", "resources__DISK_GB": "0"}
            | {"resources__CUSTOM_BAREMETAL": "1"},
            "resources=CUSTOM_BAREMETAL:1",
        ),
        ({"resources__VGPU": "2"}, "resources=DISK_GB:27,MEMORY_MB:8192,VCPU:4,VGPU:2"),
        (
            {"trait__HW_CPU_X86_AVX2": "required", "trait__CUSTOM_OLD": "forbidden"},
            "required=HW_CPU_X86_AVX2,!CUSTOM_OLD&resources=DISK_GB:27,MEMORY_MB:8192,VCPU:4",
        ),
        (
            {"resources1__VGPU": "1", "trait1__CUSTOM_A": "required", "resources2__VGPU": "1"}
            | {"group_policy": "isolate"},
            "group_policy=isolate&required1=CUSTOM_A&resources=DISK_GB:27,MEMORY_MB:8192,VCPU:4"
            "&resources1=VGPU:1&resources2=VGPU:1",
        ),
        (
            {"resources_NET-1__NET_BW_EGR_KILOBIT_PER_SEC": "10"},
            "resources=DISK_GB:27,MEMORY_MB:8192,VCPU:4"
            "&resources_NET-1=NET_BW_EGR_KILOBIT_PER_SEC:10",
        ),
        ({"resources_A__VGPU": "0"}, "resources=DISK_GB:27,MEMORY_MB:8192,VCPU:4"),
    ],
)
def test_extra_specs_change_classes_and_traits(extra_specs: dict[str, str], expected: str) -> None:
    assert resources(**extra_specs) == expected


@pytest.mark.parametrize(
    ("extra_specs", "expected"),
    [
        ({"hw__cpu_policy": "shared"}, "VCPU:4"),
        ({"hw__cpu_policy": "dedicated"}, "PCPU:4"),
        ({"hw__cpu_policy": "dedicated", "hw__emulator_threads_policy": "isolate"}, "PCPU:5"),
        ({"hw__cpu_policy": "mixed", "hw__cpu_dedicated_mask": "0-1"}, "PCPU:2,VCPU:2"),
        ({"hw__cpu_policy": "mixed", "hw__cpu_dedicated_mask": "^0"}, "PCPU:3,VCPU:1"),
        ({"hw__cpu_policy": "mixed", "hw__cpu_dedicated_mask": "1-9,^2"}, "PCPU:2,VCPU:2"),
        ({"hw__cpu_policy": "mixed", "hw__cpu_realtime_mask": "^0-2"}, "PCPU:1,VCPU:3"),
        ({"hw__cpu_policy": "dedicated", "resources__PCPU": "3"}, "PCPU:3,VCPU:4"),
    ],
)
def test_dedicated_processors_are_a_class_of_their_own(
    extra_specs: dict[str, str], expected: str
) -> None:
    amounts = resources(**extra_specs).removeprefix("resources=DISK_GB:27,MEMORY_MB:8192,")
    assert amounts == expected


@pytest.mark.parametrize(
    ("extra_specs", "part"),
    [
        (
            {"hw__cpu_policy": "dedicated", "hw__cpu_thread_policy": "require"},
            "required=HW_CPU_HYPERTHREADING&",
        ),
        (
            {"hw__cpu_policy": "dedicated", "hw__cpu_thread_policy": "isolate"},
            "required=!HW_CPU_HYPERTHREADING&",
        ),
        (
            {"hw__tpm_version": "2.0", "hw__tpm_model": "tpm-crb"},
            "required=COMPUTE_SECURITY_TPM_2_0,COMPUTE_SECURITY_TPM_CRB&",
        ),
        ({"os__secure_boot": "required"}, "required=COMPUTE_SECURITY_UEFI_SECURE_BOOT&"),
        ({"hw__virtio_packed_ring": "True"}, "required=COMPUTE_NET_VIRTIO_PACKED&"),
        (
            {"hw__maxphysaddr_mode": "passthrough"},
            "required=COMPUTE_ADDRESS_SPACE_PASSTHROUGH&",
        ),
        ({"hw__mem_encryption": "yes"}, ",MEM_ENCRYPTION_CONTEXT:1,"),
        (
            {"hw__pmem": "6GB, small,6GB"},
            "=CUSTOM_PMEM_NAMESPACE_6GB:2,CUSTOM_PMEM_NAMESPACE_SMALL:1,",
        ),
    ],
)
def test_features_ask_for_their_trait_or_class(extra_specs: dict[str, str], part: str) -> None:
    assert part in query(**extra_specs)


@pytest.mark.parametrize(
    ("spec", "value", "told"),
    [
        ("resources:VGPU", "two", "resources:VGPU=two is ignored: it must be a whole number."),
        ("resources:VGPU", "-1", "resources:VGPU=-1 is ignored: it must be a whole number."),
        (
            "trait:CUSTOM_A",
            "preferred",
            "trait:CUSTOM_A=preferred is ignored: it must be required or forbidden.",
        ),
        (
            "group_policy",
            "isolated",
            "group_policy=isolated is ignored: it must be none or isolate.",
        ),
        (
            "hw:cpu_policy",
            "pinned",
            "hw:cpu_policy=pinned is ignored: it must be dedicated, mixed or shared.",
        ),
        (
            "pci_passthrough:alias",
            "gpu:1",
            "pci_passthrough:alias=gpu:1 is not in the request: nova's configuration knows the "
            "devices.",
        ),
        (
            "accel:device_profile",
            "fpga",
            "accel:device_profile=fpga is not in the request: cyborg knows the devices.",
        ),
    ],
)
def test_what_is_left_out_is_told(spec: str, value: str, told: str) -> None:
    found = flavor_request(Flavor(1, 512, 0, 0, 0, {spec: value}))
    assert found.left_out == (told,)
    assert found.request == flavor_request(Flavor(1, 512)).request


def test_a_mask_that_names_no_processors_is_told() -> None:
    specs = {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "a-b"}
    (told,) = flavor_request(Flavor(2, 512, extra_specs=specs)).left_out
    assert told.startswith("hw:cpu_dedicated_mask=a-b is ignored: it must be a list")


def test_extra_specs_of_filters_ask_placement_for_nothing() -> None:
    assert query(aggregate_instance_extra_specs__ssd="true", hw__numa_nodes="2") == query()

import pytest

from tests.unit.virt.host.machines import set_parameters, two_sockets
from virt.node.facts import HostFactsError
from virt.node.memory_encryption_slots import of_tdx, read_encryption_slots, switched_on


@pytest.fixture
def machine(tmp_path):
    return two_sockets(tmp_path)


def test_memory_encryption_is_as_the_kernel_counts_it(machine):
    machine.write(
        machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev 509\nsev_es 99\nother 3\ntdx max\n"
    )

    assert read_encryption_slots(machine.sysfs) == {"amd_sev": 509, "amd_sev_es": 99}


@pytest.mark.parametrize(
    ("parameters", "on"),
    [
        ({}, []),
        ({"sev": "N", "sev_es": "Y", "sev_snp": "Y"}, []),
        ({"sev": "Y"}, ["amd_sev"]),
        ({"sev": "1", "sev_es": "1", "sev_snp": "0"}, ["amd_sev", "amd_sev_es"]),
        ({"sev": "Y", "sev_es": "Y", "sev_snp": "Y"}, ["amd_sev", "amd_sev_snp"]),
        ({"sev": "Y", "sev_es": "N", "sev_snp": "Y"}, ["amd_sev", "amd_sev_snp"]),
    ],
)
def test_a_technology_of_amd_can_be_off_and_snp_replaces_es(machine, parameters, on):
    """As nova 34 finds them."""
    set_parameters(machine, **parameters)
    slots = {"amd_sev": 1, "amd_sev_es": 2, "amd_sev_snp": 2, "intel_tdx": 3}
    assert sorted(switched_on(slots, machine.sysfs)) == sorted([*on, "intel_tdx"])


def test_where_there_is_snp_what_the_kernel_counts_as_es_is_of_snp(machine):
    machine.write(machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev 9\nsev_es 99\n")
    set_parameters(machine, sev_snp="Y")
    assert read_encryption_slots(machine.sysfs) == {"amd_sev": 9, "amd_sev_snp": 99}


def test_a_broken_count_of_encrypted_guests_is_named(machine):
    machine.write(machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev lots\n")

    with pytest.raises(HostFactsError, match=r"misc\.capacity: invalid literal"):
        read_encryption_slots(machine.sysfs)


def test_what_can_not_even_be_looked_for_is_named():
    with pytest.raises(HostFactsError, match=r"misc\.capacity: File name too long"):
        read_encryption_slots("x" * 5000)


def test_a_kernel_that_counts_none_has_none(machine):
    assert read_encryption_slots(machine.sysfs) == {}


@pytest.mark.parametrize(
    ("counted", "configured", "slots"),
    [(None, None, 0), (31, None, 31), (None, 5, 5), (31, 5, 5), (31, 40, 31), (31, 0, 0)],
)
def test_of_tdx_the_lower_of_kernel_and_option_counts(counted, configured, slots):
    assert of_tdx(counted, configured) == slots

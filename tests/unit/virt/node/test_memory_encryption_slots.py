import pytest

from tests.unit.virt.host.machines import two_sockets
from virt.node.facts import HostFactsError
from virt.node.memory_encryption_slots import read_encryption_slots


@pytest.fixture
def machine(tmp_path):
    return two_sockets(tmp_path)


def test_memory_encryption_is_as_the_kernel_counts_it(machine):
    machine.write(
        machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev 509\nsev_es 99\nother 3\ntdx max\n"
    )

    assert read_encryption_slots(machine.sysfs) == {"amd_sev": 509, "amd_sev_es": 99}


def test_a_broken_count_of_encrypted_guests_is_named(machine):
    machine.write(machine.sysfs / "fs" / "cgroup" / "misc.capacity", "sev lots\n")

    with pytest.raises(HostFactsError, match=r"misc\.capacity: invalid literal"):
        read_encryption_slots(machine.sysfs)


def test_what_can_not_even_be_looked_for_is_named():
    with pytest.raises(HostFactsError, match=r"misc\.capacity: File name too long"):
        read_encryption_slots("x" * 5000)


def test_a_kernel_that_counts_none_has_none(machine):
    assert read_encryption_slots(machine.sysfs) == {}

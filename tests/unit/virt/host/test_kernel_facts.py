import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.virt.host.machines import (
    ARM_CPUINFO,
    LOONGARCH_CPUINFO,
    POWER_CPUINFO,
    RISCV_CPUINFO,
    S390X_CPUINFO,
    SPARC_CPUINFO,
    Machine,
    cpuinfo,
    two_sockets,
)
from virt.host.kernel_facts import KernelFacts, Memory, parse_cpu_list, parse_cpuinfo
from virt.node.disk import disk_space
from virt.node.facts import HostFactsError, NumaNode, Processor


def facts_of(machine):
    return KernelFacts(*machine.roots)


# Processor lists


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3\n", {0, 1, 2, 3}),
        ("0\n", {0}),
        ("0-1,4,6-7\n", {0, 1, 4, 6, 7}),
        ("\n", set()),
        ("", set()),
    ],
)
def test_a_cpu_list_is_read_as_the_kernel_writes_it(text, cpus):
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    "text", ["x", "3-1", "1,,2", "1-", "-1", "0-3 5", "0x1f", "0-99999999999", "1-2-3"]
)
def test_garbage_is_no_cpu_list(text):
    with pytest.raises(ValueError, match="is"):
        parse_cpu_list(text)


@given(st.sets(st.integers(0, 200)))
def test_a_cpu_list_of_single_numbers_gives_these_numbers(cpus):
    assert parse_cpu_list(",".join(map(str, cpus))) == cpus


# Processors, memory, disk


def test_offline_processors_do_not_count(tmp_path):
    machine = Machine(tmp_path, online="0-1,4", nodes={0: ("0-3", 4096), 1: ("4-7", 4096)})

    facts = facts_of(machine)

    assert facts.online_cpus() == {0, 1, 4}
    assert [node.cpus for node in facts.numa_nodes()] == [{0, 1}, {4}]


def test_memory_is_in_mib(tmp_path):
    machine = Machine(tmp_path, memory_mb=16384)

    assert facts_of(machine).memory() == Memory(total_mb=16384, available_mb=8192)


def test_without_memavailable_free_memory_is_available(tmp_path):
    machine = Machine(tmp_path)
    machine.write(machine.procfs / "meminfo", "MemTotal:  2048 kB\nMemFree:  1024 kB\n")

    assert facts_of(machine).memory() == Memory(total_mb=2, available_mb=1)


def test_disk_is_that_of_the_file_system(tmp_path):
    found = os.statvfs(tmp_path)

    assert disk_space(tmp_path).total_gb == found.f_blocks * found.f_frsize // 1024**3


def test_a_directory_still_to_be_made_counts_as_where_it_will_be(tmp_path):
    assert disk_space(tmp_path / "not" / "yet").total_gb == disk_space(tmp_path).total_gb


def test_a_path_that_can_not_be_looked_at_is_refused(tmp_path):
    path = tmp_path / ("name too long" * 100)

    with pytest.raises(HostFactsError, match="File name too long") as caught:
        disk_space(path)

    assert caught.value.what == str(path)


# NUMA nodes


def test_two_sockets_are_two_nodes(tmp_path):
    assert facts_of(two_sockets(tmp_path)).numa_nodes() == [
        NumaNode(0, frozenset({0, 1, 2, 3}), 8192),
        NumaNode(1, frozenset({4, 5, 6, 7}), 8192),
    ]


def test_node_numbers_may_have_gaps_and_count_by_value(tmp_path):
    machine = Machine(tmp_path, nodes={10: ("4-7", 8192), 2: ("0-3", 8192)})

    assert [node.id for node in facts_of(machine).numa_nodes()] == [2, 10]


def test_nodes_may_lack_memory_or_processors(tmp_path):
    machine = Machine(tmp_path, nodes={0: ("0-7", 0), 1: ("", 16384)})

    assert facts_of(machine).numa_nodes() == [
        NumaNode(0, frozenset(range(8)), 0),
        NumaNode(1, frozenset(), 16384),
    ]


def test_a_machine_without_node_directories_is_one_node_with_everything(tmp_path):
    machine = Machine(tmp_path, online="0-3", memory_mb=4096)

    assert facts_of(machine).numa_nodes() == [NumaNode(0, frozenset({0, 1, 2, 3}), 4096)]


def test_a_node_directory_without_nodes_is_one_node_with_everything(tmp_path):
    machine = Machine(tmp_path, online="0-3", memory_mb=4096)
    machine.write(machine.system / "node" / "possible", "0\n")

    assert [node.memory_mb for node in facts_of(machine).numa_nodes()] == [4096]


def test_memory_no_node_claims_counts_with_the_first(tmp_path):
    machine = Machine(tmp_path, memory_mb=64000, nodes={0: ("0-3", 8192), 1: ("4-7", 4096)})

    assert [node.memory_mb for node in facts_of(machine).numa_nodes()] == [59904, 4096]


def test_a_nodes_memory_is_its_own_even_if_the_machine_is_said_to_have_less(tmp_path):
    machine = Machine(tmp_path, memory_mb=1024, nodes={0: ("0-3", 8192), 1: ("4-7", 4096)})

    assert [node.memory_mb for node in facts_of(machine).numa_nodes()] == [8192, 4096]


def test_processors_no_node_claims_count_with_the_first(tmp_path):
    machine = Machine(tmp_path, online="0-7", nodes={0: ("0-2", 1024), 1: ("4-6", 1024)})

    assert [sorted(node.cpus) for node in facts_of(machine).numa_nodes()] == [
        [0, 1, 2, 3, 7],
        [4, 5, 6],
    ]


def test_a_processor_two_nodes_claim_counts_once(tmp_path):
    machine = Machine(tmp_path, online="0-3", nodes={0: ("0-2", 1024), 1: ("2-3", 1024)})

    assert [sorted(node.cpus) for node in facts_of(machine).numa_nodes()] == [[0, 1, 2], [3]]


# Processor kinds


def test_features_are_those_all_processors_have():
    text = cpuinfo(1, features="fpu sse avx") + "\n" + cpuinfo(1, features="fpu sse")

    assert parse_cpuinfo(text).features == {"fpu", "sse"}


def test_arm_processors_have_features_too():
    processor = parse_cpuinfo(ARM_CPUINFO)

    assert ("asimd" in processor.features, processor.vendor) == (True, "0x41")


@pytest.mark.parametrize(
    ("text", "vendor", "threads"),
    [
        (S390X_CPUINFO, "IBM/S390", 2),
        (POWER_CPUINFO, "", 1),
        (RISCV_CPUINFO, "", 1),
        (LOONGARCH_CPUINFO, "", 1),
        (SPARC_CPUINFO, "", 1),
    ],
    ids=["s390x", "power", "riscv", "loongarch", "sparc"],
)
def test_processors_of_other_architectures_have_no_features(text, vendor, threads):
    assert parse_cpuinfo(text) == Processor(vendor, "", frozenset(), threads)


def test_threads_per_core_come_from_siblings_and_cores():
    assert parse_cpuinfo(cpuinfo(2)).threads_per_core == 2


@pytest.mark.parametrize(("active", "expected"), [("1\n", True), ("0\n", False)])
def test_the_kernel_has_the_last_word_on_hyperthreading(tmp_path, active, expected):
    machine = Machine(tmp_path)
    machine.write(machine.system / "cpu" / "smt" / "active", active)

    assert facts_of(machine).hyperthreading() is expected


def test_without_the_kernels_word_threads_per_core_tell(tmp_path):
    assert facts_of(Machine(tmp_path)).hyperthreading() is True


# What can't be read


@pytest.mark.parametrize(
    ("file", "garbage", "ask"),
    [
        ("sys/devices/system/cpu/online", "zero to seven", KernelFacts.online_cpus),
        ("sys/devices/system/cpu/online", "", KernelFacts.online_cpus),
        ("sys/devices/system/cpu/smt/active", "perhaps", KernelFacts.hyperthreading),
        ("sys/devices/system/node/node1/cpulist", "4-7;", KernelFacts.numa_nodes),
        ("sys/devices/system/node/node1/meminfo", "lots", KernelFacts.numa_nodes),
        ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: -5 kB", KernelFacts.numa_nodes),
        ("proc/meminfo", "MemFree: 5 kB\n", KernelFacts.memory),
        ("proc/meminfo", "MemTotal: 5 kB\n", KernelFacts.memory),
        ("proc/cpuinfo", "", KernelFacts.processor),
        ("proc/cpuinfo", "processor: 0\nsiblings: many\n", KernelFacts.processor),
    ],
)
def test_garbage_is_refused_with_the_files_path(tmp_path, file, garbage, ask):
    machine = two_sockets(tmp_path)
    machine.write(tmp_path / file, garbage)

    with pytest.raises(HostFactsError) as caught:
        ask(facts_of(machine))

    assert caught.value.what == str(tmp_path / file)
    assert str(caught.value).startswith(str(tmp_path / file))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    machine = Machine(tmp_path)
    (machine.procfs / "meminfo").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(HostFactsError, match="meminfo"):
        facts_of(machine).memory()


def test_what_can_not_even_be_looked_for_is_named():
    with pytest.raises(HostFactsError, match="smt/active: File name too long"):
        KernelFacts("x" * 5000).hyperthreading()


@pytest.mark.parametrize(
    ("file", "ask"),
    [
        ("sys/devices/system/cpu/online", KernelFacts.online_cpus),
        ("sys/devices/system/node/node0/meminfo", KernelFacts.numa_nodes),
        ("sys/devices/system/node/node0/cpulist", KernelFacts.numa_nodes),
        ("proc/meminfo", KernelFacts.memory),
        ("proc/cpuinfo", KernelFacts.processor),
    ],
)
def test_a_missing_file_is_named(tmp_path, file, ask):
    machine = two_sockets(tmp_path)
    (tmp_path / file).unlink()

    with pytest.raises(HostFactsError, match="No such file") as caught:
        ask(facts_of(machine))

    assert caught.value.what == str(tmp_path / file)


def test_a_file_where_the_node_directory_should_be_is_refused(tmp_path):
    machine = Machine(tmp_path)
    machine.write(machine.system / "node", "what?")

    with pytest.raises(HostFactsError, match="Not a directory"):
        facts_of(machine).numa_nodes()


def test_the_machine_the_tests_run_on_can_be_read():
    facts = KernelFacts()

    nodes = facts.numa_nodes()

    assert sum(len(node.cpus) for node in nodes) == len(facts.online_cpus())
    assert facts.memory().total_mb > 0

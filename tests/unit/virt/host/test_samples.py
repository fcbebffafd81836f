import json

from virt.host.__main__ import main
from virt.host.kernel_facts import KernelFacts, Memory
from virt.host.samples import two_socket
from virt.node.facts import NumaNode


def test_the_sample_machine_has_two_sockets_of_sixteen_processors_and_32_gib():
    facts = KernelFacts(*two_socket())

    assert facts.numa_nodes() == [
        NumaNode(0, frozenset([*range(8), *range(16, 24)]), 32768),
        NumaNode(1, frozenset([*range(8, 16), *range(24, 32)]), 32768),
    ]
    assert facts.memory() == Memory(total_mb=65536, available_mb=61928)


def test_the_sample_machines_processors_are_known():
    facts = KernelFacts(*two_socket())

    assert (facts.processor().vendor, facts.hyperthreading()) == ("GenuineIntel", True)
    assert "avx512f" in facts.processor().features


def test_the_program_shows_the_nodes_of_a_sample_and_where_its_files_are(capsys):
    code = main(["--sample", "two-socket"])

    shown = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (shown["sysfs_root"], shown["procfs_root"]) == two_socket()
    assert [(node["id"], len(node["cpus"]), node["memory_mb"]) for node in shown["numa_nodes"]] == [
        (0, 16, 32768),
        (1, 16, 32768),
    ]


def test_the_program_shows_this_machine(capsys):
    code = main([])

    shown = json.loads(capsys.readouterr().out)
    assert (code, shown["sysfs_root"], shown["procfs_root"]) == (0, "/sys", "/proc")
    assert shown["numa_nodes"]

"""What Linux says about this machine, read from sysfs and procfs.

Everything is read anew at each call: processors and memory come and go at run time. The two root
directories are given, so that the same code reads a tree of files laid out by hand.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from virt.node.cpu_sets import cpu_range
from virt.node.facts import NumaNode, Processor
from virt.node.host_files import entries, parsed, parsed_if_there, whole_number

_NODE_DIRECTORY = re.compile(r"node(\d+)")
_HUGEPAGES = re.compile(r"hugepages-(\d+)kB")
# The beginning of a line of /proc/cpuinfo that is about a processor, on any architecture.
_PROCESSOR = re.compile(r"(# processors|processor( \d+)?|cpu|cpus detected|cpu number)\s*:", re.I)
_RANGE = re.compile(r"\d+(-\d+)?")
_KIB_IN_MIB = 1024


@dataclass(frozen=True)
class Memory:
    """The machine's memory, in MiB."""

    total_mb: int
    available_mb: int


class KernelFacts:
    """Reads one machine below `sysfs_root` and `procfs_root`.

    Every method raises HostFactsError, naming the file, if a file is unreadable or malformed.
    """

    def __init__(
        self,
        sysfs_root: str | os.PathLike[str] = "/sys",
        procfs_root: str | os.PathLike[str] = "/proc",
    ) -> None:
        self.sysfs_root = Path(sysfs_root)
        self._system = self.sysfs_root / "devices" / "system"
        self._procfs = Path(procfs_root)

    def online_cpus(self) -> frozenset[int]:
        """Return the numbers of the processors that are online."""
        return parsed(self._system / "cpu" / "online", _some_cpus)

    def offline_cpus(self) -> frozenset[int]:
        """Return the numbers of the processors that are there, but not online."""
        present = parsed_if_there(self._system / "cpu" / "present", parse_cpu_list)
        return frozenset() if present is None else present - self.online_cpus()

    def memory(self) -> Memory:
        """Return the machine's memory as /proc/meminfo has it."""
        return parsed(self._procfs / "meminfo", _memory)

    def numa_nodes(self) -> list[NumaNode]:
        """Return the NUMA nodes in the order of their numbers.

        Numbers may have gaps, and nodes may lack processors, memory or both. A machine without
        node directories (many containers and guests) counts as one node that holds everything.
        Processors and memory that belong to no node are counted with the first one, so that the
        nodes never hold less than the machine. For example, memory that was plugged in while the
        machine runs may be missing from its node's MemTotal. In a container that limits
        /proc/meminfo, the nodes may hold more than memory() says.
        """
        online = self.online_cpus()
        directories = self._node_directories()
        if not directories:
            pages = _hugepages(self.sysfs_root / "kernel" / "mm" / "hugepages")
            return [NumaNode(0, online, self.memory().total_mb, pages)]
        nodes = {}
        unclaimed = online
        for number, directory in directories:
            listed = parsed(directory / "cpulist", parse_cpu_list)
            cpus = listed & unclaimed
            unclaimed -= cpus
            memory_mb = parsed(directory / "meminfo", _node_memory_mb)
            pages = _hugepages(directory / "hugepages")
            nodes[number] = NumaNode(number, cpus, memory_mb, pages, listed - online)
        claimed_mb = sum(node.memory_mb for node in nodes.values())
        unclaimed_mb = max(0, self.memory().total_mb - claimed_mb)
        first = nodes[directories[0][0]]
        nodes[first.id] = replace(
            first, cpus=first.cpus | unclaimed, memory_mb=first.memory_mb + unclaimed_mb
        )
        return list(nodes.values())

    def processor(self) -> Processor:
        """Return what kind of processors there are."""
        return parsed(self._procfs / "cpuinfo", parse_cpuinfo)

    def hyperthreading(self) -> bool:
        """Say whether the cores run several threads each, as the kernel says where it does."""
        active = self._system / "cpu" / "smt" / "active"
        is_active = parsed_if_there(active, _flag)
        return self.processor().threads_per_core > 1 if is_active is None else is_active

    def _node_directories(self) -> list[tuple[int, Path]]:
        found = entries(self._system / "node")
        matches = ((_NODE_DIRECTORY.fullmatch(entry.name), entry) for entry in found)
        return sorted((int(match[1]), entry) for match, entry in matches if match)


def _hugepages(directory: Path) -> dict[int, int]:
    """Return size in KiB → number of pages, for the sizes there are pages of."""
    found = entries(directory)
    sizes = {int(match[1]): one for one in found if (match := _HUGEPAGES.fullmatch(one.name))}
    counts = {size: parsed(sizes[size] / "nr_hugepages", whole_number) for size in sorted(sizes)}
    return {size: count for size, count in counts.items() if count}


def parse_cpu_list(text: str) -> frozenset[int]:
    """Read the kernel's list format, `0-3,8,10-11`; nothing at all is the empty set.

    Raises ValueError if the text is anything else.
    """
    cpus: set[int] = set()
    for part in text.strip().split(",") if text.strip() else ():
        if not _RANGE.fullmatch(part):
            raise ValueError(f"{part!r} is not a processor number or range")
        cpus.update(cpu_range(part))
    return frozenset(cpus)


def parse_cpuinfo(text: str) -> Processor:
    """Read /proc/cpuinfo as x86 (`flags`) and ARM (`Features`) kernels write it.

    The files of other architectures give a Processor without features, because their words mean
    something else. They may lack a block for each processor, or call it otherwise: s390x has a line
    `# processors`, then `processor 0`, then blocks with a `cpu number`. Raises ValueError if the
    file names no processor, or has something else where a number belongs.
    """
    blocks = [block for block in map(_cpuinfo_block, text.split("\n\n")) if block]
    named = [block for block in blocks if "processor" in block]
    if not named and not any(map(_PROCESSOR.match, text.splitlines())):
        raise ValueError("names no processor")
    features = [_features(block) for block in named] or [set()]
    siblings, cores = (int(_first(blocks, key, "1")) for key in ("siblings", "cpu cores"))
    return Processor(
        vendor=_first(blocks, "vendor_id", _first(blocks, "CPU implementer", "")),
        model=_first(blocks, "model name", ""),
        features=frozenset(set.intersection(*features)),
        threads_per_core=max(1, siblings // max(1, cores)),
    )


def _features(block: Mapping[str, str]) -> set[str]:
    """Return what an x86 or ARM kernel says of one processor."""
    arm = block.get("Features", "") if "CPU implementer" in block else ""
    return set(block.get("flags", arm).split())


def _first(blocks: Sequence[Mapping[str, str]], key: str, otherwise: str) -> str:
    return next((block[key] for block in blocks if key in block), otherwise)


def _cpuinfo_block(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def _some_cpus(text: str) -> frozenset[int]:
    cpus = parse_cpu_list(text)
    if not cpus:
        raise ValueError("lists no processor")
    return cpus


def _flag(text: str) -> bool:
    if text.strip() not in ("0", "1"):
        raise ValueError(f"{text.strip()!r} is neither 0 nor 1")
    return text.strip() == "1"


def _memory(text: str) -> Memory:
    total = _field_mb(text, "MemTotal")
    try:
        available = _field_mb(text, "MemAvailable")
    except ValueError:  # kernels before 3.14, and some that fake the file
        available = _field_mb(text, "MemFree")
    return Memory(total_mb=total, available_mb=available)


def _node_memory_mb(text: str) -> int:
    return _field_mb(text, "MemTotal")


def _field_mb(text: str, field: str) -> int:
    """Return a field of a meminfo file in MiB, rounded down; per-node files say `Node 0` first."""
    match = re.search(rf"^(?:Node \d+ )?{field}:\s+(\d+) kB$", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"has no line `{field}: <number> kB`")
    return int(match[1]) // _KIB_IN_MIB

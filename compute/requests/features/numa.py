"""Which NUMA topologies of guests nova refuses. Placement isn't asked about them."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

from compute.requests.features.memory import namespaces
from compute.requests.reading import masks
from compute.requests.reading.asked import Asked
from compute.requests.reading.image import MOST_CELLS, cell_value
from compute.requests.reading.refusal import Refused, odds

_PAGES = "hw:mem_page_size"
_SIZES = frozenset({"any", "large", "small"})
_BYTES = re.compile(r"[-+]?\d*\.?\d+(?:[KMGTPEZYRQ]i?)?(?:b|bit|B)")
_NODES = re.compile(r"[1-9][0-9]*")


def check_numa(asked: Asked, dedicated: bool) -> None:
    """Raise Refused if the guest's NUMA nodes, pages or locked memory make no sense.

    :param dedicated: the guest has processors of its own
    """
    pages = _page_size(asked)
    if asked.switch("locked_memory") and pages is None:
        raise Refused(f"Locked memory asks for {_PAGES}.")
    if has_cells(asked, dedicated):
        _check_cells(asked, _nodes(asked) or 1)


def has_cells(asked: Asked, dedicated: bool) -> bool:
    """Say whether nova gives the guest NUMA cells; raise Refused for a value that is none.

    :param dedicated: the guest has processors of its own
    """
    pages = _page_size(asked)
    nodes = _nodes(asked)
    return bool(nodes or pages not in (None, 0) or dedicated or namespaces(asked.specs))


def _page_size(asked: Asked) -> str | int | None:
    ours, theirs = asked.both("mem_page_size")
    if theirs and not ours:
        raise Refused(f"hw_mem_page_size={theirs} of the image asks for {_PAGES} of the flavor.")
    if not ours:
        return None
    size = _size(_PAGES, ours)
    if not theirs:
        return size
    if size not in ("any", "large"):
        raise odds(_PAGES, ours, "hw_mem_page_size", theirs)
    return _size("hw_mem_page_size", theirs)


def _size(name: str, text: str) -> str | int:
    if text in _SIZES:
        return text
    if text.isdecimal():
        return int(text)
    if _BYTES.fullmatch(text):
        return text
    raise Refused(f"{name}={text} must be any, large, small, KiB, or a size such as 2MB.")


def _nodes(asked: Asked) -> int:
    ours, theirs = asked.both("numa_nodes")
    if ours and theirs:
        raise odds("hw:numa_nodes", ours, "hw_numa_nodes", theirs)
    if ours and not _NODES.fullmatch(ours):
        raise Refused(f"hw:numa_nodes={ours} must be a number from 1.")
    if not ours and theirs is not None and theirs < 1:
        raise Refused(f"hw_numa_nodes={theirs} must be a number from 1.")
    return int(ours) if ours else theirs or 0


def _check_cells(asked: Asked, nodes: int) -> None:
    processors, memory = _given(asked, "numa_cpus"), _given(asked, "numa_mem")
    vcpus, memory_mb = asked.flavor.vcpus, asked.flavor.memory_mb
    if not processors and not memory:
        if vcpus % nodes or memory_mb % nodes:
            raise Refused(f"{vcpus} processors and {memory_mb} MB aren't even on {nodes} nodes.")
        return
    if {len(processors), len(memory)} != {nodes}:
        raise Refused(f"hw:numa_cpus and hw:numa_mem must be given for {nodes} NUMA nodes each.")
    ranges = sorted(pair for cell in processors for pair in cell)
    if ranges and ranges[-1][1] >= vcpus:
        raise Refused(f"hw:numa_cpus names processors beyond the flavor's {vcpus}.")
    if any(one[1] >= other[0] for one, other in itertools.pairwise(ranges)):
        raise Refused("hw:numa_cpus gives a processor to two NUMA nodes.")
    if masks.count(ranges) != vcpus:
        raise Refused(f"hw:numa_cpus must name all {vcpus} processors of the flavor.")
    if sum(memory) != memory_mb:
        raise Refused(f"hw:numa_mem must be {memory_mb} MB in sum, as the flavor's memory.")


def _given(asked: Asked, name: str) -> Sequence[Any]:
    """Return what is given for each NUMA node, as far as it's given in a row."""
    values = []
    for cell in range(MOST_CELLS):
        key = f"hw:{name}.{cell}"
        if key not in asked.specs:
            break
        values.append(cell_value(name, key, asked.specs[key]))
    theirs = asked.image.cells.get(name, ())
    if values and theirs:
        raise Refused(f"hw:{name} of the flavor and hw_{name} of the image exclude each other.")
    return values or theirs

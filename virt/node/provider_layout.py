"""Which providers a host should have, with which inventory (compute.md §6.5, §6.6, §6.8)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from oslo_config import cfg

from compute import exceptions
from compute.provider_tree.cells import cell_name
from virt.inventory import Inventory, cell_inventories, hugepages_class, record
from virt.node.cpu_sets import DEDICATED, CpuSets, listed
from virt.node.facts import HostFacts, NumaNode
from virt.node.kept_pages import KeptPages
from virt.reshape import numa
from virt.sriov import PhysicalFunction

#: Name of a provider → ratio of VCPU, MEMORY_MB and DISK_GB there.
Ratios = Callable[[str], Mapping[str, float]]

#: the ratio of what can't be overcommitted
FIXED_RATIO = 1.0

_RESERVED_BY = {
    "VCPU": "reserved_host_cpus",
    "MEMORY_MB": "reserved_host_memory_mb",
    "DISK_GB": "reserved_host_disk_mb",
}

_IMAGE_CACHE = "[workarounds]reserve_disk_resource_for_image_cache"


@dataclass(frozen=True)
class Layout:
    """The root's inventory, and the cells below it; there are none on a flat host."""

    root: Inventory
    cells: Sequence[numa.CellProvider]


def reserved_amounts(
    conf: cfg.ConfigOpts, totals: Mapping[str, int], disk_gb: int
) -> dict[str, int]:
    """Return class → what the host keeps of it; `disk_gb` is what it keeps of the disk.

    Raises InvalidConfiguration if that is more than there is: Placement would refuse it.
    """
    amounts = {
        "VCPU": conf.reserved_host_cpus,
        "MEMORY_MB": conf.reserved_host_memory_mb,
        "DISK_GB": disk_gb,
    }
    for name, amount in amounts.items():
        if totals.get(name) and amount > totals[name]:
            who = f"{_RESERVED_BY[name]} keeps"
            if name == "DISK_GB" and conf.workarounds.reserve_disk_resource_for_image_cache:
                who = f"{_RESERVED_BY[name]} and {_IMAGE_CACHE} keep"
            raise exceptions.InvalidConfiguration(
                f"{who} {amount} {name} for the host, which has only {totals[name]}."
            )
    return amounts


@dataclass(frozen=True)
class LayoutInput:
    """What a layout is made of.

    `reserved` is class → what the whole host keeps of it; `disk_gb` is 0 where the root has none.
    """

    name: str
    facts: HostFacts
    cpus: CpuSets
    reserved: Mapping[str, int]
    ratios: Ratios
    disk_gb: int
    kept_pages: KeptPages = field(default_factory=dict)

    def pages_kept_of(self, cells: Sequence[NumaNode]) -> dict[str, int]:
        """Return class → how many huge pages of the cells the host keeps; all, if it has fewer."""
        kept: Counter[str] = Counter()
        for cell in cells:
            for size, pages in cell.hugepages.items():
                kept[hugepages_class(size)] += min(pages, self.kept_pages.get((cell.id, size), 0))
        return dict(kept)


def flat(node: LayoutInput) -> Layout:
    """Put everything on the root; classes that the host has nothing of are left out."""
    totals = {
        "MEMORY_MB": node.facts.memory_mb,
        "VCPU": len(node.cpus.shared),
        "PCPU": len(node.cpus.dedicated),
        "DISK_GB": node.disk_gb,
        **hugepages(node.facts),
    }
    reserved = {**node.reserved, **node.pages_kept_of(node.facts.cells)}
    return Layout(_inventory(totals, reserved, node.ratios(node.name)), [])


def modelled(node: LayoutInput) -> Layout:
    """Put processors and memory on cells; cells without either are left out.

    Raises InvalidConfiguration if nobody knows of which cell a dedicated processor is.
    """
    facts, cpus = node.facts, node.cpus
    lost = cpus.dedicated.difference(*(cell.cpus | cell.offline for cell in facts.cells))
    if lost:
        raise exceptions.InvalidConfiguration(
            f"{DEDICATED} has {listed(lost)}, which are offline, and this host doesn't tell of "
            "which NUMA cell they are: [berth]numa_in_placement needs them online."
        )
    names = [cell_name(node.name, cell.id) for cell in facts.cells]
    totals = [
        {
            "MEMORY_MB": cell.memory_mb,
            "VCPU": len(cell.cpus & cpus.shared),
            "PCPU": len((cell.cpus | cell.offline) & cpus.dedicated),
            **{hugepages_class(size): pages for size, pages in cell.hugepages.items()},
        }
        for cell in facts.cells
    ]
    fixed = dict.fromkeys(["PCPU", *hugepages(facts)], FIXED_RATIO)
    ratios = [{**node.ratios(name), **fixed} for name in names]
    cells = [
        numa.CellProvider(name, node.name, inventory)
        for name, inventory in zip(
            names, cell_inventories(totals, node.reserved, ratios), strict=True
        )
        if inventory
    ]
    for name, cell in zip(names, facts.cells, strict=True):
        kept = node.pages_kept_of([cell])
        for own in (one.inventory for one in cells if one.name == name):
            for pages in kept.keys() & own:
                own[pages]["reserved"] = kept[pages]
    root = _inventory({"DISK_GB": node.disk_gb}, node.reserved, node.ratios(node.name))
    return Layout(root, cells)


def described(node: LayoutInput) -> Layout:
    """Leave processors and memory on the root, and describe them on cells by custom classes.

    See compute.md §6.6.
    """
    facts = node.facts
    pages = hugepages(facts)
    root = {name: one for name, one in flat(node).root.items() if name not in pages}
    threads = max(1, facts.processor.threads_per_core)
    cells = []
    for cell in facts.cells:
        cpus = cell.cpus | (cell.offline & node.cpus.dedicated)
        totals = {
            "NUMA_CORE": -(-len(cpus) // threads),
            "NUMA_THREAD": len(cpus),
            "NUMA_MEMORY_MB": cell.memory_mb,
            **{hugepages_class(size): count for size, count in cell.hugepages.items()},
        }
        if inventory := _inventory(totals, node.pages_kept_of([cell]), {}):
            cells.append(numa.CellProvider(cell_name(node.name, cell.id), node.name, inventory))
    return Layout(root, cells)


def hugepages(facts: HostFacts) -> dict[str, int]:
    """Return class → how many huge pages of that size the whole host has."""
    pages: Counter[str] = Counter()
    for cell in facts.cells:
        pages.update({hugepages_class(size): count for size, count in cell.hugepages.items()})
    return dict(pages)


def card_parents(
    nodename: str, functions: Sequence[PhysicalFunction], cells: Sequence[numa.CellProvider]
) -> dict[str, str]:
    """Return card → name of the provider it should be below.

    A card whose cell isn't known, or isn't modelled, is below the root.
    """
    modelled_cells = {cell.name for cell in cells}
    names = {one.name: cell_name(nodename, one.numa_node or 0) for one in functions}
    return {
        one.name: names[one.name]
        if one.numa_node is not None and names[one.name] in modelled_cells
        else nodename
        for one in functions
    }


def _inventory(
    totals: Mapping[str, int], reserved: Mapping[str, int], ratios: Mapping[str, float]
) -> Inventory:
    return {
        name: record(total, reserved.get(name, 0), ratios.get(name, FIXED_RATIO))
        for name, total in totals.items()
        if total
    }

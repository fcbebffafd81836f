"""Where guests are on the host: on which cells, on which cards, with which mediated devices."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from virt.node.facts import Guest, MediatedDevice, NumaNode


def cell_places(
    guest: Guest,
    cells: Sequence[NumaNode],
    amounts: Mapping[str, int],
    dedicated: Collection[int],
) -> dict[int, dict[str, int]]:
    """Return what the guest has on which cell, for the classes of which that is certain.

    :param amounts: class → how much the guest's consumer holds. If it holds VCPU and PCPU, virtual
        processors that have one of the host's to themselves are PCPU
    :param dedicated: processors of the host that a guest can have to itself
    """
    places: dict[int, dict[str, int]] = {}
    for resource_class, cpus in _processors_by_class(guest, amounts, dedicated).items():
        found = [_cell_of(one, cells) for one in cpus]
        counts = Counter(cell for cell in found if cell is not None)
        if cpus and counts.total() == len(cpus):
            for cell, count in counts.items():
                places.setdefault(cell, {})[resource_class] = count
    known_cells = {cell.id for cell in cells}
    if guest.memory_cells and known_cells.issuperset(guest.memory_cells):
        for cell, memory_mb in guest.memory_cells.items():
            if memory_mb:
                places.setdefault(cell, {})["MEMORY_MB"] = memory_mb
    return places


def card_places(guest: Guest, functions: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return card → how many of its virtual functions (`functions`, by address) the guest has."""
    has = set(guest.pci_addresses)
    counts = {card: len(has.intersection(addresses)) for card, addresses in functions.items()}
    return {card: count for card, count in counts.items() if count}


def device_counts(guest: Guest, devices: Sequence[MediatedDevice]) -> dict[str, int]:
    """Return physical device → how many of its mediated devices the guest has."""
    parents = {device.uuid: device.parent for device in devices}
    return dict(Counter(parents[uuid] for uuid in guest.mediated_devices if uuid in parents))


def _processors_by_class(
    guest: Guest, amounts: Mapping[str, int], dedicated: Collection[int]
) -> dict[str, list[frozenset[int]]]:
    """Return VCPU or PCPU → for each virtual processor of the class, where it may run."""
    cpus = list(guest.vcpu_cpus)
    if not amounts.get("PCPU"):
        return {"VCPU": cpus}
    if not amounts.get("VCPU"):
        return {"PCPU": cpus}
    own = guest.own_cpus(dedicated)
    return {
        "VCPU": [one for number, one in enumerate(cpus) if number not in own],
        "PCPU": [one for number, one in enumerate(cpus) if number in own],
    }


def _cell_of(cpus: frozenset[int], cells: Sequence[NumaNode]) -> int | None:
    return next((cell.id for cell in cells if cpus and cpus <= cell.cpus | cell.offline), None)

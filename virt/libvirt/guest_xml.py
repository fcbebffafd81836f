"""Reading libvirt's description of a guest (a domain, as it says)."""

from collections.abc import Callable, Mapping
from xml.etree import ElementTree

from virt.libvirt.device_xml import address_of
from virt.libvirt.xml_reading import MalformedXML, is_whole_number, memory_kib, parse
from virt.node.cpu_sets import parse_cpu_spec
from virt.node.facts import Guest

_MOST_VCPUS = 2**16  # far above what any hypervisor lets a guest have


def parse_guest(
    text: str, name: str, vhosts: Callable[[], Mapping[str, str]] = dict[str, str]
) -> Guest:
    """Read one guest. Raises MalformedXML, naming it, if its description makes no sense.

    :param vhosts: returns path → address of the functions that guests have by vDPA; called if this
        guest has such a path
    """
    what = f"guest {name}"
    domain = parse(text, what)
    uuid = domain.findtext("uuid", "").strip().lower()
    if not uuid:
        raise MalformedXML(what, "has no <uuid>")
    memory = domain.find("memory")
    memory_mb = 0 if memory is None else memory_kib(memory, what) // 1024
    vcpu_cpus, pinned = _vcpu_cpus(domain, what)
    return Guest(
        uuid=uuid,
        name=domain.findtext("name", name),
        vcpu_cpus=tuple(vcpu_cpus),
        pinned_vcpus=frozenset(pinned),
        memory_mb=memory_mb,
        memory_cells=_memory_cells(domain, memory_mb, what),
        mediated_devices=tuple(_mediated_devices(domain)),
        pci_addresses=(*_pci_addresses(domain, what), *_vdpa_addresses(domain, vhosts)),
    )


def _vcpu_cpus(domain: ElementTree.Element, what: str) -> tuple[list[frozenset[int]], list[int]]:
    """Return where each virtual processor may run, and the numbers of those with a pin."""
    vcpu = domain.find("vcpu")
    count = "1" if vcpu is None else (vcpu.text or "").strip()
    if not is_whole_number(count):
        raise MalformedXML(what, f"<vcpu> is not a number: {count!r}")
    if int(count) > _MOST_VCPUS:
        raise MalformedXML(what, f"<vcpu> is {count}; no guest has more than {_MOST_VCPUS}")
    anywhere = None if vcpu is None else vcpu.get("cpuset")
    cpus = [_cpus(anywhere, what)] * int(count)
    pinned = []
    for pin in domain.findall("./cputune/vcpupin"):
        number = pin.get("vcpu", "")
        if not is_whole_number(number):
            raise MalformedXML(what, f"<vcpupin> is for the vcpu {number!r}")
        if int(number) < len(cpus):
            cpus[int(number)] = _cpus(pin.get("cpuset"), what)
            pinned.append(int(number))
    return cpus, pinned


def _memory_cells(domain: ElementTree.Element, memory_mb: int, what: str) -> dict[int, int] | None:
    """Return host cell → MiB of the guest's memory; None if some isn't bound to one cell."""
    sizes = {
        cell.get("id", ""): _guest_cell_mb(cell, what) for cell in domain.findall("./cpu/numa/cell")
    }
    cells: dict[int, int] = {}
    for node in domain.findall("./numatune/memnode"):
        where = _cpus(node.get("nodeset"), what)
        if node.get("mode", "strict") != "strict" or len(where) != 1:
            return None
        (cell,) = where
        cells[cell] = cells.get(cell, 0) + sizes.pop(node.get("cellid", ""), 0)
    if cells:
        return None if sizes else cells
    whole = domain.find("./numatune/memory")
    if whole is None or whole.get("mode", "strict") != "strict":
        return None
    where = _cpus(whole.get("nodeset"), what)
    return {next(iter(where)): memory_mb} if len(where) == 1 else None


def _guest_cell_mb(cell: ElementTree.Element, what: str) -> int:
    amount = ElementTree.Element("memory", unit=cell.get("unit", "KiB"))
    amount.text = cell.get("memory", "")
    return memory_kib(amount, what) // 1024


def _mediated_devices(domain: ElementTree.Element) -> list[str]:
    found = domain.findall("./devices/hostdev[@type='mdev']/source/address")
    return [uuid.lower() for one in found if (uuid := one.get("uuid"))]


def _pci_addresses(domain: ElementTree.Element, what: str) -> list[str]:
    found = [
        *domain.findall("./devices/hostdev[@type='pci']/source/address"),
        *domain.findall("./devices/interface[@type='hostdev']/source/address"),
    ]
    return [address_of(one, what) for one in found]


def _vdpa_addresses(
    domain: ElementTree.Element, vhosts: Callable[[], Mapping[str, str]]
) -> list[str]:
    found = domain.findall("./devices/interface[@type='vdpa']/source")
    known = vhosts() if found else {}
    return [known[path] for one in found if (path := one.get("dev", "")) in known]


def _cpus(text: str | None, what: str) -> frozenset[int]:
    """Read a set of processors; no text is the empty set, which means any processor."""
    if not text:
        return frozenset()
    try:
        return parse_cpu_spec(text)
    except ValueError as error:
        raise MalformedXML(what, str(error)) from error

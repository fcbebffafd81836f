"""Reading libvirt's descriptions of a host: its capabilities, and what its guests can have."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

from virt.libvirt.xml_reading import MalformedXML, is_whole_number, memory_kib, parse
from virt.node.cpu_sets import parse_cpu_spec
from virt.node.facts import NumaNode, Processor

CAPABILITIES = "host capabilities"
DOMAIN_CAPABILITIES = "domain capabilities"

_VENDORS = {"Intel": "GenuineIntel", "AMD": "AuthenticAMD"}

# libvirt's name of a feature → the kernel's, where they differ by more than punctuation.
_KERNEL_NAMES = {
    "pclmuldq": ("pclmulqdq",),
    "avx512vbmi2": ("avx512_vbmi2",),
    "avx512vnni": ("avx512_vnni",),
    "avx512bitalg": ("avx512_bitalg",),
    "spec-ctrl": ("ibrs", "ibpb"),
}

# Element of the domain capabilities, element in it with the number of guests, technology.
_ENCRYPTION = (
    ("sev", "maxGuests", "amd_sev"),
    ("sev", "maxESGuests", "amd_sev_es"),
    ("tdx", None, "intel_tdx"),
)


@dataclass(frozen=True)
class Capabilities:
    """What the host capabilities say; `guest_kinds` are as in HostFacts.

    `cpu` is their XML of the processor, as libvirt takes it.
    """

    architecture: str
    vendor: str
    model: str
    features: frozenset[str]
    hyperthreading: bool
    cells: tuple[NumaNode, ...]
    cpu: str
    guest_kinds: tuple[tuple[str, str, str], ...]


def parse_capabilities(text: str) -> Capabilities:
    """Read the XML of virConnectGetCapabilities. Raises MalformedXML if it makes no sense."""
    found = parse(text, CAPABILITIES)
    cpu = found.find("./host/cpu")
    if cpu is None or not cpu.findtext("arch"):
        raise MalformedXML(CAPABILITIES, "has no <host><cpu><arch>")
    topology = cpu.find("topology")
    siblings = found.findall("./host/topology/cells/cell/cpus/cpu")
    return Capabilities(
        architecture=cpu.findtext("arch", ""),
        vendor=cpu.findtext("vendor", ""),
        model=cpu.findtext("model", ""),
        features=frozenset(one.get("name", "") for one in cpu.findall("feature")),
        hyperthreading=(topology is not None and topology.get("threads", "1") != "1")
        or any(len(_cpus(one.get("siblings", "0"))) > 1 for one in siblings),
        cells=_cells(found),
        cpu=ElementTree.tostring(cpu, encoding="unicode"),
        guest_kinds=tuple(
            (architecture.get("name", ""), domain.get("type", ""), guest.findtext("os_type", ""))
            for guest in found.findall("guest")
            for architecture in guest.findall("arch")
            for domain in architecture.findall("domain")
        ),
    )


def parse_cpu_features(text: str) -> frozenset[str]:
    """Read the features of a processor model that libvirt has written out."""
    found = parse(text, "processor features").findall("feature")
    return frozenset(one.get("name", "") for one in found if one.get("policy") != "disable")


def processor(capabilities: Capabilities, features: Iterable[str]) -> Processor:
    """Describe the processor in the kernel's words, from which its traits follow."""
    translated: set[str] = set()
    for name in features:
        translated.update(_KERNEL_NAMES.get(name, (re.sub(r"[-.]", "_", name),)))
    return Processor(
        vendor=_VENDORS.get(capabilities.vendor, capabilities.vendor),
        model=capabilities.model,
        features=frozenset(translated),
        threads_per_core=2 if capabilities.hyperthreading else 1,
    )


def parse_encryption(text: str) -> dict[str, int | None]:
    """Read from the domain capabilities which technologies can encrypt guests' memory.

    Returns technology → for how many guests at once; None where libvirt doesn't say. SEV-ES and
    SEV-SNP share one number. Raises MalformedXML if the XML makes no sense.
    """
    features = parse(text, DOMAIN_CAPABILITIES).find("features")
    slots = {}
    for element, count, name in _ENCRYPTION:
        found = None if features is None else features.find(element)
        if found is not None and found.get("supported") == "yes":
            slots[name] = _guests(found, count)
    if features is not None and "amd_sev_es" in slots and _can_launch(features, "sev-snp"):
        slots["amd_sev_snp"] = slots["amd_sev_es"]
    return slots


def _can_launch(features: ElementTree.Element, kind: str) -> bool:
    launch = features.find("./launchSecurity[@supported='yes']")
    names = () if launch is None else launch.findall("./enum[@name='sectype']/value")
    return any((one.text or "").strip() == kind for one in names)


def _guests(technology: ElementTree.Element, count: str | None) -> int | None:
    number = None if count is None else technology.findtext(count)
    if number is None:
        return None
    if not is_whole_number(number.strip()):
        raise MalformedXML(DOMAIN_CAPABILITIES, f"<{count}> is not a number: {number!r}")
    return int(number)


def _cells(capabilities: ElementTree.Element) -> tuple[NumaNode, ...]:
    cells = capabilities.findall("./host/topology/cells/cell")
    # libvirt describes a processor that is offline by its number alone.
    tell_more = any(cpu.get("siblings") for cell in cells for cpu in cell.findall("./cpus/cpu"))
    found = (_cell(cell, online_only=tell_more) for cell in cells)
    return tuple(sorted(found, key=lambda cell: cell.id))


def _cell(cell: ElementTree.Element, online_only: bool) -> NumaNode:
    number = cell.get("id", "")
    if not is_whole_number(number):
        raise MalformedXML(CAPABILITIES, f"a NUMA cell has the id {number!r}")
    what = f"{CAPABILITIES}, NUMA cell {number}"
    memory = cell.find("memory")
    found = cell.findall("./cpus/cpu")
    wrong = [cpu for one in found if not is_whole_number(cpu := one.get("id", ""))]
    if wrong:
        raise MalformedXML(what, f"a processor has the id {wrong[0]!r}")
    cpus = frozenset(int(one.get("id", "")) for one in found)
    online = frozenset(int(one.get("id", "")) for one in found if one.get("siblings"))
    return NumaNode(
        id=int(number),
        cpus=online if online_only else cpus,
        memory_mb=0 if memory is None else memory_kib(memory, what) // 1024,
        offline=cpus - online if online_only else frozenset(),
    )


def _cpus(text: str) -> frozenset[int]:
    try:
        return parse_cpu_spec(text)
    except ValueError as error:
        raise MalformedXML(CAPABILITIES, f"siblings of a processor: {error}") from error

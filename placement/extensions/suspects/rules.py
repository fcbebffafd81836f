"""The kinds of suspects, the marks of lists, what names of providers say (extensions.md 12)."""

import dataclasses
import re

TWO_ROOTS = "two_roots"
CONSUMER_TYPE_UNKNOWN = "consumer_type_unknown"
OVER_CAPACITY = "over_capacity"
EMPTY_ROOT = "empty_root"
UNTOUCHED = "untouched"
DUPLICATE_DEVICE = "duplicate_device"
BURNED_DEVICE = "burned_device"
ALIKE_NAMES = "alike_names"
#: the closed list, in the order of answers
KINDS = (
    TWO_ROOTS,
    CONSUMER_TYPE_UNKNOWN,
    OVER_CAPACITY,
    EMPTY_ROOT,
    UNTOUCHED,
    DUPLICATE_DEVICE,
    BURNED_DEVICE,
    ALIKE_NAMES,
)

#: the classes of which an instance holds amounts of one host alone
OF_ONE_HOST = ("VCPU", "PCPU", "MEMORY_MB")
INSTANCE, MIGRATION = "INSTANCE", "MIGRATION"
#: the trait of devices that are used once, and are then reserved until they are cleaned
ONE_TIME_USE = "HW_PCI_ONE_TIME_USE"

_HEX = "[0-9a-f]"
#: `host1_0000:81:00.0` of a PCI device, `host1_pci_0000_81_00_0` of a device of libvirt
_ADDRESS = re.compile(
    rf"(?:^|[^0-9a-z])(?:"
    rf"({_HEX}{{4,8}}):({_HEX}{{2}}):({_HEX}{{2}})\.([0-7])"
    rf"|pci_({_HEX}{{4,8}})_({_HEX}{{2}})_({_HEX}{{2}})_([0-7])"
    r")\Z",
    re.IGNORECASE,
)


def pci_address(name: str) -> str | None:
    """Return the PCI address at the end of a provider's name, normalised; None if it has none."""
    found = _ADDRESS.search(name)
    if found is None:
        return None
    domain, bus, device, function = (part.lower() for part in found.groups() if part is not None)
    return f"{domain}:{bus}:{device}.{function}"


def short_name(name: str) -> str:
    """Return the name without its domain, in lower case: `Host1.example.org` is `host1`.

    `10.0.0.1` and `node.1` stay as they are: no top-level domain is a number.
    """
    host, dot, domain = name.strip().rstrip(".").partition(".")
    last = domain.rpartition(".")[2]
    if not dot or not host or not last or last.isdecimal():
        return name.strip().rstrip(".").casefold()
    return host.casefold()


@dataclasses.dataclass(frozen=True, order=True)
class SuspectMark:
    """The place of a suspect in the list, after which the next page begins.

    It counts also if the suspect is gone by then.

    :param rank: of its kind in KINDS
    :param id: database id of a provider or a consumer
    :param class_id: database id of a resource class; 0 without one
    """

    rank: int
    id: int
    class_id: int = 0

    def __str__(self) -> str:
        return f"{KINDS[self.rank]}.{self.id}.{self.class_id}"

    @classmethod
    def parsed(cls, text: str) -> "SuspectMark":
        """Return the mark that `str` wrote. Raises ValueError if the text is no such mark."""
        found = _MARK.fullmatch(text)
        if found is None or found[1] not in KINDS or max(map(int, found.groups()[1:])) > _LAST_ID:
            raise ValueError("this is no marker that the service gave out")
        return cls(KINDS.index(found[1]), int(found[2]), int(found[3]))


_MARK = re.compile(r"([a-z_]{1,32})\.([0-9]{1,10})\.([0-9]{1,10})", re.ASCII)
#: the greatest id that the tables can have
_LAST_ID = 2**31 - 1

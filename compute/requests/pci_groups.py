"""The PCI devices that a flavor asks for, as groups of the request."""

from collections.abc import Iterator, Mapping
from uuid import NAMESPACE_OID, uuid5

from compute.requests.groups import GroupDraft
from compute.requests.reading.refusal import Refused
from compute.requests.reading.values import whole_number
from compute.requests.settings import PciAlias

ALIAS = "pci_passthrough:alias"
#: more than that is no wish
_MOST = 4096


def devices_of(
    specs: Mapping[str, str], aliases: Mapping[str, PciAlias]
) -> list[tuple[str, PciAlias, int]]:
    """Return alias, what it stands for, and how many of it, in the flavor's order; raise Refused.

    An alias may come several times.
    """
    if ALIAS not in specs:
        return []
    found = []
    for part in specs[ALIAS].split(","):
        name, colon, text = part.partition(":")
        count = whole_number(text) if colon else None
        if count is None:
            raise Refused(f"{ALIAS}={specs[ALIAS]} must be names with numbers such as gpu:1,nic:2.")
        if name.strip() not in aliases:
            raise Refused(f"[pci]alias defines no {name.strip()!r}, which {ALIAS} names.")
        found.append((name.strip(), aliases[name.strip()], count))
    if sum(max(count, 0) for _, _, count in found) > _MOST:
        raise Refused(f"{ALIAS}={specs[ALIAS]} asks for more than {_MOST} devices.")
    return found


def groups_of_devices(
    devices: list[tuple[str, PciAlias, int]], owner: frozenset[str]
) -> Iterator[tuple[str, GroupDraft]]:
    """Yield suffix and group of each device. The suffixes are no names of a flavor's groups.

    :param owner: traits that all of them must have
    """
    for position, (name, alias, count) in enumerate(devices):
        prefix = uuid5(NAMESPACE_OID, f"{position} {name}")
        for number in range(count):
            yield (
                f"{prefix}-{number}",
                GroupDraft({alias.resource_class: 1}, {*alias.traits, *owner}),
            )

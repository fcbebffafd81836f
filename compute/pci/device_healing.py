"""Making allocations of PCI devices agree with the devices that guests have (compute.md §6.11)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from compute.pci.tags import ONE_TIME_USE_TRAIT
from compute.provider_tree.allocation_records import Allocations


@dataclass
class DeviceProvider:
    """The provider of a device, or of the virtual functions of a physical function.

    :param former_classes: those that its devices had before, and may still be allocated with
    """

    name: str
    resource_class: str
    traits: frozenset[str]
    addresses: list[str] = field(default_factory=list)
    former_classes: frozenset[str] = frozenset()

    @property
    def classes(self) -> frozenset[str]:
        """The classes that stand for its devices."""
        return self.former_classes | {self.resource_class}

    @property
    def is_for_one_use(self) -> bool:
        """Whether the device is for one guest only."""
        return ONE_TIME_USE_TRAIT in self.traits


@dataclass(frozen=True)
class HealingRules:
    """What may be changed of an allocation, and who is told of the rest.

    :param corrects: says whether a consumer may lose what it holds of a provider and doesn't have
    :param gives: called before a consumer gets an allocation of a provider
    :param tell: called with a sentence on what stays wrong
    """

    corrects: Callable[[str, str], bool] = lambda consumer, provider: True
    gives: Callable[[str, str], None] = lambda consumer, provider: None
    tell: Callable[[str], None] = lambda sentence: None


def heal(
    present: Mapping[str, DeviceProvider],
    room: Mapping[str, int],
    holders: Mapping[str, Collection[str]],
    allocations: Allocations,
    rules: HealingRules,
) -> bool:
    """Give holders what they lack, and take what they don't have if the rules allow that.

    :param present: provider uuid → provider
    :param room: provider uuid → how much may be allocated of it
    :param holders: consumer uuid → addresses of the devices it has
    :param allocations: edited in place
    :return: whether any allocation changed

    A consumer that lacks one device and holds another one instead is changed as a whole, or not at
    all. Allocations of devices that are gone stay until the consumer is gone.
    """
    changed = False
    lacking = []
    listed = {address for one in present.values() for address in one.addresses}
    for consumer, addresses in sorted(holders.items()):
        if consumer not in allocations:
            continue
        amounts = {
            uuid: len(set(addresses).intersection(one.addresses)) for uuid, one in present.items()
        }
        if addresses and not any(amounts.values()):
            continue
        held = {uuid: _amount(allocations, consumer, uuid, one) for uuid, one in present.items()}
        if any(held[uuid] < amount for uuid, amount in amounts.items()):
            lacking.append((consumer, amounts, held))
        elif listed.issuperset(addresses):
            changed |= _lower(present, allocations, consumer, amounts, rules)
    # Somebody else may just have given back what these lack.
    for consumer, amounts, held in lacking:
        wrong = [
            f"holds {present[uuid].name} instead"
            for uuid, amount in amounts.items()
            if held[uuid] > amount and not rules.corrects(consumer, uuid)
        ]
        lacked = {uuid: amount for uuid, amount in amounts.items() if held[uuid] < amount}
        wrong += [
            f"nothing of {present[uuid].name} is free"
            for uuid, amount in lacked.items()
            if amount + _used_by_others(allocations, consumer, uuid, present[uuid]) > room[uuid]
        ]
        if wrong:
            names = ", ".join(present[uuid].name for uuid in lacked)
            rules.tell(f"Consumer {consumer} has devices of {names}, but {', '.join(wrong)}")
            continue
        _lower(present, allocations, consumer, amounts, rules)
        for uuid, amount in lacked.items():
            rules.gives(consumer, uuid)
            _set(allocations, consumer, uuid, present[uuid], amount)
        changed = True
    return changed


def _lower(
    present: Mapping[str, DeviceProvider],
    allocations: Allocations,
    consumer: str,
    amounts: Mapping[str, int],
    rules: HealingRules,
) -> bool:
    """Take from the consumer what is too much, and give a device's amount its class of now."""
    changed = False
    for uuid, amount in amounts.items():
        held = _amount(allocations, consumer, uuid, present[uuid])
        if held > amount and not rules.corrects(consumer, uuid):
            continue
        if held >= amount:
            changed |= _set(allocations, consumer, uuid, present[uuid], amount)
    return changed


def _part(allocations: Allocations, consumer: str, uuid: str) -> dict[str, int]:
    part: dict[str, int] = allocations[consumer]["allocations"].get(uuid, {}).get("resources", {})
    return part


def _amount(allocations: Allocations, consumer: str, uuid: str, provider: DeviceProvider) -> int:
    part = _part(allocations, consumer, uuid)
    return sum(part.get(name, 0) for name in provider.classes)


def _set(
    allocations: Allocations, consumer: str, uuid: str, provider: DeviceProvider, amount: int
) -> bool:
    """Have the consumer hold so many devices of a provider; return whether that is a change.

    What it holds of classes that an operator added stays.
    """
    before = _part(allocations, consumer, uuid)
    part = {name: n for name, n in before.items() if name not in provider.classes}
    if amount:
        part[provider.resource_class] = amount
    if part == before:
        return False
    records = allocations[consumer]["allocations"]
    records.pop(uuid, None)
    if part:
        records[uuid] = {"resources": part}
    return True


def _used_by_others(
    allocations: Allocations, consumer: str, uuid: str, provider: DeviceProvider
) -> int:
    return sum(
        _amount(allocations, other, uuid, provider) for other in allocations if other != consumer
    )

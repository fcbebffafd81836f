"""What the hypervisor knows of the guests behind the consumers of allocations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compute.provider_tree.allocation_records import Allocations, held
from virt.inventory import Inventory
from virt.node.facts import Guest, HostFacts, HostInfo
from virt.node.guest_places import card_places, cell_places, device_counts
from virt.sriov import SRIOV_NET_VF
from virt.virtapi import VirtAPI


class Consumers:
    """Looks guests up by consumer. The hypervisor is asked for them once, when one is needed."""

    def __init__(
        self,
        host_info: HostInfo,
        virtapi: VirtAPI,
        facts: HostFacts,
        dedicated: frozenset[int] = frozenset(),
    ) -> None:
        self._host_info = host_info
        self._virtapi = virtapi
        self.facts = facts
        #: processors of the host that a guest gets to itself
        self.dedicated = dedicated

    @cached_property
    def _guests(self) -> dict[str, Guest]:
        return {guest.uuid: guest for guest in self._host_info.guests()}

    def guest(self, consumer: str) -> Guest | None:
        """Return the guest whose uuid the consumer has."""
        return self._guests.get(consumer)

    def migrating_guest(self, consumer: str) -> Guest | None:
        """Return the guest that is moving away, if the consumer is its migration."""
        instance = self._virtapi.migrating_instance(consumer)
        return None if instance is None else self.guest(instance)

    def has_pinned_guests(self) -> bool:
        """Say whether some guest has processors to itself."""
        return any(guest.is_pinned(self.dedicated) for guest in self._guests.values())

    def is_pinned(self, consumer: str) -> bool:
        """Say whether the consumer is such a guest, or the migration of one."""
        guest = self.guest(consumer) or self.migrating_guest(consumer)
        return guest is not None and guest.is_pinned(self.dedicated)

    def devices(self, consumer: str) -> dict[str, int]:
        """Return physical device → how many of its mediated devices the consumer's guest has."""
        guest = self.guest(consumer)
        return {} if guest is None else device_counts(guest, self.facts.mediated_devices)


@dataclass
class KnownPlaces:
    """Says of a consumer where its guest is, by provider name; for virt.reshape.numa.arrange.

    `present` is name → uuid of the providers in the tree, `wanted` name → inventory of those to be.
    `cell_names` is cell → provider. `cards` is card → addresses of its virtual functions,
    `card_names` card → provider to be, `card_of` provider in the tree → card.
    """

    consumers: Consumers
    allocations: Allocations
    present: Mapping[str, str]
    wanted: Mapping[str, Inventory]
    cell_names: Mapping[int, str]
    cards: Mapping[str, Sequence[str]]
    card_names: Mapping[str, str]
    card_of: Mapping[str, str]

    def __call__(self, consumer: str) -> dict[str, dict[str, int]] | None:
        """Return provider → class → amount, for the classes of which that is known; or None.

        The caller checks that the guest's amounts are those that the consumer holds. In two cases
        they may differ, and are left out if they do: a migration holds what the guest had before it
        was resized, and of some classes only a part moves.
        """
        leaving, staying = self._amounts(consumer)
        places: dict[str, dict[str, int]] = {}
        guest = self.consumers.guest(consumer)
        is_guest = guest is not None
        if guest is None:
            guest = self.consumers.migrating_guest(consumer)
        if guest is not None:
            places = self._of_guest(guest, leaving)
        if moved := self._moved_cards(consumer, leaving):
            for amounts in places.values():
                amounts.pop(SRIOV_NET_VF, None)
            for name, amount in moved.items():
                places.setdefault(name, {})[SRIOV_NET_VF] = amount
        sums: Counter[str] = Counter()
        for amounts in places.values():
            sums.update(amounts)
        doubtful = {
            name
            for name, amount in sums.items()
            if amount != leaving[name] and (name in staying or not is_guest)
        }
        known = {
            place: {name: amount for name, amount in amounts.items() if name not in doubtful}
            for place, amounts in places.items()
        }
        return {place: amounts for place, amounts in known.items() if amounts} or None

    def _amounts(self, consumer: str) -> tuple[Counter[str], set[str]]:
        """Return class → how much has to move, and the classes of which something stays."""
        leaving: Counter[str] = Counter()
        staying: set[str] = set()
        body = self.allocations[consumer]
        for name, uuid in self.present.items():
            for resource_class, amount in (
                body["allocations"].get(uuid, {}).get("resources", {}).items()
            ):
                if resource_class in self.wanted.get(name, {}):
                    staying.add(resource_class)
                else:
                    leaving[resource_class] += amount
        return leaving, staying

    def _of_guest(self, guest: Guest, amounts: Mapping[str, int]) -> dict[str, dict[str, int]]:
        cells = [cell for cell in self.consumers.facts.cells if cell.id in self.cell_names]
        places = {
            self.cell_names[cell]: dict(found)
            for cell, found in cell_places(guest, cells, amounts, self.consumers.dedicated).items()
        }
        for card, count in card_places(guest, self.cards).items():
            places.setdefault(self.card_names[card], {})[SRIOV_NET_VF] = count
        return places

    def _moved_cards(self, consumer: str, leaving: Mapping[str, int]) -> dict[str, int]:
        """Return provider → virtual functions, if all that move just follow their card."""
        body = self.allocations[consumer]
        moved: Counter[str] = Counter()
        for name, card in self.card_of.items():
            amount = held(body, self.present[name], SRIOV_NET_VF)
            if amount and name not in self.wanted:
                moved[self.card_names[card]] += amount
        return dict(moved) if moved.total() == leaving.get(SRIOV_NET_VF, 0) else {}

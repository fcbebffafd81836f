"""A plan in the making: who left, who has a new place, and what is used then."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from placement.candidates.cloud.forest import Forest
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest
from placement.extensions.evacuation.movers import SlotClass, Taken
from placement.extensions.plans.occupants import Occupant
from placement.extensions.plans.relaxed import changed


@dataclasses.dataclass(frozen=True, eq=False)
class Seat:
    """Something that needs a place: a consumer that moves, or one of what room is made for.

    :param holder: who moves; None: it is what room is made for
    :param forest: where it may be; None: anywhere
    """

    request: CandidateRequest
    holder: Occupant | None = None
    forest: Forest | None = None

    def view(self, cloud: Snapshot) -> Snapshot:
        """Return the cloud with those trees alone where it may be."""
        return cloud if self.forest is None else dataclasses.replace(cloud, forest=self.forest)


@dataclasses.dataclass(frozen=True, eq=False)
class Place:
    """A place that was found.

    :param root: the slot of the root of the tree
    """

    root: int
    taken: Taken


@dataclasses.dataclass(frozen=True, eq=False)
class DraftPlan:
    """What was decided so far. A decision gives a new one.

    :param changes: what is used more, or less, than in the cloud
    :param gone: those that left, by uuid
    :param moves: those that have a new place
    :param claims: the places of what room is made for
    """

    cloud: Snapshot
    changes: Mapping[SlotClass, int] = dataclasses.field(default_factory=dict)
    gone: Mapping[str, Occupant] = dataclasses.field(default_factory=dict)
    moves: tuple[tuple[Occupant, Place], ...] = ()
    claims: tuple[Place, ...] = ()

    def without(self, holders: Iterable[Occupant]) -> "DraftPlan":
        """Return the state after consumers left."""
        leaving = list(holders)
        changes = collections.Counter(self.changes)
        for one in leaving:
            changes.subtract(one.held)
        gone = {**self.gone, **{one.uuid: one for one in leaving}}
        return dataclasses.replace(self, changes=changes, gone=gone)

    def seated(self, seat: Seat, place: Place) -> "DraftPlan":
        """Return the state after something got a place."""
        changes = collections.Counter(self.changes)
        changes.update(place.taken)
        if seat.holder is None:
            return dataclasses.replace(self, changes=changes, claims=(*self.claims, place))
        moves = (*self.moves, (seat.holder, place))
        return dataclasses.replace(self, changes=changes, moves=moves)

    def used(self) -> Snapshot:
        """Return the cloud with what is used now."""
        return changed(self.cloud, self.changes)

    def seen_by(self, seat: Seat) -> Snapshot:
        """Return the cloud for the search of a place.

        Who moves may keep what it holds, even of a provider that is over its capacity already;
        but not what room was made of.
        """
        if seat.holder is None:
            return self.used()
        more = dict(self.changes)
        for key, amount in seat.holder.held.items():
            used, capacity = used_and_capacity(self.cloud, key)
            now = used + self.changes.get(key, 0) + amount
            over = min(now, used) - capacity
            if over > 0 and not any(key in claim.taken for claim in self.claims):
                more[key] = self.changes.get(key, 0) - over
        return changed(self.cloud, more)

    def places(self) -> dict[str, int | None]:
        """Return the slot of the root that each of those that left is on now; None: none yet."""
        found: dict[str, int | None] = dict.fromkeys(self.gone)
        found.update((holder.uuid, place.root) for holder, place in self.moves)
        return found

    def amount(self, class_id: int) -> int:
        """Return how much of a class moves."""
        return amount_of(self.gone.values(), class_id)


def amount_of(holders: Iterable[Occupant], class_id: int | None) -> int:
    """Return how much of a class some consumers hold; 0 of None, which is no class."""
    return sum(amount for one in holders for key, amount in one.held.items() if key[1] == class_id)


def used_and_capacity(cloud: Snapshot, key: SlotClass) -> tuple[int, int]:
    """Return what is used of an inventory, and its capacity; (0, 0) if there is none."""
    slot, class_id = key
    column = cloud.column(class_id)
    at = int(column.slots.searchsorted(slot))
    if at >= len(column) or column.slots[at] != slot:
        return 0, 0
    return column.used_at(at), column.capacity(at)


def changes_of(moves: Sequence[tuple[Occupant, Place]]) -> list[dict[SlotClass, int]]:
    """Return what each move takes, and gives back."""
    found = []
    for holder, place in moves:
        keys = {**place.taken, **holder.held}
        change = {key: place.taken.get(key, 0) - holder.held.get(key, 0) for key in keys}
        found.append({key: amount for key, amount in change.items() if amount})
    return found

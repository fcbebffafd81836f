"""In which order moves can be made, and which of them must have ended before others begin.

A move changes what is used: it takes of some inventories and gives back of others. Inventories are
known by any key.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

#: an inventory
Key = TypeVar("Key", bound=Hashable)
#: how many sets of moves that were made already are looked at
_STEPS = 2_000


def in_order(
    changes: Sequence[Mapping[Key, int]],
    free: Mapping[Key, int],
    first: Mapping[int, frozenset[int]],
) -> list[int] | None:
    """Return the numbers of moves in an order in which each fits when its turn comes.

    None if no such order was found. A move that only gives back of an inventory fits, however full
    that is.

    :param changes: what each move takes (above 0) and gives back (below 0)
    :param free: what is free before the first move
    :param first: by move, those that have to be made before it
    """
    everyone = (1 << len(changes)) - 1
    dead: set[int] = set()
    steps = _STEPS

    def fits(number: int, made: int) -> bool:
        if any(not made >> other & 1 for other in first.get(number, ())):
            return False
        return all(
            amount
            <= free[key]
            - sum(other.get(key, 0) for place, other in enumerate(changes) if made >> place & 1)
            for key, amount in changes[number].items()
            if amount > 0
        )

    def rest(made: int) -> list[int] | None:
        nonlocal steps
        if made == everyone:
            return []
        if made in dead:
            return None
        steps -= 1
        if steps < 0:
            return None
        for number in range(len(changes)):
            if not made >> number & 1 and fits(number, made):
                found = rest(made | 1 << number)
                if found is not None:
                    return [number, *found]
        dead.add(made)
        return None

    return rest(0)


def ties(
    changes: Sequence[Mapping[Key, int]],
    free: Mapping[Key, int],
    first: Mapping[int, frozenset[int]],
) -> list[list[int]]:
    """Return for each move which moves must have ended before it begins.

    All others may run beside it, in any order: whatever runs at a time, no inventory is over its
    capacity. What a move takes is counted from its beginning, what it gives back from its end.

    :param changes: in an order in which each fits
    :param first: by move, those that have to end before it, whatever is free
    """
    found: list[set[int]] = []
    before: list[set[int]] = []
    for number, change in enumerate(changes):
        direct = set(first.get(number, ()))
        known = direct.union(*(before[other] for other in direct))
        for key, amount in change.items():
            if amount <= 0:
                continue
            given = {
                other: -changes[other].get(key, 0)
                for other in range(number)
                if changes[other].get(key, 0) < 0
            }
            short = sum(max(other.get(key, 0), 0) for other in changes[: number + 1]) - free[key]
            # the largest first: the fewer are waited for, the more runs side by side
            for other in sorted(given, key=lambda one: (-given[one], one)):
                if sum(given[one] for one in known if one in given) >= short:
                    break
                if other not in known:
                    direct.add(other)
                    known |= {other} | before[other]
        found.append(direct)
        before.append(known)
    # whoever is waited for by one that is waited for needs no mention
    return [
        sorted(one for one in direct if not any(one in before[other] for other in direct - {one}))
        for direct in found
    ]

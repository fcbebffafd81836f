"""The answer about room, as JSON and in a sentence (extensions.rst)."""

from collections.abc import Mapping

from placement.candidates.slots import WholeSlot
from placement.extensions.plans.room import Room
from placement.extensions.plans.terms import Constraints
from placement.extensions.what_if.changed_cloud import Naming
from placement.schemas.json_schema import Json

#: how many moves, and how many types of consumers, a sentence names
_MOST_SAID = 5
_OTHERS = "Nova's own filters were not asked."


def as_json(room: Room, constraints: Constraints, naming: Naming) -> Json:
    """Return the answer.

    :param naming: returns the names of providers by uuid; called once
    """
    uuids = room.cloud.register.uuids
    roots = {root: uuids[WholeSlot(root)] for root in _roots(room)}
    known = naming(list(roots.values()))
    names = {root: known.get(uuid, uuid) for root, uuid in roots.items()}

    def named(root: int) -> Json:
        return {"root": roots[root], "name": names[root]}

    moves = []
    amounts: dict[str, int] = {} if room.wanted.by is None else {room.wanted.by: 0}
    classes = room.cloud.names.classes
    for number, (holder, place) in enumerate(room.plan.moves if room.plan else ()):
        allocations: dict[str, dict[str, int]] = {}
        for (slot, class_id), amount in sorted(place.taken.items()):
            allocations.setdefault(uuids[WholeSlot(slot)], {})[classes[class_id]] = amount
        for (_, class_id), amount in holder.held.items():
            amounts[classes[class_id]] = amounts.get(classes[class_id], 0) + amount
        assert room.plan is not None
        moves.append(
            {
                "consumer": holder.uuid,
                "consumer_type": holder.type_name,
                "project_id": holder.project,
                "from": [named(root) for root in sorted(holder.homes)],
                "to": [named(place.root)],
                "allocations": {uuid: {"resources": held} for uuid, held in allocations.items()},
                "after": list(room.plan.after[number]),
            }
        )
    return {
        "verdict": room.verdict,
        "exact": room.exact,
        "moves": moves,
        "cost": {"moves": len(moves), "amounts": dict(sorted(amounts.items()))},
        "then": {"trees": [named(root) for root in room.trees], "candidates": room.candidates},
        "message": f"{message(room, constraints, names)}{_staying(room.staying)}",
        "tried": {"trees": room.tried},
        "constraints": constraints.count,
    }


def _roots(room: Room) -> list[int]:
    found = dict.fromkeys(room.trees)
    for holder, place in room.plan.moves if room.plan else ():
        found |= dict.fromkeys([*sorted(holder.homes), place.root])
    return list(found)


def message(room: Room, constraints: Constraints, names: Mapping[int, str]) -> str:
    """Return the answer in a few sentences, of stable text.

    :param names: of roots, by slot
    """
    where = _listed([names[root] for root in room.trees])
    if room.verdict == "fits":
        return f"It fits on {where}: nothing has to move."
    if room.verdict == "possible" and room.plan is not None:
        moves = [f"{holder.uuid} to {names[place.root]}" for holder, place in room.plan.moves]
        text = f"{_counted(len(moves))} room on {where}: {_listed(moves)}."
        if not room.exact:
            text += " There may be a cheaper plan."
        if constraints.count:
            text += f" {_noted(constraints.count)}"
        return f"{text} {_OTHERS}"
    if room.short is not None:
        name, wanted, free = room.short
        return (
            f"No moves make room: {name} {wanted} is asked for, and at most {free} is free in all."
        )
    if room.verdict == "impossible":
        # a trait may be missing, for which no move helps
        return (
            "No moves make room: it fits nowhere even without all that may move, or all was tried."
        )
    if room.ended:
        return "The time was over before a plan was found."
    limit = room.wanted.moves
    up_to = "1 move" if limit == 1 else f"{limit} moves"
    if room.least > limit:
        return f"No plan of up to {up_to}, the limit, makes room. A longer one may."
    return f"Plans of up to {up_to} were looked for, and none was found. There may be one."


def _staying(of_types: Mapping[str, int]) -> str:
    """Say who stays because of the type, as whoever asks may expect them to move."""
    if not of_types:
        return ""
    count = sum(of_types.values())
    who = "1 stays because of its" if count == 1 else f"{count} stay because of their"
    most_first = sorted(of_types.items(), key=lambda one: (-one[1], one[0]))
    listed = ", ".join(f"{number} {name}" for name, number in most_first[:_MOST_SAID])
    if more := sum(number for _, number in most_first[_MOST_SAID:]):
        listed += f", {more} of other types"
    return f" Of all consumers, {who} type, which movable.consumer_types may name: {listed}."


def _counted(moves: int) -> str:
    return "1 move makes" if moves == 1 else f"{moves} moves make"


def _noted(constraints: int) -> str:
    if constraints == 1:
        return "1 constraint was taken into account."
    return f"{constraints} constraints were taken into account."


def _listed(texts: list[str]) -> str:
    more = len(texts) - _MOST_SAID
    shown = [*texts[:_MOST_SAID], *([f"{more} more"] if more > 0 else [])]
    return ", ".join(shown)

"""Which guests of the records may move, and what they ask for then, as far as flavors say it."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from compute.maintenance.fitting import wanted_resources
from compute.records.cell_database import CellDatabase
from compute.records.migration import ENDED
from compute.requests.settings import Settings

#: how many queries, and how many consumers in one list, a question to placement may have
MOST_ASKED = 10_000
#: Nova's consumers have no type
_TYPES = ("INSTANCE", "unknown")
#: parameters of a query that have names of classes or traits
_NAMING = ("resources", "required", "root_required")
_NAME = re.compile("[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class MovingGuests:
    """Who may move, and what guests ask for.

    :param requests: the query of each, by uuid
    :param unsaid: how many guests have none: Nova refuses their flavors without their images, or
        asks a second time for hosts that don't report PCPU, or they ask for a class or trait that
        doesn't exist any more. Placement asks for what they hold
    :param too_many: how many have none because there are too many guests
    :param able: the guests that no migration moves
    :param others: the guests that migrations move, and these migrations: they never move
    """

    requests: dict[str, str]
    unsaid: int = 0
    too_many: int = 0
    able: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def movable(self, but: Iterable[str] = ()) -> dict[str, Any]:
        """Return the key `movable` of a question, for moves that Nova can make.

        :param but: none of these
        """
        if len(self.able) <= MOST_ASKED:
            return {"consumer_types": _TYPES, "only": self.able, "except": list(but)}
        # they are too many to name: whoever else has no type counts as a guest
        return self.losable(but)

    def losable(self, but: Iterable[str] = ()) -> dict[str, Any]:
        """Return the key `movable` of a question, for guests that are built again elsewhere.

        Who isn't in the records may be a guest of another cell.

        :param but: none of these
        """
        return {"consumer_types": _TYPES, "except": list(dict.fromkeys([*but, *self.others]))}


def moving_guests(cell: CellDatabase, settings: Settings, names: AbstractSet[str]) -> MovingGuests:
    """Return which guests on hosts may move, and what they ask for then.

    :param names: the classes and traits that exist. Placement would refuse a question in which one
        guest asks for another one
    """
    requests: dict[str, str] = {}
    unsaid = too_many = 0
    migrations = [one for one in cell.migrations.all() if one.status not in ENDED]
    moving = {one.instance_uuid for one in migrations if one.in_progress}
    able: list[str] = []
    for instance in cell.instances.all():
        if not instance.host:
            continue
        if instance.uuid not in moving:
            able.append(instance.uuid)
        if len(requests) >= MOST_ASKED:
            too_many += 1
            continue
        wanted = wanted_resources(
            instance.uuid, instance.flavor, settings, instance.booted_from_volume
        )
        if wanted.refused or wanted.fallback or not _names_of(wanted.query) <= names:
            unsaid += 1
        else:
            requests[instance.uuid] = wanted.query
    others = [*sorted(moving), *(one.uuid for one in migrations)]
    return MovingGuests(requests, unsaid, too_many, able, others)


def _names_of(query: str) -> set[str]:
    """Return the names of classes and traits in a query."""
    pairs = parse_qsl(query)
    return {
        name for key, value in pairs if key.startswith(_NAMING) for name in _NAME.findall(value)
    }

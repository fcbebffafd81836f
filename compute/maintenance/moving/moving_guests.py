"""Which guests of the records may move, and what they ask for then."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from compute.maintenance.moving.guest_queries import GuestQueries, HeldShare
from compute.records.cell_database import CellDatabase
from compute.records.migration import ENDED
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext

#: how many queries, and how many consumers in one list, a question to placement may have
MOST_ASKED = 10_000
#: Nova's consumers have no type
_TYPES = ("INSTANCE", "unknown")


@dataclass
class MovingGuests:
    """Who may move, and what guests ask for.

    :param requests: the query of each, by uuid
    :param unsaid: how many guests have none, because what they ask for isn't certain. Placement
        asks for what they hold
    :param halved: for how many guests nova asks twice, for hosts that report PCPU and for those
        that don't. Their request is for hosts such as theirs
    :param too_many: how many have none because there are too many guests
    :param able: the guests that no migration moves
    :param others: the guests that migrations move, and these migrations: they never move
    """

    requests: dict[str, str] = field(default_factory=dict)
    unsaid: int = 0
    halved: int = 0
    too_many: int = 0
    able: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def movable(self, but: Iterable[str] = ()) -> dict[str, object]:
        """Return the key `movable` of a question, for moves that Nova can make.

        :param but: none of these
        """
        if len(self.able) <= MOST_ASKED:
            return {"consumer_types": _TYPES, "only": self.able, "except": list(but)}
        # they are too many to name: whoever else has no type counts as a guest
        return self.losable(but)

    def losable(self, but: Iterable[str] = ()) -> dict[str, object]:
        """Return the key `movable` of a question, for guests that are built again elsewhere.

        Who isn't in the records may be a guest of another cell.

        :param but: none of these
        """
        return {"consumer_types": _TYPES, "except": list(dict.fromkeys([*but, *self.others]))}


def moving_guests(
    cell: CellDatabase,
    client: SchedulerReportClient,
    context: RequestContext,
    queries: GuestQueries,
    among: Collection[str] | None = None,
) -> MovingGuests:
    """Return which guests on hosts may move, and what they ask for then.

    Raises ConsumerAllocationRetrievalFailed and ClientException.

    :param among: only these instances; None: all
    """
    migrations = [one for one in cell.migrations.all() if one.status not in ENDED]
    moving = {one.instance_uuid for one in migrations if one.in_progress}
    found = MovingGuests(others=[*sorted(moving), *(one.uuid for one in migrations)])
    known = cell.instances.all()
    if among is not None:
        wanted = frozenset(among)
        known = [one for one in known if one.uuid in wanted]
    guests = [one for one in known if one.host]
    found.able = [one.uuid for one in guests if one.uuid not in moving]
    asking, rest = guests[:MOST_ASKED], guests[MOST_ASKED:]
    found.too_many = len(rest)
    held = client.allocations.of_each(context, [one.uuid for one in asking])
    roots = {(one.host, one.hypervisor_hostname): one.uuid for one in cell.compute_nodes.all()}
    for one in asking:
        root = roots.get((one.host or "", one.node or ""), "")
        own = {uuid: part["resources"] for uuid, part in held[one.uuid]["allocations"].items()}
        if one.uuid in moving or not (asked := queries.of(one, HeldShare(root, own))):
            found.unsaid += 1
            continue
        has_own = any("PCPU" in part for part in own.values())
        found.halved += len(asked) > 1
        found.requests[one.uuid] = asked[0 if has_own else -1].to_querystring()
    return found

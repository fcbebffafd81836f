"""The usage of a project, by consumer type and resource class (rest-api.md 3.13)."""

import collections
import dataclasses

import sqlalchemy as sa

from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import Database
from placement.storage.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    users,
)

#: groups of consumers that are no consumer types
ALL = "all"
UNTYPED = "unknown"

Group = dict[str, int]


@dataclasses.dataclass(frozen=True)
class ProjectUsage:
    """Amounts by (type or None, class), and the number of consumers of each type.

    :param rows: how many allocations were added up
    """

    amounts: dict[tuple[str | None, str], int]
    consumers: dict[str | None, int]
    rows: int = dataclasses.field(default=0, compare=False)

    def totals(self) -> Group:
        """Return the amounts by class, of all consumer types together."""
        totals: collections.Counter[str] = collections.Counter()
        for (_, resource_class), used in self.amounts.items():
            totals[resource_class] += used
        return dict(totals)

    def by_type(self, wanted: str | None) -> dict[str, Group]:
        """Return the amounts by type and class, with the number of consumers of each type.

        :param wanted: one type, `unknown` for consumers without one, `all` for one group of
            everything, None for all types
        """
        groups: dict[str, Group] = {}
        for (kind, resource_class), used in self.amounts.items():
            name = UNTYPED if kind is None else kind
            count = self.consumers[kind]
            if wanted == ALL:
                name, count = ALL, sum(self.consumers.values())
            if wanted in (None, name):
                group = groups.setdefault(name, {})
                group[resource_class] = group.get(resource_class, 0) + used
                # after the first class, as in the reference's responses
                group["consumer_count"] = count
        return groups


#: stands for the class id in rows that have the number of consumers
_COUNTED = -1


def _question(of_user: bool, by_type: bool) -> Compiled:
    """Make the query for (type, class id, class, amount, number of allocations) in groups.

    Where types are wanted, (type, -1, "", number of consumers, 0) comes for each. One statement, so
    that all numbers are of the same moment.
    """
    theirs = consumers.join(projects, consumers.c.project_id == projects.c.id)
    conditions = [projects.c.external_id == sa.bindparam("project")]
    if of_user:
        theirs = theirs.join(users, consumers.c.user_id == users.c.id)
        conditions.append(users.c.external_id == sa.bindparam("user"))
    theirs = theirs.join(allocations, allocations.c.consumer_id == consumers.c.uuid)
    kind: sa.ColumnElement[str] = sa.cast(sa.null(), consumer_types.c.name.type)
    groups: tuple[sa.ColumnElement[str], ...] = ()
    if by_type:
        theirs = theirs.outerjoin(
            consumer_types, consumers.c.consumer_type_id == consumer_types.c.id
        )
        kind, groups = consumer_types.c.name, (consumer_types.c.name,)
    classes = resource_classes.c
    amounts = (
        sa.select(kind, classes.id, classes.name, sa.func.sum(allocations.c.used), sa.func.count())
        .select_from(theirs.join(resource_classes, allocations.c.resource_class_id == classes.id))
        .where(*conditions)
        .group_by(*groups, classes.id, classes.name)
    )
    if not by_type:
        return Compiled(amounts)
    counted = sa.literal_column(str(_COUNTED), sa.Integer), sa.literal_column("''", sa.String)
    counts = (
        sa.select(
            kind,
            *counted,
            sa.func.count(consumers.c.id.distinct()),
            sa.literal_column("0", sa.Integer),
        )
        .select_from(theirs)
        .where(*conditions)
        .group_by(*groups)
    )
    return Compiled(sa.union_all(amounts, counts))


#: by whether only the consumers of one user are wanted, and whether types are
_QUESTIONS = {
    (of_user, by_type): _question(of_user, by_type)
    for of_user in (False, True)
    for by_type in (False, True)
}


def of_project(
    database: Database, project: str, user: str | None = None, by_type: bool = True
) -> ProjectUsage:
    """Return the usage of the project's consumers, or only of those of one user.

    :param by_type: whether consumer types are wanted; without them, all consumers have the type
        None, and aren't counted
    """
    values = {"project": project} if user is None else {"project": project, "user": user}
    found = database.ask(_QUESTIONS[user is not None, by_type], **values)
    amounts = [(kind, key, name, int(number)) for kind, key, name, number, _ in found if key >= 0]
    counts = {kind: int(count) for kind, key, _, count, _ in found if key == _COUNTED}
    return in_order(amounts, counts, sum(row[4] for row in found))


def in_order(
    amounts: list[tuple[str | None, int, str, int]], counts: dict[str | None, int], rows: int
) -> ProjectUsage:
    """Make the usage from (type, class id, class, amount), in the order that answers have."""
    amounts.sort(key=lambda row: (row[0] or "", row[1]))
    return ProjectUsage({(kind, name): used for kind, _, name, used in amounts}, counts, rows)

"""The usage of a project, by consumer type and resource class (rest-api.md 3.13)."""

import collections
import dataclasses

import sqlalchemy as sa

from placement.storage.engine import Connection
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
    """Amounts by (type or None, class), and the number of consumers of each type."""

    amounts: dict[tuple[str | None, str], int]
    consumers: dict[str | None, int]

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


def of_project(connection: Connection, project: str, user: str | None = None) -> ProjectUsage:
    """Return the usage of the project's consumers, or only of those of one user."""
    theirs = (
        consumers.join(projects, consumers.c.project_id == projects.c.id)
        .join(users, consumers.c.user_id == users.c.id)
        .join(allocations, allocations.c.consumer_id == consumers.c.uuid)
        .outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
    )
    conditions = [projects.c.external_id == project]
    if user is not None:
        conditions.append(users.c.external_id == user)
    amounts = connection.execute(
        sa.select(consumer_types.c.name, resource_classes.c.name, sa.func.sum(allocations.c.used))
        .select_from(
            theirs.join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
        )
        .where(*conditions)
        .group_by(consumer_types.c.name, resource_classes.c.id, resource_classes.c.name)
        .order_by(consumer_types.c.name, resource_classes.c.id)
    )
    counts = connection.execute(
        sa.select(consumer_types.c.name, sa.func.count(consumers.c.id.distinct()))
        .select_from(theirs)
        .where(*conditions)
        .group_by(consumer_types.c.name)
    )
    return ProjectUsage(
        {(kind, name): int(used) for kind, name, used in amounts},
        {kind: int(count) for kind, count in counts},
    )

"""Clouds of equal trees, up to millions of providers, written by PostgreSQL itself.

A tree has ten providers: a host, two NUMA nodes, a PF under each of them, four GPUs and an
accelerator. Twenty consumers hold processors, memory and disk of it. Eight hosts at a time register
their providers, as agents do that start together, so the providers of a tree have no consecutive
ids.
"""

import sqlalchemy as sa

from placement.storage import tables
from placement.storage.database.engine import Connection, Database, DatabaseSettings
from placement.storage.feed import change_feed
from placement.storage.schema import readiness

PROVIDERS, HOLDERS = 10, 20
#: how many hosts register together
_TOGETHER = 8
_AGGREGATES, _PROJECTS = 100, 1000
NUMA, PHYSNET_A, PHYSNET_B, RARE = (
    f"CUSTOM_BENCH_{name}" for name in ("NUMA", "PHYSNET_A", "PHYSNET_B", "RARE")
)
#: the places of a tree's providers: name, parent's place, totals, trait
_PLACES: tuple[tuple[str, int | None, dict[str, int], str | None], ...] = (
    ("host", None, {"DISK_GB": 2_000}, None),
    ("numa0", 0, {"VCPU": 32, "MEMORY_MB": 131_072}, NUMA),
    ("numa1", 0, {"VCPU": 32, "MEMORY_MB": 131_072}, NUMA),
    ("pf0", 1, {"SRIOV_NET_VF": 8}, PHYSNET_A),
    ("pf1", 2, {"SRIOV_NET_VF": 8}, PHYSNET_B),
    ("gpu0", 1, {"VGPU": 4}, None),
    ("gpu1", 1, {"VGPU": 4}, None),
    ("gpu2", 2, {"VGPU": 4}, None),
    ("gpu3", 2, {"VGPU": 4}, None),
    ("fpga", 1, {"FPGA": 1}, None),
)
#: every so many hosts, one has the rare trait
RARE_EVERY = 500


def fill(url: str, trees: int) -> None:
    """Fill an empty PostgreSQL database.

    :param trees: a multiple of eight
    """
    database = Database(DatabaseSettings(url))
    readiness.make_ready(database, True, True)
    with database.transaction() as connection:
        connection.execute(
            sa.insert(tables.traits),
            [{"name": name} for name in (NUMA, PHYSNET_A, PHYSNET_B, RARE)],
        )
        for statement in _statements(_Names(connection), trees):
            connection.execute(sa.text(statement))
        # one row, so that the feed begins as that of a service that made all this itself
        change_feed.record(connection, [1], change_feed.ChangeKind.ROW)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("VACUUM ANALYZE"))
    database.close()


def tree_uuid(tree: int) -> str:
    """Return the uuid of a tree's host, in SQL the same as `_UUID`."""
    return f"be570000-0000-4000-8000-{_id(tree, 0):012x}"


class _Names:
    """The ids of classes and traits by name."""

    def __init__(self, connection: Connection) -> None:
        self.classes = _by_name(connection, tables.resource_classes)
        self.traits = _by_name(connection, tables.traits)


def _by_name(connection: Connection, table: sa.Table) -> dict[str, int]:
    return {row.name: row.id for row in connection.execute(sa.select(table.c.id, table.c.name))}


def _id(tree: int, place: int) -> int:
    """Return a provider's id; trees are counted from 0."""
    batch, lane = divmod(tree, _TOGETHER)
    return batch * _TOGETHER * PROVIDERS + place * _TOGETHER + lane + 1


#: the same in SQL, of the tree `t`
_ID = f"(t / {_TOGETHER} * {_TOGETHER * PROVIDERS} + {{place}} * {_TOGETHER} + t % {_TOGETHER} + 1)"
_UUID = "('be570000-0000-4000-8000-' || lpad(to_hex({id}), 12, '0'))"
_CONSUMER = "('c0500000-0000-4000-8000-' || lpad(to_hex(t * {holders} + h), 12, '0'))"


def _statements(names: _Names, trees: int) -> list[str]:
    """Return the statements that fill the tables."""
    every = f"generate_series(0, {trees - 1}) t"
    found = []
    for place, (name, parent, totals, trait) in enumerate(_PLACES):
        key = _ID.format(place=place)
        above = "NULL" if parent is None else _ID.format(place=parent)
        found.append(
            "INSERT INTO resource_providers"
            " (id, uuid, name, generation, root_provider_id, parent_provider_id)"
            f" SELECT {key}, {_UUID.format(id=key)}, 'host' || t || '-{name}', 1,"
            f" {_ID.format(place=0)}, {above} FROM {every}"
        )
        found += [
            _INVENTORY.format(id=key, class_id=names.classes[stocked], total=total, every=every)
            for stocked, total in totals.items()
        ]
        if trait is not None:
            found.append(_TRAIT.format(id=key, trait_id=names.traits[trait], where=every))
    host = _ID.format(place=0)
    rare = f"generate_series({RARE_EVERY - 1}, {trees - 1}, {RARE_EVERY}) t"
    found.append(_TRAIT.format(id=host, trait_id=names.traits[RARE], where=rare))
    found += [
        "INSERT INTO placement_aggregates (uuid) SELECT"
        f" ('a6600000-0000-4000-8000-' || lpad(to_hex(a), 12, '0'))"
        f" FROM generate_series(1, {_AGGREGATES}) a",
        "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        f" SELECT {host}, 1 + t % {_AGGREGATES} FROM {every}",
        "INSERT INTO projects (external_id)"
        f" SELECT 'project' || p FROM generate_series(1, {_PROJECTS}) p",
        "INSERT INTO users (external_id) VALUES ('user')",
        "INSERT INTO consumers (uuid, project_id, user_id, generation)"
        f" SELECT {_CONSUMER.format(holders=HOLDERS)}, 1 + t % {_PROJECTS}, 1, 1"
        f" FROM {every}, generate_series(0, {HOLDERS - 1}) h",
        *_allocations(names, every),
        "SELECT setval('resource_providers_id_seq', (SELECT max(id) FROM resource_providers))",
    ]
    return found


_INVENTORY = (
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,"
    " max_unit, step_size, allocation_ratio)"
    " SELECT {id}, {class_id}, {total}, 0, 1, {total}, 1, 1.0 FROM {every}"
)
_TRAIT = (
    "INSERT INTO resource_provider_traits (resource_provider_id, trait_id)"
    " SELECT {id}, {trait_id} FROM {where}"
)


def _allocations(names: _Names, every: str) -> list[str]:
    """Return statements for the amounts of a tree's consumers: half of them on each NUMA node."""
    node = _ID.format(place="(1 + h % 2)")
    host = _ID.format(place=0)
    holders = f"{every}, generate_series(0, {HOLDERS - 1}) h"
    consumer = _CONSUMER.format(holders=HOLDERS)
    amounts = (("VCPU", node, 1), ("MEMORY_MB", node, 2_048), ("DISK_GB", host, 20))
    return [
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)"
        f" SELECT {key}, {consumer}, {names.classes[name]}, {amount} FROM {holders}"
        for name, key, amount in amounts
    ]


def aggregate_uuid(number: int) -> str:
    """Return the uuid of an aggregate; they are counted from 1."""
    return f"a6600000-0000-4000-8000-{number:012x}"

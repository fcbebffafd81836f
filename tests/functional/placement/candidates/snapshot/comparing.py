"""What a snapshot says against what the tables say, and writes that it has to hear of."""

import sqlalchemy as sa

from placement.candidates.live import loading
from placement.candidates.live.comparison import differences
from placement.storage import tables
from placement.storage.feed import change_feed
from placement.storage.feed.change_feed import ChangeKind

HOST = {"name": "host", "inventories": {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 64}}}


def nobody(live):
    """No thread audits."""


def picture(snapshot):
    """All that a snapshot says, by uuid and name, whatever its slots are."""
    forest, names = snapshot.forest, snapshot.names
    uuids = snapshot.register.uuids
    aggregates = {key: name for name, key in snapshot.aggregate_ids.items()}
    shown = {}
    for slot in range(snapshot.size):
        if not forest.alive[slot]:
            continue
        stock = {}
        for class_id, column in snapshot.columns.items():
            for at in range(len(column.slots)):
                if column.slots[at] == slot:
                    fields = ("total", "reserved", "min_unit", "max_unit", "step_size", "ratio")
                    record = [float(getattr(column, name)[at]) for name in fields]
                    record += [column.used_at(at), int(column.room[at])]
                    stock[names.classes.get(class_id, class_id)] = record
        parent = int(forest.parent[slot])
        root = int(forest.root[slot])
        shown[uuids[slot]] = {
            "parent": None if parent < 0 else uuids[parent],
            "root": uuids[root],
            "tree": slot in forest.members(root).tolist(),
            "traits": {names.traits.get(key, key) for key in snapshot.traits_of[slot]},
            "has": {
                names.traits.get(key, key)
                for key, s in snapshot.with_trait.items()
                if slot in s.slots()
            },
            "aggregates": {aggregates.get(key, key) for key in snapshot.aggregates_of[slot]},
            "in": {
                aggregates.get(key, key)
                for key, s in snapshot.in_aggregate.items()
                if s.mask(snapshot.size)[slot]
            },
            "classes": {names.classes.get(key, key) for key in snapshot.classes_of[slot]},
            "stock": stock,
        }
    return shown, dict(names.classes), dict(names.traits)


def assert_fresh(live, database):
    snapshot = live.current()
    anew = database.read(loading.load)
    assert picture(snapshot) == picture(anew)
    # nothing is left of what nobody has any more
    for sets in ("with_trait", "in_aggregate", "columns"):
        assert getattr(snapshot, sets).keys() == getattr(anew, sets).keys()
    assert database.read(lambda connection: differences(connection, snapshot)) == []


def record(database, provider_id, kind=ChangeKind.USAGE):
    """Append a row to the feed as a write does."""
    database.write(lambda connection: change_feed.record(connection, [provider_id], kind))


def record_as_before_lanes(database, provider_id, kind=ChangeKind.USAGE):
    """Append a row to the feed as a worker of an earlier version does."""
    values = {"resource_provider_id": provider_id, "kind": int(kind)}
    database.write(lambda c: c.execute(sa.insert(tables.provider_changes).values(values)))


def use(database, amount):
    """Usage that no feed row tells of yet."""
    row = {"resource_provider_id": 1, "resource_class_id": 0, "consumer_id": "c", "used": amount}
    database.write(lambda c: c.execute(sa.insert(tables.allocations).values(row)))


def used(live):
    column = live.current().columns[0]
    return int(column.used[0])

"""Statements accept lists with more items than a database accepts parameters."""

import contextlib

import pytest

from placement.domain.capacity import Inventory
from placement.storage import (
    aggregates,
    allocations,
    consumers,
    holdings,
    inventories,
    providers,
    resource_classes,
    traits,
)
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.driver.list_parameters import parts
from placement.storage.providers import NewProvider
from tests.functional.placement.service import Service, statements
from tests.functional.placement.small_cloud import EMPTY, HOLDER, ROOT, fill, numbered

#: PostgreSQL takes 65,535 parameters, Debian's SQLite 250,000; drivers of MariaDB send none
MANY = 65_600
#: no provider has one of these uuids
UUIDS = [numbered("9", number) for number in range(MANY)]
IDS = range(10**6, 10**6 + MANY)
NAMES = [f"CUSTOM_{number}" for number in range(MANY)]


def usages(connection, *about):
    return allocations.usages_in(connection.execute(*allocations.usages_question(*about)))


def slots(connection, *about):
    return inventories.slots_in(connection.execute(*inventories.slots_question(*about)))


@pytest.fixture(scope="module")
def database(module_database_url):
    fill(Service(module_database_url))
    with contextlib.closing(Database(DatabaseSettings(module_database_url))) as database:
        yield database


def the_id(connection, uuid):
    return providers.place(connection, uuid).id


READS = {
    "consumers locked": lambda c: list(consumers.lock(c, [HOLDER, *UUIDS])) == [HOLDER],
    "consumers' generations": lambda c: consumers.generations(c, [*UUIDS, HOLDER]) == {HOLDER: 2},
    "what consumers hold": lambda c: len(allocations.entries_of(c, [*UUIDS, HOLDER])[0]) == 2,
    "all that consumers hold": lambda c: (
        len(list(holdings.of_consumers(c, [HOLDER, *UUIDS, HOLDER]))) == 2
    ),
    "names of providers": lambda c: providers.names(c, [*UUIDS, ROOT]) == {ROOT: "root"},
    "usages of others": lambda c: (
        {usage.by_others for usage in usages(c, [ROOT, *UUIDS], [*UUIDS, HOLDER]).values()} == {0}
    ),
    "providers locked by uuid": lambda c: list(providers.lock(c, [*UUIDS, ROOT])) == [ROOT],
    "providers locked by id": lambda c: (
        list(providers.lock(c, [], [*IDS, the_id(c, ROOT)])) == [ROOT]
    ),
    "providers locked by both": lambda c: (
        list(providers.lock(c, [*UUIDS, ROOT], [*IDS, the_id(c, EMPTY)])) == [ROOT, EMPTY]
    ),
    "providers by uuid or name": lambda c: (
        providers.having(c, [*UUIDS, ROOT], [*NAMES, "empty"]) == {ROOT: "root", EMPTY: "empty"}
    ),
    "parents": lambda c: providers.having_children(c, [*IDS, the_id(c, ROOT)]) == {the_id(c, ROOT)},
    "providers in use": lambda c: (
        allocations.having_any(c, [*IDS, the_id(c, ROOT)]) == {the_id(c, ROOT)}
    ),
    "traits of providers": lambda c: (
        traits.ids_of_providers(c, [*IDS, the_id(c, EMPTY)]).keys() == {*IDS, the_id(c, EMPTY)}
    ),
    "trees": lambda c: len(providers.of_trees(c, [*IDS, the_id(c, ROOT)])) == 2,
    "inventories": lambda c: len(slots(c, [*UUIDS, ROOT])) == 3,
    "inventories in use": lambda c: (
        len(c.execute(*inventories.in_use_question([*UUIDS, ROOT])).all()) == 2
    ),
    "traits by name": lambda c: set(traits.named(c, [*NAMES, "CUSTOM_T"])) == {"CUSTOM_T"},
    "aggregates": lambda c: (
        aggregates.ids_of(c, [*UUIDS, numbered("b", 1)]).keys() == {numbered("b", 1)}
    ),
    "names of classes": lambda c: 10_000 in resource_classes.names_of(c, range(10**5)),
}


# on the others, a statement that can't take the whole list at once passes, too
@pytest.mark.spread_over_databases("postgresql")
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_query_takes_a_list_of_any_length(database, read):
    assert database.write(read)


def test_what_a_body_may_name_is_asked_for_in_parts(database):
    """One statement of 12 MB took MariaDB longer than a statement may."""
    with statements(database) as sent:
        database.read(READS["all that consumers hold"])
        database.read(READS["names of providers"])
    assert len(sent) >= 2 * len(list(parts(UUIDS)))


class Undone(Exception):
    pass


WRITES = {
    "owners": lambda c: (
        len(consumers.ensure_owners(c, NAMES[:12_000], NAMES[:5], NAMES[5:6])[0]) == 12_000
    ),
    "generations of consumers": lambda c: consumers.bump(c, IDS),
    "consumers deleted": lambda c: consumers.delete(c, IDS),
    "allocations deleted": lambda c: allocations.delete(c, UUIDS),
    "generations of providers": lambda c: providers.bump(c, IDS),
    "generations by steps": lambda c: providers.bump_by(
        c, {i: 1 + i % 3 for i in [*IDS, the_id(c, EMPTY)]}
    ),
    "a subtree moved": lambda c: providers.put_into_tree(c, IDS, the_id(c, ROOT)),
    "parents": lambda c: providers.put_below(
        c, {**dict.fromkeys(IDS[:2_500], the_id(c, ROOT)), the_id(c, EMPTY): None}
    ),
    "names": lambda c: providers.rename(
        c, {row_id: f"number {row_id}" for row_id in [*IDS[:2_500], the_id(c, EMPTY)]}
    ),
    "ids and roots of new providers": lambda c: (
        c.execute(providers._IDS, {"uuids": [*UUIDS, ROOT]}).all() == [(ROOT, the_id(c, ROOT))]
        and c.later(providers._OWN_ROOT, {"ids": IDS}) is None
    ),
    "providers deleted": lambda c: providers.delete(c, IDS),
    "inventories replaced": lambda c: inventories.replace(
        c, IDS, {(i, 0): Inventory(1, 0, 1, 1, 1, 1.0) for i in IDS[:7]}
    ),
    "traits taken away": lambda c: traits.dissociate(c, [the_id(c, EMPTY)], IDS),
}


def insert(connection):
    """Store providers: for each a row is written, so the lists that this sends are above, too."""
    new = [NewProvider(uuid, uuid) for uuid in UUIDS]
    return len(providers.insert(connection, new)) == len(new)


@pytest.mark.parametrize(
    "write",
    [
        *(pytest.param(write, id=name) for name, write in WRITES.items()),
        pytest.param(insert, id="providers", marks=pytest.mark.thorough),
    ],
)
def test_a_write_takes_a_list_of_any_length(database, write):
    def run(connection):
        assert write(connection) in (None, True)
        raise Undone

    with pytest.raises(Undone):
        database.write(run)


def test_each_generation_is_incremented_by_its_own_number(database):
    def run(connection):
        ids = {uuid: the_id(connection, uuid) for uuid in (ROOT, EMPTY)}
        before = {uuid: providers.place(connection, uuid).generation for uuid in ids}
        providers.bump_by(connection, {ids[ROOT]: 1, ids[EMPTY]: 3})
        moved = {uuid: providers.place(connection, uuid).generation - before[uuid] for uuid in ids}
        assert moved == {ROOT: 1, EMPTY: 3}
        raise Undone

    with pytest.raises(Undone):
        database.write(run)

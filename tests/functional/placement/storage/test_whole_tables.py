"""Whole tables are read as arrays, and say what a plain statement says."""

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from placement.candidates.live import loading
from placement.candidates.live.comparison import differences
from placement.storage.schema import schema_upgrade
from placement.storage.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)
from placement.storage.whole_cloud import snapshot_reads as reads
from placement.storage.whole_cloud import whole_tables
from tests.databases.connections import connections

#: more than two batches, with gaps between the ids
IDS = range(5, 25_000, 3)
SHORT, LONG, WIDE = IDS[0], IDS[4097], IDS[-1]
#: by provider; the last two have as many bytes, or as many characters, as a usual uuid
ODD = {SHORT: "short", LONG: "é" * 18, WIDE: "ü" * 36}
#: a provider that isn't there
STRAY = IDS[-1] + 1
NUMBERS = (reads.STOCKS, reads.USAGES, reads.PROVIDER_TRAITS, reads.MEMBERSHIPS)


def uuid_of(number):
    return ODD.get(number, f"{number:08x}-0000-4000-8000-000000000000")


@pytest.fixture(scope="module")
def cloud(module_database_url):
    """Return a database that the module's tests leave as it was."""

    def fill(connection):
        connection.execute(
            sa.insert(resource_providers),
            [
                {
                    "id": number,
                    "uuid": uuid_of(number),
                    "name": str(number),
                    "generation": number % 7 or None,
                    "root_provider_id": IDS[0] if number % 2 else None,
                    "parent_provider_id": IDS[0] if number % 2 and number != IDS[0] else None,
                }
                for number in IDS
            ],
        )
        some = [*IDS[::5], STRAY]
        stock = {"total": 2**31 - 1, "reserved": 0, "min_unit": 1, "max_unit": 9, "step_size": 1}
        connection.execute(
            sa.insert(inventories),
            [
                {
                    **stock,
                    "resource_provider_id": number,
                    "resource_class_id": number % 3,
                    "allocation_ratio": 16.0 if number % 2 else 0.1,
                }
                for number in some
            ],
        )
        connection.execute(
            sa.insert(allocations),
            [
                {
                    "resource_provider_id": number,
                    "resource_class_id": number % 3,
                    "consumer_id": consumer,
                    "used": number,
                }
                for number in some
                for consumer in "ab"
            ],
        )
        held = [{"resource_provider_id": number} for number in IDS[::7]]
        trait = connection.execute(sa.text("SELECT min(id) FROM traits")).scalar()
        connection.execute(
            sa.insert(resource_provider_traits), [one | {"trait_id": trait} for one in held]
        )
        connection.execute(
            sa.insert(resource_provider_aggregates), [one | {"aggregate_id": 3} for one in held]
        )

    with connections(module_database_url) as opened:
        database = opened()
        schema_upgrade.sync(database)
        database.write(fill)
        yield database


def test_providers_come_with_their_uuids_whatever_these_are(cloud):
    def read(connection):
        found = []
        for ids, uuids, *numbers in whole_tables.providers(connection):
            texts = [row.tobytes().decode(errors="replace") for row in uuids.rows]
            texts = [uuids.odd.get(place, text) for place, text in enumerate(texts)]
            columns = (column.tolist() for column in numbers)
            found += zip(ids.tolist(), texts, *columns, strict=True)
        return found

    plain = [
        (key, uuid, -1 if parent is None else parent, root, generation)
        for key, uuid, parent, root, generation in cloud.read(reads.providers)
    ]
    assert sorted(cloud.read(read)) == plain
    assert len(plain) == len(IDS)


@pytest.mark.parametrize("question", NUMBERS, ids=["stocks", "usages", "traits", "members"])
def test_what_providers_have_comes_as_a_plain_statement_finds_it(cloud, question):
    def read(connection):
        wanted = np.array(IDS, np.int64)
        batches = list(whole_tables.of_providers(connection, question, wanted))
        rows = [row for batch in batches for row in zip(*batch, strict=True)]
        return sorted(row for row in rows if row[0] != STRAY)

    plain = cloud.read(lambda connection: connection.execute(question[0]).all())
    expected = sorted(tuple(row) for row in plain if row[0] != STRAY)
    assert len(expected) > 1000
    assert cloud.read(read) == expected


def test_a_snapshot_of_odd_uuids_is_as_the_tables_are_until_one_of_them_changes(cloud):
    snapshot = cloud.read(loading.load)
    uuids = [snapshot.register.uuids[slot] for slot in range(snapshot.size)]
    assert uuids == [uuid_of(number) for number in IDS]
    assert cloud.read(lambda connection: differences(connection, snapshot)) == []

    renamed = sa.update(resource_providers)
    for number, uuid in ((WIDE, "ö" * 36), (LONG, uuid_of(1)), (IDS[1], "short, too")):
        of_one = renamed.where(resource_providers.c.id == number)
        cloud.write(lambda c, one=of_one, new=uuid: c.execute(one.values(uuid=new)))
        assert cloud.read(lambda c: differences(c, snapshot)) == ["providers"]
        cloud.write(lambda c, one=of_one, old=number: c.execute(one.values(uuid=uuid_of(old))))
        assert cloud.read(lambda c: differences(c, snapshot)) == []


def test_a_cloud_without_providers_has_no_rows(database):
    def read(connection):
        wanted = np.zeros(0, np.int64)
        questions = [whole_tables.of_providers(connection, one, wanted) for one in NUMBERS]
        return [list(batches) for batches in [whole_tables.providers(connection), *questions]]

    assert database.read(read) == [[]] * (1 + len(NUMBERS))


def test_a_table_that_is_missing_is_an_error_of_the_database(database):
    def read(connection):
        wanted = np.array([1], np.int64)
        return list(whole_tables.of_providers(connection, reads.STOCKS, wanted))

    database.write(lambda connection: connection.execute(sa.text("DROP TABLE inventories")))
    with pytest.raises(DBAPIError, match="inventories"):
        database.read(read)

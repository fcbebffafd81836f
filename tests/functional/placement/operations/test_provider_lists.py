"""Lists of providers from the snapshot are those of the database, whoever writes."""

import pytest
import sqlalchemy as sa

from placement.candidates.cloud import prepared_texts
from placement.candidates.live.foreign_writers import AUTO, OthersInFeed, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.domain.provider_filter import ProviderFilter
from placement.extensions.provider_trees.query import digest_of
from placement.operations import provider_lists
from placement.operations.database_lists import WITHOUT_SNAPSHOT, DatabaseLists
from placement.operations.provider_lists import ProviderLists
from placement.storage import provider_search, tables
from placement.storage.feed import change_feed
from tests.databases.connections import connections
from tests.functional.placement.candidates.snapshot.comparing import HOST
from tests.functional.placement.candidates.snapshot.writes import WRITES, inventories
from tests.functional.placement.operations.listing import (
    assert_same,
    by_database,
    by_lists,
    by_part,
    filters,
)
from tests.functional.placement.service import statements
from tests.functional.placement.small_cloud import numbered
from tests.functional.placement.topology import Copied

pytestmark = pytest.mark.spread_over_databases

RP = tables.resource_providers
AVX2 = "HW_CPU_X86_AVX2"
ALL = ProviderFilter()
VCPUS = ProviderFilter(resources={"VCPU": 1})
#: a tree, hosts with odd units and ratios, and a provider of an aggregate
TOPOLOGY = [
    HOST | {"traits": [AVX2], "aggregates": ["rack"]},
    {"name": "numa", "parent": "host", "inventories": {"VCPU": {"total": 4, "max_unit": 2}}},
    {
        "name": "odd",
        "inventories": {
            "VCPU": {"total": 10, "min_unit": 2, "step_size": 2, "allocation_ratio": 1.1},
            "DISK_GB": {"total": 9, "reserved": 3, "allocation_ratio": 0.7},
        },
        "traits": [AVX2, "CUSTOM_T"],
        "aggregates": ["rack", "row"],
    },
    {"name": "bare"},
]
TAKEN = [{"allocations": {"odd": {"VCPU": 8}}}, {"allocations": {"numa": {"VCPU": 2}}}]


COPIED = Copied(TOPOLOGY, TAKEN)


@pytest.fixture
def service(new_service):
    return new_service(content=COPIED)


@pytest.fixture
def cloud(service):
    return COPIED.of(service)


@pytest.fixture
def database(cloud, service):
    """Return the connections of another worker than the one that writes."""
    with connections(service.url) as opened:
        yield opened()


@pytest.fixture
def others():
    return OtherWriters(AUTO)


@pytest.fixture
def live(database, others):
    made = LiveSnapshot(database, 0, others)
    made.current()
    return made


@pytest.fixture
def lists(database, others, live):
    return ProviderLists(database, OthersInFeed(others), DatabaseLists(database), live)


@pytest.fixture
def without_search(monkeypatch):
    """Fail when a list comes from the database."""

    def refuse(database, wanted):
        raise AssertionError(f"the database was asked for {wanted}")

    def apply():
        monkeypatch.setattr(provider_search, "find", refuse)

    return apply


def test_every_filter_finds_what_the_database_finds(lists, database):
    assert_same(lists, database, filters(database, combined=100))


def test_each_part_of_a_filter_counts_for_every_reader(lists, database):
    everything = len(by_database(database, ALL)[0])
    examples = by_part(database)
    for part, wanted in examples.items():
        assert wanted.given.keys() == {part}
        assert 0 < len(by_database(database, wanted)[0]) < everything, part
    assert_same(lists, database, examples.values())
    tags = {digest_of(wanted, frozenset(), None, None) for wanted in [ALL, *examples.values()]}
    assert len(tags) == 1 + len(examples)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_a_write_of_another_worker_is_in_the_next_list(lists, database, service, cloud, write):
    # one amount of many is that of all, and other tests ask for all
    few = {"combined": 15, "amounts": (1, 4, 9)}
    before = filters(database, **few)
    assert_same(lists, database, before)
    write(service, cloud)
    new = [wanted for wanted in filters(database, seed=1, **few) if wanted not in before]
    assert_same(lists, database, before + new)


def rename(service, cloud):
    service.write("PUT", f"/resource_providers/{cloud.uuids['host']}", {"name": "another"})


def test_a_new_name_is_in_the_next_list(lists, database, service, cloud):
    assert_same(lists, database, [ALL, VCPUS])
    rename(service, cloud)
    assert_same(lists, database, [ALL, VCPUS])
    assert "another" in [provider[1] for provider in by_lists(lists, VCPUS)[0]]


def test_one_small_statement_is_sent_when_nothing_changed(lists, database, cloud, without_search):
    asked = [
        ALL,
        VCPUS,
        ProviderFilter(uuid=cloud.uuids["odd"]),
        ProviderFilter(in_tree=cloud.uuids["host"]),
        ProviderFilter(required=(frozenset([AVX2]),), member_of=(frozenset([rack(cloud)]),)),
    ]
    for wanted in asked:
        lists.find(wanted, "form", len_of_name)
    without_search()
    for wanted in asked:
        before = database.statements
        with statements(database) as by_library:
            lists.find(wanted, "form", len_of_name)
        assert (database.statements - before, by_library) == (1, []), wanted


def rack(cloud):
    return cloud.aggregate("rack")


def len_of_name(provider):
    return str(len(provider[1])).encode()


def test_what_is_missing_is_read_with_as_many_statements_however_much_it_is(
    lists, database, without_search
):
    without_search()
    counts = []
    for wanted in (ProviderFilter(forbidden=frozenset([AVX2])), ALL):
        before = database.statements
        by_lists(lists, wanted, form=str(wanted))
        counts.append(database.statements - before)
    assert counts[0] == counts[1] <= 3


def test_other_forms_have_other_texts(lists, database):
    assert by_lists(lists, ALL, "one") == by_database(database, ALL)
    names = lists.find(ALL, "other", len_of_name).texts
    assert b", ".join(names) == b"4, 4, 3, 4"
    assert by_lists(lists, ALL, "one") == by_database(database, ALL)


def test_the_time_of_a_list_is_that_of_its_newest_change(lists, database, service, cloud):
    rename(service, cloud)
    newest = by_database(database, ALL)[1]
    assert by_lists(lists, ALL)[1] == newest
    bare = ProviderFilter(uuid=cloud.uuids["bare"])
    assert by_lists(lists, bare)[1] == by_database(database, bare)[1] <= newest


def test_lists_come_from_the_database_while_others_write(lists, database, service, others, cloud):
    by_lists(lists, ALL)
    others.seen()
    service.database.write(lambda connection: rename_behind(connection, cloud))
    assert_same(lists, database, [ALL, VCPUS, ProviderFilter(name="behind")])


def test_another_worker_tells_of_others(lists, database, service, others, cloud):
    by_lists(lists, ALL)

    def write(connection):
        change_feed.record_others(connection)
        rename_behind(connection, cloud)

    service.database.write(write)
    assert_same(lists, database, [ALL])
    assert others.may_write


def test_what_others_changed_is_read_after_the_next_audit(database, service, others, cloud):
    live = LiveSnapshot(database, 60, others, watch=nobody)
    lists = ProviderLists(database, OthersInFeed(others), DatabaseLists(database), live)
    live.current()
    before = by_lists(lists, ALL)
    # no generation tells of it, and no audit compares names
    service.database.write(lambda connection: rename_behind(connection, cloud))
    assert by_lists(lists, ALL) == before
    live.audit_in_background()
    assert not others.may_write
    assert_same(lists, database, [ALL, VCPUS])


def nobody(live):
    """No thread audits."""


def rename_behind(connection, cloud):
    """Rename a provider without telling the change feed."""
    here = RP.c.uuid == cloud.uuids["host"]
    connection.execute(sa.update(RP).where(here).values(name="behind"))


def test_a_list_is_of_one_moment_though_others_write_meanwhile(
    lists, database, service, cloud, monkeypatch
):
    """What passes and what is said of it must not be of two moments."""
    writes = [1]

    def read(question):
        if writes:
            writes.pop()
            inventories(service, cloud, "host", {"MEMORY_MB": {"total": 64}})
        return plain(question)

    plain = database.read
    monkeypatch.setattr(database, "read", read)
    found, _ = by_lists(lists, VCPUS)
    assert not writes
    assert cloud.uuids["host"] not in [provider[0] for provider in found]
    assert_same(lists, database, [VCPUS, ALL])


def test_lists_come_from_the_database_when_somebody_writes_all_the_time(
    lists, database, service, cloud, monkeypatch
):
    plain = database.read

    def read(question):
        inventories(service, cloud, "bare", {"VCPU": {"total": 64}})
        return plain(question)

    monkeypatch.setattr(database, "read", read)
    found, _ = by_lists(lists, ALL)
    monkeypatch.undo()
    assert found == by_database(database, ALL)[0]


def test_providers_whose_ids_came_late_stand_at_their_place(lists, database, service):
    """On some databases, an id that was given out earlier may be committed later."""
    by_lists(lists, ALL)

    def insert(number):
        def write(connection):
            row = {"id": number, "uuid": f"late-{number}", "name": f"late-{number}"}
            connection.execute(sa.insert(RP), [row | {"root_provider_id": number}])
            change_feed.record(connection, [number], change_feed.ChangeKind.ROW)

        service.database.write(write)

    for number in (2000, 1000, 1500):
        insert(number)
        assert_same(lists, database, [ALL, ProviderFilter(forbidden=frozenset([AVX2]))])
    assert [uuid for uuid, *_ in by_lists(lists, ALL)[0]][-3:] == [
        "late-1000",
        "late-1500",
        "late-2000",
    ]


def test_old_providers_without_a_root_are_in_no_list(lists, database, service, cloud):
    def forget_root(connection):
        connection.execute(
            sa.update(RP).where(RP.c.name == "bare").values(root_provider_id=sa.null())
        )
        key = connection.execute(sa.select(RP.c.id).where(RP.c.name == "bare")).scalar_one()
        change_feed.record(connection, [key], change_feed.ChangeKind.ROW)

    service.database.write(forget_root)
    assert_same(lists, database, filters(database))


def test_names_are_compared_as_the_database_does(lists, database, cloud):
    uuid, aggregate = cloud.uuids["host"], rack(cloud)
    assert_same(
        lists,
        database,
        [
            ProviderFilter(uuid=uuid.upper()),
            ProviderFilter(in_tree=uuid.upper()),
            ProviderFilter(member_of=(frozenset([aggregate.upper()]),)),
            ProviderFilter(not_member_of=frozenset([aggregate.upper()])),
            ProviderFilter(required=(frozenset([AVX2.lower()]),)),
            ProviderFilter(resources={"vcpu": 1}),
            ProviderFilter(name="HOST"),
            ProviderFilter(name="host", uuid=uuid),
        ],
    )


def test_more_providers_than_are_remembered_come_from_the_database(lists, database, monkeypatch):
    monkeypatch.setattr(provider_lists, "REMEMBERED", 2)
    assert_same(lists, database, filters(database))


def test_providers_that_were_listed_before_make_room(lists, database, monkeypatch):
    monkeypatch.setattr(prepared_texts, "REMEMBERED", 4)
    assert_same(lists, database, filters(database))
    listing = lists._live.current().listings.of("form")
    assert 0 < listing.count <= 4


def test_the_snapshot_is_loaded_when_it_pays(database, others):
    live = LiveSnapshot(database, 0, others)
    lists = ProviderLists(database, OthersInFeed(others), DatabaseLists(database), live)
    for _ in range(WITHOUT_SNAPSHOT):
        assert by_lists(lists, ALL) == by_database(database, ALL)
        lists.find(ProviderFilter(name="host"), "form", len_of_name)
        assert not live.is_at_hand
    assert by_lists(lists, ALL) == by_database(database, ALL)
    assert live.is_at_hand


def test_a_list_does_not_wait_for_an_audit_that_is_due(database, others):
    now = [1000.0]
    live = LiveSnapshot(database, 60, others, lambda: now[0], nobody)
    lists = ProviderLists(database, OthersInFeed(others), DatabaseLists(database), live)
    live.current()
    assert live.is_at_hand
    now[0] += 61
    assert not live.is_at_hand
    before = database.statements
    lists.find(ALL, "form", len_of_name)
    assert database.statements == before + 1


def test_a_failed_snapshot_is_not_at_hand(live, database):
    assert live.is_at_hand
    live._distrust(live._held, "failure")
    assert not live.is_at_hand


def test_lists_of_many_providers_are_json(new_service):
    """Long lists come in joined blocks."""
    service = new_service()

    def insert(connection):
        rows = [
            {"id": number, "uuid": numbered("a", number), "name": f"host-{number}"}
            | {"root_provider_id": number}
            for number in range(1, 700)
        ]
        connection.execute(sa.insert(RP), rows)

    service.database.write(insert)
    service.get("/allocation_candidates?resources=VCPU:1")
    lists = [service.get("/resource_providers").json["resource_providers"] for _ in range(3)]
    assert [provider["name"] for provider in lists[0]] == [f"host-{n}" for n in range(1, 700)]
    assert lists[0] == lists[1] == lists[2]
    service.write("PUT", f"/resource_providers/{numbered('a', 300)}", {"name": "other"})
    changed = service.get("/resource_providers").json["resource_providers"]
    assert [provider["name"] for provider in changed][299] == "other"
    assert changed[:299] + changed[300:] == lists[0][:299] + lists[0][300:]

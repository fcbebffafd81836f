"""However many lanes the feed ever had, positions and entity tags stay short (extensions.md 7)."""

import concurrent.futures
import contextlib
import threading

import pytest
import sqlalchemy as sa
from werkzeug.test import Client

from placement import app, config
from placement.errors import DatabaseReadOnly
from placement.storage import tables
from placement.storage.feed import change_feed, feed_lanes, feed_position
from placement.storage.feed.change_feed import ChangeKind, Cursor
from tests.databases.connections import connections
from tests.databases.fixtures import CHOSEN
from tests.functional.placement.extensions.changes.lanes import change_in_new_lanes, number_of_lanes
from tests.functional.placement.extensions.changes.test_changes import changes, position
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import CHILD, EMPTY, NEW, ROOT, expect, stock
from tests.patience import PATIENCE

TREES = "/berth/v1/provider_trees"
#: how long a position is at most, and a tag: gunicorn takes lines of 4,094 bytes, and nginx reads
#: all headers of an answer into 4,096
LONGEST, LONGEST_TAG = 900, 1000
MANY = 100
FEED = tables.provider_changes

#: SQLite lets one write in at a time: there is no lane that another write has
several_writers = pytest.mark.parametrize(
    "database_kind", [kind for kind in CHOSEN if kind != "sqlite"], indirect=True
)


@pytest.fixture
def worn(filled):
    """Return a service whose database had many failovers."""
    change_in_new_lanes(filled.database, MANY, ROOT)
    return filled


def long_position(service):
    """Return the position as the version before gives it out."""
    return feed_position.written(service.database.read(change_feed.start))


def rename(service, uuid, name):
    expect(service.put(f"/resource_providers/{uuid}", {"name": name}), 200)


def test_positions_are_short(worn):
    assert len(position(worn)) <= LONGEST
    change_in_new_lanes(worn.database, MANY, ROOT)
    assert len(expect(worn.get(TREES), 200).json["position"]) <= LONGEST
    after = position(worn)
    change_in_new_lanes(worn.database, MANY, ROOT)
    assert len(changes(worn, after)["position"]) <= LONGEST


def test_tags_are_short_and_say_when_nothing_changed(worn):
    tag = worn.get(TREES).headers["etag"]
    assert len(tag) <= LONGEST_TAG
    assert worn.get(TREES, headers_more={"if-none-match": tag}).status_code == 304
    rename(worn, EMPTY, "other")
    assert worn.get(TREES, headers_more={"if-none-match": tag}).status_code == 200


def test_a_tag_is_good_for_named_trees_though_lanes_begin_and_end(worn):
    query = f"{TREES}?uuid={EMPTY}"
    tag = worn.get(query).headers["etag"]
    change_in_new_lanes(worn.database, MANY, ROOT)
    position(worn)
    for _ in range(2):
        answer = expect(worn.get(query, headers_more={"if-none-match": tag}), 304)
        tag = answer.headers["etag"]
        assert len(tag) <= LONGEST_TAG
        change_in_new_lanes(worn.database, MANY, ROOT)
    change_in_new_lanes(worn.database, MANY, EMPTY)
    position(worn)
    assert worn.get(query, headers_more={"if-none-match": tag}).status_code == 200


def test_a_tag_of_many_lanes_is_replaced(worn):
    _, _, about = worn.get(TREES).headers["etag"].strip('"').rpartition(".")
    change_in_new_lanes(worn.database, MANY, ROOT)
    old = f'"{long_position(worn)}.{about}"'
    answer = worn.get(TREES, headers_more={"if-none-match": old})
    assert len(answer.headers["etag"]) <= LONGEST_TAG


def test_without_news_a_long_position_is_replaced(worn):
    answer = changes(worn, long_position(worn))
    assert len(answer["position"]) <= LONGEST
    assert (answer["providers"], answer["complete"]) == ([], True)
    assert changes(worn, answer["position"]) == answer


def end_lanes_after_changes(service):
    """Change CHILD, EMPTY, ROOT and NEW, most of them in lanes that begin and end meanwhile."""
    change_in_new_lanes(service.database, 20, CHILD)
    change_in_new_lanes(service.database, MANY, EMPTY, rows=2)
    rename(service, ROOT, "new")
    position(service)
    assert number_of_lanes(service.database) <= 1
    expect(service.post("/resource_providers", {"name": "later", "uuid": NEW}), 200)


def test_a_client_that_slept_while_lanes_began_and_ended_is_told_every_change(filled):
    change_in_new_lanes(filled.database, 3, ROOT)
    after = position(filled)
    end_lanes_after_changes(filled)
    assert set(changes(filled, after)["providers"]) == {ROOT, CHILD, EMPTY, NEW}


def test_a_place_among_many_ended_lanes_is_gone_as_it_would_be_long(filled):
    after = position(filled)
    end_lanes_after_changes(filled)
    first = changes(filled, after, limit=1)
    assert (first["providers"], first["complete"]) == ([CHILD], False)
    assert len(first["position"]) <= LONGEST
    error = changes(filled, first["position"], 410, limit=1)["errors"][0]
    assert error["code"] == "berth.position_gone"
    assert set(changes(filled, first["position"])["providers"]) == {ROOT, EMPTY, NEW}


def test_small_pages_go_through_lanes_that_ended(filled):
    after = position(filled)
    for uuid, rows in ((ROOT, 2), (CHILD, 1), (EMPTY, 1)):
        change_in_new_lanes(filled.database, 8, uuid, rows=rows)
    named, page = [], {"position": after, "complete": False}
    while not page["complete"]:
        page = changes(filled, page["position"], limit=1)
        named += page["providers"]
        assert len(page["position"]) <= 2 * LONGEST
        if named == [ROOT]:
            change_in_new_lanes(filled.database, 20, EMPTY)
            position(filled)
            assert number_of_lanes(filled.database) == 1
    assert set(named) == {ROOT, CHILD, EMPTY}
    assert len(page["position"]) <= LONGEST
    nothing = {"position": page["position"], "providers": [], "complete": True}
    assert changes(filled, page["position"]) == nothing


def test_the_long_position_of_the_version_before_names_every_change(worn):
    after = long_position(worn)
    rename(worn, ROOT, "new")
    position(worn)
    change_in_new_lanes(worn.database, 1, EMPTY)
    assert set(changes(worn, after)["providers"]) == {ROOT, EMPTY}


def test_searches_of_another_worker_see_changes_in_lanes_that_ended(filled):
    with contextlib.closing(Service(filled.url)) as other:
        query = "/allocation_candidates?resources=VCPU:1"
        before = len(expect(other.get(query), 200).json["provider_summaries"])
        generation = expect(filled.get(f"/resource_providers/{EMPTY}"), 200).json["generation"]
        body = stock(generation, VCPU=4)
        expect(filled.put(f"/resource_providers/{EMPTY}/inventories", body), 200)
        change_in_new_lanes(filled.database, MANY, EMPTY)
        position(filled)
        loads = dict(other.running.snapshot.loads)
        assert len(other.get(query).json["provider_summaries"]) == before + 1
        assert dict(other.running.snapshot.loads) == loads


def test_ends_that_are_not_in_the_feed_any_more_are_gone(filled):
    after = position(filled)
    change_in_new_lanes(filled.database, MANY, ROOT)
    position(filled)
    last = sa.select(sa.func.max(FEED.c.id)).scalar_subquery()
    oldest = filled.database.read(lambda c: c.execute(sa.select(last)).scalar()) - 2
    filled.database.write(lambda c: c.execute(sa.delete(FEED).where(FEED.c.id < oldest)))
    assert changes(filled, after, 410)["errors"][0]["code"] == "berth.position_gone"
    assert changes(filled, position(filled))["complete"]


def test_a_position_that_nobody_gave_out_is_gone(filled):
    change_in_new_lanes(filled.database, MANY, ROOT)
    lanes = feed_position.parsed(position(filled)).lanes
    change_in_new_lanes(filled.database, MANY, ROOT)
    position(filled)
    for lane, (place, mark) in lanes.items():
        for state in ((place + 1, mark), (place, mark ^ 1), (place + 10**6, mark)):
            made = feed_position.written(Cursor({**lanes, lane: state}))
            changes(filled, made, 410)


def test_a_wait_goes_on_after_lanes_ended(worn):
    """The position that is given out stays the present one."""
    after, found = position(worn), []
    thread = threading.Thread(
        target=lambda: found.append(changes(worn, after, wait=30)), daemon=True
    )
    thread.start()
    rename(worn, ROOT, "new")
    thread.join(PATIENCE)
    assert found[0]["providers"] == [ROOT]


@several_writers
def test_a_lane_with_an_open_write_stays(filled):
    lanes = filled.database.read(change_feed.start).lanes
    ids = sa.select(tables.resource_providers.c.id).where(tables.resource_providers.c.uuid == EMPTY)
    with connections(filled.url) as opened:
        writer = opened()
        key = writer.read(lambda connection: connection.execute(ids).scalar())
        with writer.transaction() as connection:
            change_feed.record(connection, [key], ChangeKind.USAGE)
            change_in_new_lanes(filled.database, MANY, ROOT)
            after = position(filled)
            assert filled.database.read(change_feed.start).lanes.keys() == {
                *lanes,
                feed_lanes.ENDS,
            }
        assert changes(filled, after)["providers"] == [EMPTY]


def test_the_feed_is_trimmed_though_no_lane_gets_long(filled, monkeypatch):
    monkeypatch.setattr(change_feed, "KEPT", 10)
    monkeypatch.setattr(feed_lanes, "MOST_LANES", 0)
    for turn in range(20):
        position(filled)
        rename(filled, ROOT, f"root {turn}")
    count = sa.select(sa.func.count()).select_from(FEED)
    assert filled.database.read(lambda c: c.execute(count).scalar()) <= 10 + 2


def test_what_tells_of_others_stays(filled):
    """A worker of the version before doesn't look into lanes that ended."""
    filled.database.write(change_feed.record_others)
    lanes = filled.database.read(change_feed.start).lanes
    change_in_new_lanes(filled.database, MANY, ROOT)
    with contextlib.closing(Service(filled.url, berth__beside_reference="never")) as other:
        assert len(position(other)) <= LONGEST
    assert lanes.keys() <= filled.database.read(change_feed.start).lanes.keys()


def test_a_reader_of_the_version_before_reads_all_again_after_an_end(filled):
    """It asks that the rows after its place follow it without a gap, in each lane that is there."""
    before = filled.database.read(change_feed.start).lanes
    for _ in range(2):
        change_in_new_lanes(filled.database, MANY, ROOT)
        position(filled)
        now = filled.database.read(change_feed.start).lanes
        places = {lane: before.get(lane, (0, 0))[0] for lane in now}
        rows = sa.select(FEED.c.lane, FEED.c.position).order_by(FEED.c.lane, FEED.c.position)
        follows = dict(places)
        is_gap = False
        for lane, place in filled.database.read(lambda c, rows=rows: c.execute(rows).all()):
            if lane in places and place > places[lane]:
                is_gap = is_gap or place != follows[lane] + 1
                follows[lane] = place
        assert is_gap
        before = now


def test_a_database_that_refuses_to_write_still_answers(worn, monkeypatch):
    """The position is longer then."""

    def refuse(*_):
        raise DatabaseReadOnly

    monkeypatch.setattr(worn.database, "write", refuse)
    assert len(position(worn)) > LONGEST


def test_a_service_that_never_writes_still_answers(worn):
    conf = config.load(
        files=[],
        environ=False,
        overrides={
            ("placement_database", "connection"): worn.url,
            ("api", "auth_strategy"): "noauth2",
        },
    )
    lanes = number_of_lanes(worn.database)
    with contextlib.closing(app.start_reading(conf, extensions=True)) as reading:
        headers = {"x-auth-token": "admin", "x-roles": "admin,service"}
        found = Client(reading.application).get(TREES, headers=headers)
    assert (found.status_code, len(found.json["trees"])) == (200, 2)
    assert number_of_lanes(worn.database) == lanes


def test_workers_that_end_lanes_at_once_all_answer_shortly(worn):
    """The first end of all makes the lane of ends: who comes second sees that of the first."""
    after = long_position(worn)
    rename(worn, EMPTY, "other")
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(4) as pool:
        workers = [stack.enter_context(contextlib.closing(Service(worn.url))) for _ in range(4)]
        found = list(pool.map(position, workers))
        assert max(map(len, found)) <= LONGEST
        assert [changes(worker, after)["providers"] for worker in workers] == [[EMPTY]] * 4
        assert {changes(worn, one)["position"] for one in found} == {position(worn)}

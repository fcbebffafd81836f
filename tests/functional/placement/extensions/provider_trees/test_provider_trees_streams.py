"""Whole trees while others act: writers, clients that leave, a database that goes away."""

import threading

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from placement.extensions.provider_trees import tree_pages
from placement.http import spool
from placement.storage.database import engine
from tests.functional.placement import whole_trees
from tests.functional.placement.http.test_trouble import trouble
from tests.functional.placement.small_cloud import CHILD, EMPTY, HOLDER, ROOT, holding, stock
from tests.functional.placement.storage.test_outages import LOST
from tests.functional.placement.whole_trees import ALL, NDJSON, PATH, lines, providers

pytestmark = pytest.mark.spread_over_databases

LINES = {"accept": NDJSON}


@pytest.fixture
def in_pages(monkeypatch):
    """Read each tree by itself."""
    monkeypatch.setattr(tree_pages, "TREES_OF_PAGE", 1)


@pytest.fixture
def meanwhile(filled):
    """Return a function that runs work on a thread before a statement of the next read."""
    removed = []

    def arrange(words, number, work):
        left = iter(range(number))

        def look(connection, cursor, statement, parameters, context, executemany):
            if words in statement and threading.current_thread() is here and next(left, None) == 0:
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()

        here = threading.current_thread()
        event.listen(sa.Engine, "before_cursor_execute", look)
        removed.append(look)

    yield arrange
    for look in removed:
        event.remove(sa.Engine, "before_cursor_execute", look)


def swap(service):
    """Move everything of HOLDER to EMPTY, and change names, traits and aggregates."""
    service.write("PUT", f"/resource_providers/{EMPTY}/inventories", stock(0, VCPU=8, DISK_GB=50))
    service.write(
        "PUT", f"/allocations/{HOLDER}", holding({EMPTY: {"VCPU": 1, "DISK_GB": 1}}, 2, "q", "v")
    )
    root = f"/resource_providers/{ROOT}"
    service.write("PUT", root, {"name": "other"})
    generation = service.get(root).json["generation"]
    body = {"traits": ["COMPUTE_NODE"], "resource_provider_generation": generation}
    service.write("PUT", f"{root}/traits", body)
    body = {"aggregates": [], "resource_provider_generation": generation + 1}
    service.write("PUT", f"{root}/aggregates", body)
    body = {"name": "child", "parent_provider_uuid": EMPTY}
    service.write("PUT", f"/resource_providers/{CHILD}", body)


STATEMENTS = [
    ("resource_providers AS root", 1),
    ("FROM inventories", 2),
    ("resource_provider_traits", 1),
    # of allocations, by provider and by consumer
    ("consumers ON allocations.consumer_id", 2),
    ("FROM consumers", 1),
]


@pytest.mark.parametrize("before", STATEMENTS, ids=lambda one: f"{one[0]} {one[1]}")
def test_a_write_amid_the_read_is_not_seen_at_all(filled, in_pages, meanwhile, before):
    path = f"{PATH}?fields={ALL}"
    trees, consumers, end = lines(filled.get(path, headers_more=LINES))
    done = []
    meanwhile(*before, lambda: done.append(swap(filled)))
    response = filled.get(path, headers_more=LINES)
    assert done
    assert lines(response) == (trees, consumers, end)
    # the client is told: its answer is that of before
    tag = response.headers["etag"]
    again = filled.get(path, headers_more=LINES | {"if-none-match": tag})
    assert again.status_code == 200
    after, consumers, _ = lines(again)
    assert consumers[HOLDER]["project_id"] == "q"
    assert providers(after) == {
        one: whole_trees.by_single_requests(filled, one) for one in (ROOT, CHILD, EMPTY)
    }


def test_the_picture_of_many_consumers_and_providers_is_one_too(filled, meanwhile):
    body = {"consumers": [HOLDER], "resource_providers": [ROOT, EMPTY]}
    path = "/berth/v1/allocations/query"
    before = filled.post(path, body).json
    done = []
    meanwhile("FROM resource_providers LEFT", 1, lambda: done.append(swap(filled)))
    assert filled.post(path, body).json == before
    assert done
    after = filled.post(path, body).json
    assert after["consumers"][HOLDER] == filled.get(f"/allocations/{HOLDER}").json
    assert after["providers"] == {
        one: filled.get(f"/resource_providers/{one}/allocations").json for one in (ROOT, EMPTY)
    }


def test_a_connection_that_breaks_amid_the_read_is_not_noticed(filled, in_pages, monkeypatch):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)
    path = f"{PATH}?fields={ALL}"
    expected = lines(filled.get(path, headers_more=LINES))
    with trouble(1, LOST, "FROM consumers"):
        response = filled.get(path, headers_more=LINES)
    assert lines(response) == expected


@pytest.mark.parametrize("words", ["berth_change_lanes", "FROM consumers"])
def test_a_database_that_goes_away_is_a_clean_error(filled, in_pages, monkeypatch, words):
    monkeypatch.setattr(engine, "LONGEST_PAUSE", 0)
    with trouble(engine.TRIES, LOST, words):
        response = filled.unjudged().get(f"{PATH}?fields={ALL}", headers_more=LINES)
    assert response.status_code == 503
    assert response.json["errors"][0]["title"] == "Service Unavailable"


@pytest.fixture
def spools(monkeypatch):
    """Collect the spools that are made."""
    made = []
    real = spool.tempfile.SpooledTemporaryFile

    def make(*given):
        made.append(real(*given))
        return made[-1]

    monkeypatch.setattr(spool.tempfile, "SpooledTemporaryFile", make)
    return made


def test_the_read_ends_when_the_client_has_left(filled, in_pages, spools):
    gone = {"waitress.client_disconnected": lambda: True}
    response = filled.get(PATH, headers_more=LINES, environ_overrides=gone)
    assert response.status_code == 503
    assert response.json["errors"][0]["code"] == "berth.search_abandoned"
    assert [one.closed for one in spools] == [True]
    assert filled.database.kept.counts()[0] == 0


@pytest.mark.parametrize("in_memory", [10, spool.IN_MEMORY], ids=["on disk", "in memory"])
def test_a_client_that_leaves_amid_the_stream_holds_nothing(filled, spools, monkeypatch, in_memory):
    monkeypatch.setattr(spool.Spool.__init__, "__defaults__", (in_memory,))
    monkeypatch.setattr(spool, "_PIECE", 100)
    started = []
    environ = filled.client_environ(PATH, LINES)
    pieces = filled.app.application(environ, lambda *given: started.append(given))
    first = next(iter(pieces))
    (status, headers, *_) = started[0]
    assert status == "200 OK"
    assert len(first) < int(dict(headers)["Content-Length"])
    # the transaction is over before the first byte is sent
    assert filled.database.kept.counts()[0] == 0
    pieces.close()
    assert [one.closed for one in spools] == [True]


def test_a_refused_read_keeps_no_file(filled, spools):
    assert filled.get(f"{PATH}?required=CUSTOM_NOBODY").status_code == 400
    assert [one.closed for one in spools] == [True]

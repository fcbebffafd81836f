"""GET /berth/v1/changes on a service in this process (extensions.md 7)."""

import contextlib
import datetime
import threading
import time

import pytest
import sqlalchemy as sa

from placement.direct import PlacementDirect
from placement.http.environ import THREADS
from placement.storage import tables
from placement.storage.feed import change_feed, feed_position
from placement.storage.feed.change_feed import ChangeKind
from tests.functional.placement.candidates.snapshot.test_other_writers import restock
from tests.functional.placement.small_cloud import (
    CHILD,
    EMPTY,
    NEW,
    ROOT,
    expect,
    fill,
    holding,
    stock,
)
from tests.patience import PATIENCE
from tests.service_settings import AUDITED, UNTIMED

pytestmark = pytest.mark.spread_over_databases

PATH = "/berth/v1/changes"
#: as a server with several threads that doesn't say how many, and as `placement-api` with four
THREADED = {"environ_overrides": {"wsgi.multithread": True}}
FOUR_THREADS = {"environ_overrides": {"wsgi.multithread": True, THREADS: 4}}


def changes(service, after=None, status=200, server=THREADED, **more):
    """Ask, and return the body."""
    query = more | ({} if after is None else {"after": after})
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return expect(service.get(f"{PATH}?{text}", **server), status).json


def position(service):
    return changes(service)["position"]


def test_the_position_of_all_trees_is_a_position_of_changes(filled):
    after = filled.get("/berth/v1/provider_trees").json["position"]
    assert changes(filled, after) == {"position": after, "providers": [], "complete": True}
    expect(filled.put(f"/allocations/{NEW}", holding({ROOT: {"VCPU": 1}, CHILD: {"VGPU": 1}})), 204)
    assert set(changes(filled, after)["providers"]) == {ROOT, CHILD}


def test_without_news_the_answer_costs_one_statement(filled):
    after = position(filled)
    changes(filled, after)
    before = filled.database.statements
    changes(filled, after)
    assert filled.database.statements == before + 1


def test_with_news_the_number_of_statements_does_not_grow(filled):
    after = position(filled)
    counts = []
    for _ in range(3):
        for number in range(3):
            expect(filled.put(f"/resource_providers/{ROOT}", {"name": f"root{number}"}), 200)
            expect(filled.put(f"/resource_providers/{EMPTY}", {"name": f"empty{number}"}), 200)
        before = filled.database.statements
        changes(filled, after)
        counts.append(filled.database.statements - before)
    assert len(set(counts[1:])) == 1
    assert max(counts) <= 7, counts


def test_a_provider_that_is_created_again_is_named(filled):
    after = position(filled)
    expect(filled.delete(f"/resource_providers/{EMPTY}"), 204)
    expect(filled.post("/resource_providers", {"name": "again", "uuid": EMPTY}), 200)
    expect(filled.delete(f"/resource_providers/{EMPTY}"), 204)
    expect(filled.post("/resource_providers", {"name": "other", "uuid": NEW}), 200)
    assert set(changes(filled, after)["providers"]) == {EMPTY, NEW}


def test_a_deletion_by_a_worker_of_the_version_before_is_gone(filled):
    after = position(filled)
    rows = tables.provider_changes
    expect(filled.delete(f"/resource_providers/{EMPTY}"), 204)
    filled.database.write(lambda c: c.execute(sa.update(rows).values(resource_provider_uuid=None)))
    assert changes(filled, after, 410)["errors"][0]["code"] == "berth.position_gone"


def test_a_trimmed_feed_is_gone(filled):
    after = position(filled)
    expect(filled.put(f"/resource_providers/{ROOT}", {"name": "new"}), 200)
    filled.database.write(lambda c: c.execute(sa.delete(tables.provider_changes)))
    changes(filled, after, 410)
    assert changes(filled, position(filled))["complete"]


@pytest.mark.parametrize("beside", ["auto", "always"])
def test_while_others_write_changes_are_gone(new_service, beside):
    service = new_service(berth__beside_reference=beside)
    if beside == "auto":
        after = position(service)
        service.database.write(change_feed.record_others)
        error = changes(service, after, 410)["errors"][0]
    else:
        error = changes(service, status=410)["errors"][0]
    assert error["code"] == "berth.position_gone"
    assert "Another service writes" in error["detail"]
    # and from any other position, too
    changes(service, status=410)


def test_a_worker_that_begins_later_knows_of_others(new_service):
    first = new_service()
    after = position(first)
    first.database.write(change_feed.record_others)
    later = type(first)(first.url)
    changes(later, status=410)
    never = type(first)(first.url, berth__beside_reference="never")
    assert changes(never, position(never))["complete"]
    changes(never, after, 410)


@pytest.fixture
def audited(new_service):
    """Return a service with the small cloud, whose snapshot can be audited."""
    service = new_service(**AUDITED)
    fill(service)
    return service


def test_what_an_audit_notices_ends_changes_in_every_worker(audited):
    other = type(audited)(audited.url)
    after = position(other)
    live = audited.running.snapshot
    live.current()
    audited.database.write(lambda connection: restock(connection, ROOT))
    live.audit_in_background()
    changes(other, after, 410)


def test_what_others_wrote_is_not_forgotten_after_an_hour(audited):
    """A position from before a write that was noticed is gone for good."""
    live = audited.running.snapshot
    positions = []
    for total in (3, 4, 5):
        positions.append(audited.get("/berth/v1/provider_trees").json["position"])
        live.current()
        audited.database.write(lambda connection, total=total: restock(connection, ROOT, total))
        # noticed by a search or by an audit, and told by the audit
        if total != 4:
            live.current()
        live.audit_in_background()
    last = audited.get("/berth/v1/provider_trees").json["position"]
    long_ago = tables.utcnow() - datetime.timedelta(hours=2)
    feed = tables.provider_changes
    audited.database.write(lambda c: c.execute(sa.update(feed).values(created_at=long_ago)))
    later = type(audited)(audited.url)
    for after in positions:
        assert "Another service wrote" in changes(later, after, 410)["errors"][0]["detail"]
    assert changes(later, last)["complete"]


class Waiting(threading.Thread):
    """A request that waits in a thread of its own."""

    def __init__(self, service, after, seconds=30, **more):
        super().__init__(daemon=True)
        self.service, self.after, self.seconds, self.more = service, after, seconds, more
        self.body = None
        self.start()

    def run(self):
        with contextlib.suppress(AssertionError):
            self.body = changes(self.service, self.after, wait=self.seconds, **self.more)

    def result(self):
        self.join(PATIENCE)
        return self.body


def eventually(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def watch(filled):
    return filled.running.watch


def test_a_wait_ends_with_the_change(filled, watch):
    waiting = Waiting(filled, position(filled))
    eventually(lambda: watch.count == 1)
    expect(filled.put(f"/resource_providers/{ROOT}", {"name": "new"}), 200)
    assert waiting.result()["providers"] == [ROOT]
    assert watch.count == 0


def test_a_wait_ends_with_the_change_of_another_worker(filled, watch):
    waiting = Waiting(filled, position(filled))
    eventually(lambda: watch.count == 1)
    other = type(filled)(filled.url)
    expect(other.put(f"/resource_providers/{EMPTY}/inventories", stock(0, VCPU=1)), 200)
    assert waiting.result()["providers"] == [EMPTY]


def test_a_wait_ends_with_a_change_of_an_earlier_version(filled, watch):
    waiting = Waiting(filled, position(filled))
    eventually(lambda: watch.count == 1)
    (row,) = filled.ask("SELECT id FROM resource_providers WHERE uuid = :uuid", uuid=ROOT)
    values = {"resource_provider_id": row[0], "kind": int(ChangeKind.USAGE)}
    feed = tables.provider_changes
    filled.database.write(lambda c: c.execute(sa.insert(feed).values(values)))
    assert waiting.result()["providers"] == [ROOT]


def test_a_wait_ends_when_the_time_is_over(filled):
    after = position(filled)
    assert changes(filled, after, wait=1) == {"position": after, "providers": [], "complete": True}


def test_a_wait_ends_when_the_service_is_closed(filled, watch):
    waiting = Waiting(filled, position(filled))
    eventually(lambda: watch.count == 1)
    watch.end_waits()
    assert waiting.result()["providers"] == []


def test_a_closed_service_looks_for_changes_no_more(filled, watch):
    before = set(threading.enumerate())
    waiting = Waiting(filled, position(filled))
    eventually(lambda: watch.count == 1)
    filled.running.close()
    assert set(threading.enumerate()) - before <= {waiting}
    assert waiting.result()["providers"] == []


def test_a_process_without_a_thread_to_spare_waits_later(filled, watch, monkeypatch):
    """The place of the request that failed is free, and the next wait starts the thread."""
    after = position(filled)

    def start(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for _ in range(3):
            with pytest.raises(RuntimeError):
                watch.wait(feed_position.parsed(after), 30, 2, lambda: False)
    assert watch.count == 0
    waiting = Waiting(filled, after)
    eventually(lambda: watch.count == 1)
    expect(filled.put(f"/resource_providers/{ROOT}", {"name": "new"}), 200)
    assert waiting.result()["providers"] == [ROOT]


@pytest.mark.parametrize(
    ("allowed", "server", "count"),
    [(None, THREADED, 1), (None, FOUR_THREADS, 2), (3, THREADED, 3), (3, FOUR_THREADS, 2)],
)
def test_more_waits_than_allowed_are_refused(new_service, allowed, server, count):
    """A server that doesn't tell its threads may have two: one is left for others by default."""
    service = new_service(**({} if allowed is None else {"berth__changes_waits": allowed}))
    watch, after = service.running.watch, position(service)
    waits = [Waiting(service, after, server=server) for _ in range(count)]
    eventually(lambda: watch.count == count)
    refused = service.unjudged().get(f"{PATH}?after={after}&wait=30", **server)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert refused.json["errors"][0]["code"] == "berth.too_many_waits"
    assert changes(service, after)["complete"]
    watch.end_waits()
    assert all(wait.result() for wait in waits)


def test_a_server_with_one_request_at_a_time_never_waits(filled, watch, monkeypatch):
    monkeypatch.setattr(watch, "wait", lambda *given: pytest.fail("it waits"))
    after = position(filled)
    query = f"{PATH}?after={after}&wait=30"
    alone = {"environ_overrides": {"wsgi.multithread": False}}
    assert expect(filled.get(query, **alone), 200).json["complete"]


def test_without_waits_allowed_none_waits(new_service):
    service = new_service(berth__changes_waits=0)
    assert changes(service, position(service), wait=30)["complete"]


def test_placement_direct_never_waits(tmp_path):
    options = {
        **UNTIMED,
        ("placement_database", "connection"): f"sqlite:///{tmp_path}/placement.db",
        ("placement_database", "sync_on_startup"): True,
    }
    direct = PlacementDirect.configured(files=[], environ=False, overrides=options)
    with direct as client:
        after = client.get(PATH).json()["position"]
        answer = client.get(f"{PATH}?after={after}&wait=30")
        assert answer.json() == {"position": after, "providers": [], "complete": True}

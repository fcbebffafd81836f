"""This version and the one before serve one database, in both directions, under load.

`BERTH_VERSIONS_STEPS` is how many steps each client takes before the next change (1); a larger
number makes a longer load.
"""

import contextlib
import os
import threading

import pytest
import sqlalchemy as sa

from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from tests.concurrency import growing
from tests.concurrency.growing import OURS, PLENTY, THEIRS, Claiming, Restocking, Searching
from tests.faults import forking
from tests.faults.running import ROOT, eventually, running
from tests.functional.placement.extensions.changes.lanes import change_in_new_lanes, number_of_lanes
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases("sqlite", "postgresql", "mariadb")

STEPS = int(os.environ.get("BERTH_VERSIONS_STEPS", "1"))
CHANGES = "/berth/v1/changes"


class Fleet:
    """The services behind a load balancer, some of each version."""

    def __init__(self):
        self._changed = threading.Condition()
        self._serving = []
        self._busy = {}
        self._turn = 0

    def add(self, service):
        """Send requests to this service, too."""
        with self._changed:
            self._busy[service] = 0
            self._serving.append(service)

    def remove(self, service):
        """Send no more requests to this service, and wait until it answered all."""
        with self._changed:
            self._serving.remove(service)
            assert self._changed.wait_for(lambda: not self._busy[service], PATIENCE)

    @contextlib.contextmanager
    def next(self):
        """Yield the service for one request."""
        with self._changed:
            self._turn += 1
            service = self._serving[self._turn % len(self._serving)]
            self._busy[service] += 1
        try:
            yield service
        finally:
            with self._changed:
                self._busy[service] -= 1
                self._changed.notify_all()


@pytest.fixture
def services(before):
    """Return a function that serves a database with the code in a folder.

    The first service of a database makes its tables.
    """

    def serving(url, root, first=False):
        # neither version may need its audits
        options = {"BERTH__SNAPSHOT_AUDIT_INTERVAL": "0"}
        sync = {"PLACEMENT_DATABASE__SYNC_ON_STARTUP": str(first).lower()}
        if root == ROOT:
            return forking.running(url, workers=1, **options, **sync)
        return running(url, workers=1, root=root, **options, **sync)

    return serving


def upgraded(url):
    """Do what `db sync` of this version does; test_page.py runs the command."""
    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        schema_upgrade.sync(database)


def test_both_versions_serve_one_database_and_miss_nothing(new_database, before, services):
    url = new_database(empty=True)
    fleet = Fleet()
    with services(url, before, first=True) as old:
        growing.build(old)
        fleet.add(old)
        writers = [Restocking(fleet.next, None)]
        writers += [Claiming(fleet.next, None, uuid) for uuid in (OURS, THEIRS)]
        clients = [*writers, Searching(fleet.next, None, writers)]
        for client in clients:
            # so that a service that starts gets most of the machine
            client.pause = 0.2
            client.start()
        some_more(clients)
        # upgrade: the schema first, under the old version's load
        upgraded(url)
        some_more(clients)
        with services(url, ROOT) as new:
            fleet.add(new)
            some_more(clients)
            fleet.remove(old)
            old.stop()
            some_more(clients)
            # and back: the old version starts again beside the new one
            with services(url, before) as again:
                fleet.add(again)
                some_more(clients)
                fleet.remove(new)
                some_more(clients)
                for client in clients:
                    client.ended.set()
                for client in clients:
                    client.join()
                assert [client.failure for client in clients if client.failure] == []
                assert clients[-1].wrong == []
                for service in (new, again):
                    assert kept(service, url, writers) == [writer.done for writer in writers]
                see_changes_in_lanes_that_ended(url, again, new)
                name_or_refuse_changes(again, new)


def some_more(clients):
    """Wait until each client has made some more steps."""
    wanted = [(client, client.count + STEPS) for client in clients]
    eventually(
        lambda: all(client.count >= count or client.failure for client, count in wanted),
        lambda: [(client, client.count, client.failure) for client in clients],
    )
    assert [client.failure for client in clients if client.failure] == []


def kept(service, url, writers):
    """Return what a search and the database have of each writer's writes; they have to agree."""
    last = Searching(growing.one(service), None, writers)
    last.step()
    assert last.wrong == []
    database = Database(DatabaseSettings(url))
    held = sa.select(tables.allocations.c.consumer_id)
    consumers = set(database.read(lambda connection: connection.execute(held).scalars().all()))
    database.close()
    claims = [writer for writer in writers if isinstance(writer, Claiming)]
    numbers = [
        sum(writer.consumer(number) in consumers for number in range(1, writer.done + 1))
        for writer in claims
    ]
    return [writers[0].done, *numbers]


def see_changes_in_lanes_that_ended(url, old, new):
    """Compare searches; the earlier version knows of no ends, and reads all again after one."""

    def end_lanes():
        change_in_new_lanes(database, 100, OURS)
        assert len(new.get(CHANGES).body["position"]) < 100
        assert number_of_lanes(database) == 1

    with contextlib.closing(Database(DatabaseSettings(url))) as database:
        end_lanes()
        theirs = f"/resource_providers/{THEIRS}"
        generation = new.get(theirs).body["generation"]
        for number in (1, 2):
            assert _disk(old) == _disk(new) == {THEIRS: PLENTY + number - 1}
            # the lane of this write begins and ends between two searches of the old version
            body = {
                "inventories": {"DISK_GB": {"total": PLENTY + number}},
                "resource_provider_generation": generation + number - 1,
            }
            assert new.put(f"{theirs}/inventories", body).status == 200
            end_lanes()
        assert _disk(old) == _disk(new) == {THEIRS: PLENTY + number}


def name_or_refuse_changes(old, new):
    """Look at the feed of changes; the earlier version doesn't say which provider it deleted."""
    unused = [new.post("/resource_providers", {"name": name}).body["uuid"] for name in "ab"]
    after = new.get(CHANGES).body["position"]
    renamed = old.put(f"/resource_providers/{OURS}", {"name": "renamed"})
    assert renamed.status == 200, renamed
    named = new.get(f"{CHANGES}?after={after}&wait=30").body
    assert (named["providers"], named["complete"]) == ([OURS], True)
    assert old.delete(f"/resource_providers/{unused[0]}").status == 204
    gone = new.get(f"{CHANGES}?after={named['position']}")
    assert (gone.status, gone.code) == (410, "berth.position_gone")
    again = new.get(CHANGES).body["position"]
    assert new.delete(f"/resource_providers/{unused[1]}").status == 204
    assert new.get(f"{CHANGES}?after={again}").body["providers"] == unused[1:]


def _disk(service):
    """Return what a search says of providers with a disk."""
    found = service.get("/allocation_candidates?resources=DISK_GB:1").body
    summaries = found["provider_summaries"]
    return {uuid: one["resources"]["DISK_GB"]["capacity"] for uuid, one in summaries.items()}

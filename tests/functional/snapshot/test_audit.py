"""The audit that catches writers who bypass the change feed."""

import threading

import pytest

from placement.candidates.live import LiveSnapshot
from placement.errors import DatabaseUnavailable
from placement.storage import snapshot_reads
from tests.functional.snapshot.comparing import record, use, used
from tests.functional.snapshot.writes import new_names, rename_a_class, reparent


def at_once(task):
    task()


def test_the_audit_notices_a_writer_that_bypasses_the_feed(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    use(database, 3)
    clock.now += 61
    live.current()

    assert used(live) == 3
    assert live.loads == {"first use": 1, "audit": 1}


def test_the_audit_finds_nothing_when_all_went_through_the_feed(service, cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    for write in (rename_a_class, reparent, new_names):
        write(service, cloud)
    clock.now += 61
    live.current()

    assert live.loads == {"first use": 1}


def test_an_audit_that_meets_a_write_begins_again(cloud, database, clock):
    """What was written meanwhile is no reason for distrust."""

    def after_a_write(audit):
        use(database, 3)
        record(database, 1)
        audit()

    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=after_a_write)
    live.current()
    clock.now += 61
    live.current()

    assert used(live) == 3
    assert live.loads == {"first use": 1}


@pytest.mark.parametrize("failure", [DatabaseUnavailable(), RuntimeError("rows without end")])
def test_an_audit_that_fails_is_logged_and_done_again_when_the_next_is_due(
    cloud, database, clock, monkeypatch, caplog, failure
):
    live = LiveSnapshot(database, audit_interval=60, clock=clock, run=at_once)
    live.current()
    use(database, 3)
    clock.now += 61

    def fail(connection):
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(snapshot_reads, "fingerprint", fail)
        assert used(live) == 0
    assert str(failure) in caplog.text
    clock.now += 61
    live.current()

    assert used(live) == 3


def test_without_an_interval_nothing_is_audited(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=0, clock=clock)
    live.current()
    use(database, 3)
    clock.now += 1e6

    assert used(live) == 0


def test_the_search_that_finds_an_audit_due_does_not_wait_for_it(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=60, clock=clock)
    live.current()
    use(database, 3)
    clock.now += 61

    live.current()
    for thread in threading.enumerate():
        if thread.name == "snapshot-audit":
            thread.join()

    assert used(live) == 3

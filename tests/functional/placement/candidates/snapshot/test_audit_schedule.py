"""When audits run, in which thread, and what a search answers meanwhile."""

import gc
import threading
import time

import pytest

from placement.candidates.live import audit_schedule, comparison
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.errors import DatabaseUnavailable
from tests.functional.placement.candidates.snapshot.comparing import use, used
from tests.patience import PATIENCE

pytestmark = pytest.mark.spread_over_databases


def test_a_search_after_a_quiet_time_answers_nothing_older_than_the_interval(
    cloud, audited, database, clock
):
    audited.current()
    use(database, 3)
    clock.now += 60
    assert used(audited) == 0
    clock.now += 1

    assert used(audited) == 3


def test_an_audit_that_fails_leaves_no_answer_that_is_too_old(
    cloud, audited, database, clock, monkeypatch, caplog
):
    audited.current()
    use(database, 3)
    clock.now += 61

    def fail(*arguments):
        raise RuntimeError("rows without end")

    with monkeypatch.context() as patch:
        patch.setattr(comparison, "differences", fail)
        assert used(audited) == 3
    assert "rows without end" in caplog.text
    assert audited.loads == {"first use": 1, "audit failed": 1}


def test_without_the_database_there_is_no_answer_that_is_too_old(
    cloud, audited, database, clock, monkeypatch
):
    audited.current()
    clock.now += 61

    def fail(*arguments):
        raise DatabaseUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(comparison, "differences", fail)
        with pytest.raises(DatabaseUnavailable):
            audited.current()

    audited.current()
    assert audited.loads == {"first use": 1}


def test_an_audit_in_the_background_that_fails_is_logged_and_the_next_one_is_done(
    cloud, audited, database, monkeypatch, caplog
):
    audited.current()
    use(database, 3)
    failures = [DatabaseUnavailable(), RuntimeError("rows without end")]
    for failure in failures:

        def fail(*arguments, failure=failure):
            raise failure

        with monkeypatch.context() as patch:
            patch.setattr(comparison, "differences", fail)
            assert audited.audit_in_background()
        assert str(failure) in caplog.text
    assert used(audited) == 0

    assert audited.audit_in_background()
    assert used(audited) == 3


def test_an_audit_that_the_database_refuses_is_logged_without_its_statement(
    cloud, audited, database, caplog
):
    audited.current()
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE placement_aggregates")
    caplog.set_level("INFO")
    assert audited.audit_in_background()

    assert "The audit of the snapshot failed" in caplog.text
    assert "SELECT" not in caplog.text


def test_at_rest_nothing_is_audited_until_somebody_searches(cloud, audited, database):
    audited.current()
    use(database, 3)
    audited.rest()
    assert not audited.audit_in_background()
    assert audited.loads == {"first use": 1}

    assert used(audited) == 0
    assert audited.audit_in_background()
    assert used(audited) == 3


def test_one_audit_runs_at_a_time(cloud, audited, clock, monkeypatch):
    audited.current()
    clock.now += 61
    running, most, begun = [], [], threading.Barrier(4)

    def compare(*arguments):
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()
        return []

    monkeypatch.setattr(comparison, "differences", compare)

    def search():
        begun.wait()
        audited.current()

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1]


def test_without_an_interval_nothing_is_audited(cloud, database, clock):
    live = LiveSnapshot(database, audit_interval=0, clock=clock, watch=None)
    live.current()
    use(database, 3)
    clock.now += 1e6

    assert used(live) == 0


def test_a_thread_audits_until_nobody_searches_any_more(cloud, audited, database, clock):
    watched = []
    audited._watch = watched.append
    audited.current()
    audited.current()
    clock.now += 10 * 60

    assert audited.audit_in_background()
    clock.now += 1
    assert not audited.audit_in_background()
    audited.current()
    assert watched == [audited, audited]


def test_beside_the_requests_a_thread_notices_what_bypasses_the_feed(cloud, database):
    live = LiveSnapshot(database, audit_interval=0.05)
    live.current()
    use(database, 3)
    end = time.monotonic() + PATIENCE
    while "audit" not in live.loads and time.monotonic() < end:
        live.current()
        time.sleep(0.01)

    assert used(live) == 3
    assert live.loads["audit"] == 1
    live.rest()


def test_the_thread_ends_with_the_snapshot_it_watches(cloud, database):
    live = LiveSnapshot(database, audit_interval=1000)
    before = set(threading.enumerate())
    live.current()
    (thread,) = set(threading.enumerate()) - before

    del live
    gc.collect()
    thread.join(PATIENCE)

    assert not thread.is_alive()


def test_an_audit_longer_than_the_interval_still_is_of_use(clock):
    times = audit_schedule.AuditTimes(60, clock)
    begun = times.now()
    clock.now += 200
    times.renewed(begun)

    assert not times.is_overdue
    clock.now += 31
    assert times.is_overdue


def test_only_an_audit_in_the_background_pauses(cloud, audited, database, clock, monkeypatch):
    audited.current()
    seen = []
    monkeypatch.setattr(audited._pauses, "rest", lambda: seen.append(1))
    assert audited.audit_in_background()
    pauses = len(seen)
    assert pauses
    use(database, 3)
    clock.now += 61
    assert used(audited) == 3
    assert len(seen) == pauses

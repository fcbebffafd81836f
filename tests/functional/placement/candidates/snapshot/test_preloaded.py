"""What a process has loaded is used by the processes that are forked from it."""

import logging

import pytest

from placement.candidates.live.foreign_writers import AUTO, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.cli.preloading import Preloading
from placement.errors import DatabaseUnavailable
from tests.functional.placement.candidates.snapshot.comparing import assert_fresh, nobody, use, used
from tests.functional.placement.candidates.snapshot.writes import new_names

pytestmark = pytest.mark.spread_over_databases


@pytest.fixture
def parent(database, clock, cloud):
    return LiveSnapshot(database, 60, clock=clock, watch=nobody)


@pytest.fixture
def child(database, clock):
    """Return a function that makes the snapshot of a process that is forked with what is loaded."""

    def made(preloaded, others=None):
        return LiveSnapshot(database, 60, others, clock, watch=nobody, preloaded=preloaded)

    return made


def test_nothing_is_loaded_again(parent, child, database):
    live = child(parent.preloaded())

    assert_fresh(live, database)
    assert live.loads == {}


def test_what_was_written_since_then_is_seen(parent, child, service, cloud, database):
    preloaded = parent.preloaded()
    new_names(service, cloud)

    first, second = child(preloaded), child(preloaded)

    for live in (first, second):
        assert_fresh(live, database)
        assert live.loads == {}


def test_what_bypassed_the_feed_since_then_is_found_as_soon_as_ever(parent, child, clock, database):
    preloaded = parent.preloaded()
    use(database, 3)
    clock.now += 61

    live = child(preloaded)

    assert used(live) == 3
    assert live.loads == {"audit": 1}


def test_that_others_write_is_known(parent, child):
    others = OtherWriters(AUTO)
    preloaded = parent.preloaded()

    child(type(preloaded)(preloaded.held, preloaded.audited, True), others)

    assert others.may_write


def test_workers_start_without_what_cannot_be_loaded(monkeypatch, caplog):
    def unavailable(conf):
        raise DatabaseUnavailable()

    monkeypatch.setattr("placement.cli.preloading.preload", unavailable)

    class InForce:
        conf = None

    preloading = Preloading(InForce(), wanted=True)
    with caplog.at_level(logging.WARNING):
        preloading.load()

    assert preloading.preloaded is None
    assert "isn't loaded before the workers start" in caplog.text

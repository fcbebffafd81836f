"""Work that has to be done once before a database is used."""

import threading

import pytest

from placement.storage.database.engine_setup import Preparation
from tests.patience import PATIENCE


def test_the_work_is_done_once():
    done = []
    preparation = Preparation(lambda: done.append(1))
    assert (preparation.is_done, done) == (False, [])

    preparation.run()
    preparation.run()

    assert (preparation.is_done, done) == (True, [1])


def test_work_that_fails_is_tried_again():
    failures = [OSError("away")]

    def work():
        if failures:
            raise failures.pop()

    preparation = Preparation(work)
    with pytest.raises(OSError, match="away"):
        preparation.run()
    assert preparation.is_done is False

    preparation.run()
    assert preparation.is_done is True


def test_the_work_may_need_what_waits_for_it():
    done = []

    def work():
        preparation.run()
        done.append(1)

    preparation = Preparation(work)
    preparation.run()
    assert done == [1]


def test_other_threads_wait_until_it_is_done():
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        go_on.wait(PATIENCE)
        seen.append("done")

    def other():
        preparation.run()
        seen.append("after")

    preparation = Preparation(work)
    threads = [threading.Thread(target=preparation.run), threading.Thread(target=other)]
    threads[0].start()
    assert begun.wait(PATIENCE)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert seen == ["done", "after"]

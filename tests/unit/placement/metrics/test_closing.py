"""What a process counts with ends at its close, and nothing that still runs breaks."""

import contextlib
import os
import threading

import pytest

from placement.extensions.monitoring.counting import Counting
from placement.metrics.families import families
from placement.metrics.layout import SeriesLayout
from placement.metrics.meter import Meter
from placement.metrics.slots import Slots


@pytest.fixture
def layout():
    return SeriesLayout(families(["/traits"], ["code"], ["deadlock"]))


@pytest.fixture
def counting(layout):
    with contextlib.closing(Counting.shared(layout, Slots.anonymous(layout.width))) as made:
        yield made


def count_all(meter):
    """Count as a service does."""
    meter.began()
    meter.answered("GET", "/traits", "200 OK", 0.5, 2, (0.25, 3, "code"), "code")
    meter.statements(1)
    meter.retried("deadlock")
    meter.loaded("first use")
    meter.refreshed(0.1, 3, 100)
    meter.audited("same")
    meter.look()


def test_files_and_thread_end(layout):
    files, threads = os.listdir("/proc/self/fd"), threading.active_count()
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    counting.meter.began()
    (looks,) = (each for each in threading.enumerate() if each.name == "metrics-look")
    assert len(os.listdir("/proc/self/fd")) > len(files)
    counting.close()
    looks.join()
    assert threading.active_count() == threads
    assert os.listdir("/proc/self/fd") == files


def test_closing_again_does_nothing(counting):
    counting.close()
    counting.close()


def test_what_comes_later_is_counted_nowhere_and_begins_nothing(layout, counting):
    meter = counting.meter
    counting.close()
    files, threads = os.listdir("/proc/self/fd"), threading.active_count()
    count_all(meter)
    assert (os.listdir("/proc/self/fd"), threading.active_count()) == (files, threads)
    assert (counting.slots.ever().shape, counting.slots.living()) == ((0, layout.width), [])
    assert meter.slot is None


def test_a_request_that_is_being_answered_leaves_the_numbers_of_the_next_process(layout):
    slots = Slots.anonymous(layout.width)
    with contextlib.closing(slots):
        meter = Meter(layout, slots)
        meter.began()
        meter.close()
        following = Meter(layout, slots)
        assert following.slot.number == 0
        count_all(meter)
        assert not slots.ever().any()
        following.close()


def test_numbers_that_somebody_reads_stay(counting):
    counting.meter.statements(1)
    rows, slot = counting.slots.ever(), counting.meter.slot
    counting.close()
    assert rows.sum() == slot.numbers.sum() == 1


def test_a_child_of_a_closed_one_takes_no_slot(layout, counting):
    counting.meter.began()
    counting.meter.close()
    child = os.fork()
    if not child:
        count_all(counting.meter)
        os._exit(counting.meter.slot is not None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_no_meter_gets_a_slot_of_closed_memory(layout, counting, caplog):
    counting.close()
    meter = Meter(layout, counting.slots)
    count_all(meter)
    assert meter.slot is None
    assert "closed" in caplog.text
    meter.close()

"""Slots of processes in shared memory: who has one, and what remains when a process ends."""

import contextlib
import errno
import math
import os
import signal
import threading
import time

import pytest

from placement.app import metrics_layout
from placement.metrics.families import IDLE, IN_USE, families
from placement.metrics.layout import SeriesLayout
from placement.metrics.meter import Meter
from placement.metrics.slots import Slots
from tests.functional.placement.serving.programs import wait_until


@pytest.fixture
def layout():
    return SeriesLayout(families(["/traits"], ["code"], ["deadlock"]))


@pytest.fixture
def slots(layout):
    with contextlib.closing(Slots.anonymous(layout.width)) as made:
        yield made


@pytest.fixture
def new_meter(layout):
    """Return a function that makes meters, and close them at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda slots: stack.enter_context(contextlib.closing(Meter(layout, slots)))


def forked(work):
    """Run `work` in a child process that then waits to be killed; return its process id."""
    there, told = os.pipe()
    child = os.fork()
    if not child:
        try:
            work()
            os.write(told, b".")
            signal.pause()
        finally:
            os._exit(1)
    os.close(told)
    assert os.read(there, 1) == b"."
    os.close(there)
    return child


def kill(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_two_meters_never_have_one_slot(new_meter, slots):
    first, second = new_meter(slots), new_meter(slots)
    assert {first.slot.number, second.slot.number} == {0, 1}
    first.close()
    assert new_meter(slots).slot.number == 0


def test_the_numbers_of_a_killed_process_stay_and_its_slot_is_used_again(layout, slots, new_meter):
    kept = []
    at, progress = layout.at(layout.families.statements), layout.of_gauges()[0]

    def work():
        meter = new_meter(slots)
        kept.append(meter)
        for _ in range(3):
            meter.statements(1)
        meter.began()
        meter.look()

    child = forked(work)
    assert slots.ever()[slots.living()][:, [at, progress]].tolist() == [[3, 1]]
    kill(child)
    # counters stay; a dead process answers no request
    assert (slots.ever()[:, at].sum(), slots.living()) == (3, [])
    successor = new_meter(slots)
    assert successor.slot.number == 0
    successor.statements(1)
    assert slots.ever()[:, at].sum() == 4
    assert slots.ever()[slots.living()][:, progress].sum() == 0


def test_a_child_of_a_process_that_counts_has_its_own_slot(layout, slots, new_meter):
    meter = new_meter(slots)
    at = layout.at(layout.families.statements)

    def work():
        meter.began()
        meter.statements(1)

    child = forked(work)
    meter.statements(1)
    rows = slots.ever()[:, at].tolist()
    kill(child)
    assert rows == [1.0, 1.0]


def test_threads_of_a_child_that_begin_together_have_one_slot(
    layout, slots, monkeypatch, new_meter
):
    meter = new_meter(slots)
    claim = slots.claim

    def slowly():
        time.sleep(0.01)
        return claim()

    def work():
        monkeypatch.setattr(slots, "claim", slowly)
        threads = [threading.Thread(target=meter.began) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        meter.look()

    child = forked(work)
    living = slots.living()
    progress = slots.ever()[:, layout.at(layout.families.requests_in_progress)].tolist()
    kill(child)
    assert (living, progress) == ([0, 1], [0.0, 4.0])


def test_a_process_without_a_slot_goes_on(layout, new_meter):
    class Full:
        width = layout.width

        def claim(self):
            raise OSError("no memory")

    meter = new_meter(Full())
    meter.statements(1)
    meter.answered("GET", None, "200", 0.1, 0, None, None)
    assert meter.slot is None


def test_threads_lose_no_count(layout, slots, new_meter):
    class Yielding(list):
        """Lets other threads run between reading a number and writing the next one."""

        def __getitem__(self, index):
            found = super().__getitem__(index)
            time.sleep(0)
            return found

    meter = new_meter(slots)
    meter._cells = Yielding(meter._cells)

    def work():
        for _ in range(100):
            meter.began()
            meter.answered("GET", "/traits", "200 OK", 0.5, 2, (0.25, 3, None), None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    meter.look()
    families = layout.families

    def told(family, *labels):
        begin = layout.at(family, *labels)
        return meter._cells[begin : begin + family.width]

    assert told(families.requests, "GET", "/traits", "200") == [400]
    *buckets, seconds = told(families.request_seconds, "GET", "/traits")
    assert (sum(buckets), seconds) == (400, 200)
    assert told(families.statements) == [800]
    assert (told(families.search_seconds)[-1], told(families.returned)[-1]) == (100, 1_200)
    assert told(families.requests_in_progress) == [0]


@pytest.mark.parametrize("seconds", [0, 0.0009, 0.001, 0.0011, 0.0025, 9, 10, 11])
def test_a_time_is_counted_below_its_bound(layout, slots, seconds, new_meter):
    meter = new_meter(slots)
    meter.began()
    meter.answered("GET", "/traits", "200 OK", seconds, 0, None, None)
    family = layout.families.request_seconds
    begin = layout.at(family, "GET", "/traits")
    counted = meter.slot.numbers[begin : begin + family.width - 1].tolist()
    bounds = [*family.buckets, math.inf]
    assert bounds[counted.index(1)] == min(bound for bound in bounds if seconds <= bound)
    assert sum(counted) == 1


def test_a_child_that_is_forked_by_a_request_answers_it_too(layout, slots, new_meter):
    meter = new_meter(slots)
    meter.began()
    places = [
        layout.at(layout.families.requests, "GET", "/traits", "200"),
        layout.at(layout.families.requests_in_progress),
    ]

    def work():
        meter.began()
        meter.look()
        # the parent's isn't the child's
        assert meter.slot.numbers[places].tolist() == [0, 1]
        for _ in range(2):
            meter.answered("GET", "/traits", "200 OK", 0.1, 0, None, None)
        meter.began()
        meter.look()

    child = forked(work)
    found = slots.ever()[:, places].tolist()
    kill(child)
    assert found[1] == [2, 1]


def test_what_clients_choose_is_not_remembered(layout, slots, new_meter):
    meter = new_meter(slots)
    for number in range(3):
        meter.answered(f"METHOD{number}", None, "401", 0.1, 0, None, None)
    assert meter._places == {}
    at = layout.at(layout.families.requests, "other", "unmatched", "401")
    assert meter.slot.numbers[at] == 3


def test_a_file_that_was_deleted_gives_each_process_its_own_slot(layout, tmp_path, new_meter):
    slots = Slots.in_folder(tmp_path, layout.width, layout.digest)
    first = new_meter(slots)
    for file in tmp_path.iterdir():
        file.unlink()
    assert {first.slot.number, new_meter(slots).slot.number} == {0, 1}


def test_a_file_of_another_user_is_not_used(layout, tmp_path, monkeypatch):
    Slots.in_folder(tmp_path, layout.width, layout.digest)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    # who owns it could cut it off under us, which ends a process that counts
    with pytest.raises(PermissionError, match="another user"):
        Slots.in_folder(tmp_path, layout.width, layout.digest)


def test_a_full_disk_takes_the_metrics_and_not_the_process(
    layout, slots, monkeypatch, caplog, new_meter
):
    def full(file, begin, length):
        raise OSError(errno.ENOSPC, "No space left on device")

    first = new_meter(slots)
    monkeypatch.setattr(os, "posix_fallocate", full)
    second = new_meter(slots)
    second.statements(1)
    assert (first.slot.number, second.slot) == (0, None)
    assert "No space left on device" in caplog.text
    # the error that it has keeps the memory
    caplog.clear()
    with pytest.raises(OSError, match="No space left"):
        Slots.anonymous(layout.width)
    monkeypatch.undo()
    assert new_meter(slots).slot.number == 1


def test_every_series_has_a_place_of_its_own(layout):
    places = []
    for family in layout.families:
        part = layout.part(family)
        places += range(part.start, part.stop)
        for number, at in enumerate(range(part.start, part.stop, family.width)):
            assert layout.at(family, *layout.labels(family, number)) == at
    assert sorted(places) == list(range(layout.width))


def test_values_that_nobody_listed_are_other(layout):
    family = layout.families.connections
    assert layout.at(family, "odd") == layout.at(family, "other")
    assert layout.at(family, IN_USE) != layout.at(family, IDLE)


def test_another_layout_has_another_name(layout):
    other = SeriesLayout(families(["/traits", "/usages"], ["code"], ["deadlock"]))
    assert layout.digest != other.digest
    assert metrics_layout().digest == metrics_layout().digest


def looking():
    return sum(thread.name == "metrics-look" for thread in threading.enumerate())


def test_the_pool_is_looked_at_from_the_first_request_of_a_process_on(layout, slots):
    meter = Meter(layout, slots)
    before = looking()
    meter.observe(lambda: (2, 3))
    assert looking() == before
    meter.began()
    meter.began()
    assert looking() == before + 1
    child = os.fork()
    if not child:
        meter.began()
        meter.look()
        family = layout.families.connections
        numbers = meter.slot.numbers[[layout.at(family, IN_USE), layout.at(family, IDLE)]]
        # threads of the parent aren't in the child
        os._exit(not (looking() == 1 and list(numbers) == [2, 3] and meter.slot.number == 1))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del meter
    wait_until(lambda: looking() == before, lambda: "the thread goes on without its meter")
    assert slots.living() == []

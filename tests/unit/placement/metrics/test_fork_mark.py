"""A mark tells a process from its children."""

import os

import pytest

from placement.metrics.meter import ProcessId, fork_mark


@pytest.mark.parametrize("make", [fork_mark, ProcessId])
def test_a_mark_is_true_in_the_process_that_made_it_alone(make):
    mark = make()
    child = os.fork()
    if not child:
        os._exit(bool(mark[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert mark[0]


def test_a_system_without_such_memory_is_asked_each_time(monkeypatch):
    class Page(dict):
        def __init__(self, *args):
            super().__init__()

        def madvise(self, option):
            raise OSError("Invalid argument")

    monkeypatch.setattr("placement.metrics.meter.mmap.mmap", Page)
    assert isinstance(fork_mark(), ProcessId)

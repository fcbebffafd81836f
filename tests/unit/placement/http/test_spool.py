"""Long bodies that are written before they are sent."""

import errno

import pytest

from placement.errors import NoRoomForAnswer
from placement.http.spool import Spool, kept


@pytest.mark.parametrize("in_memory", [1, 1000])
def test_what_was_written_is_read(in_memory):
    spool = Spool(in_memory)
    for data in (b"old", b"older"):
        spool.write(data)
    spool.restart()
    spool.write(b"n" * 20)
    spool.write(b"ew")
    spool.finish()
    assert (b"".join(spool.pieces()), spool.length) == (b"n" * 20 + b"ew", 22)
    spool.close()


def test_a_spool_is_closed_if_the_work_fails():
    spool = Spool()
    with pytest.raises(RuntimeError, match="work"), kept(spool):
        raise RuntimeError("work")
    with pytest.raises(ValueError, match="closed"):
        spool.write(b"")


def test_a_disk_that_is_full_is_told_before_the_response_begins(monkeypatch):
    spool = Spool()

    def fail():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool._file, "flush", fail)
    with pytest.raises(NoRoomForAnswer, match="No space left on device"):
        spool.finish()

"""What one worker notices of another service's writes, and tells the others."""

from types import SimpleNamespace

from placement.candidates.live.foreign_writes import tell_workers


def test_the_other_workers_are_told_once():
    told = []
    others = SimpleNamespace(is_untold=True)
    for _ in range(2):
        tell_workers(SimpleNamespace(write=told.append), others)
    assert len(told) == 1

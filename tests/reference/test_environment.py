"""Concurrent processes create the reference's environment once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.reference.environment import FOLDER, INTERPRETER, complete_in, reference_python

#: seconds in which a second process would begin if it weren't locked out
LONG_ENOUGH = 1


def test_one_of_several_concurrent_processes_creates_it(tmp_path):
    folder = tmp_path / "work" / "environment"
    start, second = threading.Barrier(2), threading.Event()
    made = []

    def make(where):
        made.append(where)
        if len(made) > 1:
            second.set()
        second.wait(LONG_ENOUGH)
        where.mkdir(exist_ok=True)

    def ask():
        start.wait()
        complete_in(folder, make)

    with ThreadPoolExecutor(2) as pool:
        for asked in [pool.submit(ask) for _ in range(2)]:
            asked.result()
    assert made == [folder]


def test_an_incomplete_environment_is_created_again(tmp_path):
    made = []

    def fail(where):
        made.append(where)
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        complete_in(tmp_path / "environment", fail)
    complete_in(tmp_path / "environment", lambda where: (made.append(where), where.mkdir()))
    assert len(made) == 2


def test_a_folder_with_files_of_others_is_left_as_it_is(tmp_path, monkeypatch):
    mine = tmp_path / "environment" / "mine"
    mine.parent.mkdir()
    mine.touch()
    monkeypatch.delenv(INTERPRETER, raising=False)
    monkeypatch.setenv(FOLDER, str(mine.parent))
    with pytest.raises(FileExistsError, match="name another folder"):
        reference_python()
    assert mine.exists()

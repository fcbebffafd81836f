"""Log files of a process that closes them until its next message."""

import logging
from logging.handlers import WatchedFileHandler

import pytest

from placement.config import logs


@pytest.fixture
def logger(tmp_path, monkeypatch):
    """Return the root logger, which writes `log` alone."""
    handler = WatchedFileHandler(tmp_path / "log")
    # pytest has a file among the handlers, too
    monkeypatch.setattr(logging.root, "handlers", [handler])
    yield logging.root
    handler.close()


def test_a_later_file_with_the_number_of_the_first_one_gets_the_messages(logger, tmp_path):
    log, first = tmp_path / "log", tmp_path / "first"
    logs.let_go()
    log.rename(first)
    logger.warning("before a rotation")
    # as if the system gave its number to the new file
    first.rename(log)
    logger.warning("after the rotation")
    assert log.read_text() == "after the rotation\n"

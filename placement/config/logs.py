"""Logging of processes that are ours: oslo.log's, with one line for each message."""

import logging
import re
from collections.abc import Iterator

from oslo_config import cfg
from oslo_log import log as oslo_log

#: what ends a line, moves the cursor or colours the screen, in some terminal or log viewer
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def set_up(conf: cfg.ConfigOpts, project: str) -> None:
    """Log as the options say, and nothing that a client sent as a line of its own."""
    oslo_log.setup(conf, project)
    for handler in _handlers():
        handler.addFilter(_one_line)


def let_go() -> None:
    """Close the log files; who logs next opens them again.

    For a process that goes on for long and logs hardly ever: after a rotation it would hold the
    old file, and so would those that it starts.
    """
    for handler in _handlers():
        if isinstance(handler, logging.FileHandler) and handler.stream is not None:
            handler.acquire()
            try:
                handler.stream.close()
                handler.stream = None
            finally:
                handler.release()


def escaped(text: str) -> str:
    """The text with control characters written out, such as `\\n`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _one_line(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    if _CONTROL.search(message):
        record.msg, record.args = escaped(message), ()
    return True


def _handlers() -> Iterator[logging.Handler]:
    yield from logging.root.handlers
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            yield from logger.handlers

"""Logging with oslo.log, one line for each message."""

import logging
import re
from collections.abc import Iterator

from oslo_config import cfg
from oslo_log import log as oslo_log

#: characters that end a line or control the screen, in some terminal or log viewer
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def set_up(conf: cfg.ConfigOpts, project: str) -> None:
    """Set up oslo.log from the options, and escape control characters in messages.

    Without the escapes, text from a client could forge lines of the log.
    """
    oslo_log.setup(conf, project)
    for handler in _handlers():
        handler.addFilter(_one_line)


def let_go() -> None:
    """Close the log files; the next message opens them again.

    This is for a process that lives long and rarely logs. Otherwise that process, and the processes
    that it starts, would keep an old file open after a rotation.
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
    """Return the text with control characters as escapes, such as `\\n`."""
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

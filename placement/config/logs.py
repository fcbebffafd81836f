"""Logging with oslo.log, one line for each message."""

import contextlib
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from logging.handlers import WatchedFileHandler

from oslo_config import cfg
from oslo_log import formatters
from oslo_log import log as oslo_log

from placement.config import sources
from placement.config.log_lines import LineFormatter, write_faster

#: characters that end a line or control the screen, in some terminal or log viewer
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


class LogUnusable(cfg.Error):
    """Messages can't be logged as the options say."""


def set_up(conf: cfg.ConfigOpts, project: str, always_stderr: bool = False) -> None:
    """Set up oslo.log from the options, and escape control characters in messages.

    Unless the options say otherwise, messages go to standard error if they go nowhere else. Raises
    LogUnusable, for example if a log file can't be written.

    :param always_stderr: whether messages also go to standard error if they go elsewhere
    """
    elsewhere = conf.log_file or conf.log_dir or conf.use_journal or conf.use_syslog
    conf.set_default("use_stderr", always_stderr or not elsewhere)
    try:
        oslo_log.setup(conf, project)
    # whatever the handlers raise that the options choose
    except Exception as error:
        reason = f"{error} is missing" if isinstance(error.__context__, KeyError) else error
        raise LogUnusable(f"Messages can't be logged as [DEFAULT] says: {reason}") from error
    for handler in _handlers():
        write_faster(handler, conf)
    escape_messages()


def escape_messages() -> None:
    """Escape control characters in the messages of all handlers that exist.

    Without the escapes, text from a client could forge lines of the log.
    """
    for handler in _handlers():
        handler.addFilter(_one_line)


def write_line(logger: logging.Logger, message: str, brackets: str) -> bool:
    """Write a line of level INFO as the logger would, without a record for it.

    A record costs a small request more than its answer. Return whether the line is written: not if
    somebody else would see the record, or would write another line.

    :param brackets: what the line has in brackets
    """
    step: logging.Logger | None = logger
    while step is not logging.root:
        if step is None or step.handlers or step.filters or not step.propagate:
            return False
        step = step.parent
    if len(logging.root.handlers) != 1:
        return False
    (handler,) = logging.root.handlers
    lines = handler.formatter
    if (
        type(handler) is not logging.StreamHandler
        or type(lines) is not LineFormatter
        or handler.filters != [_one_line]
        or handler.level > logging.INFO
    ):
        return False
    head = lines.head(time.time(), os.getpid(), "INFO", logger.name)
    try:
        with handler.lock or contextlib.nullcontext():
            handler.stream.write(f"{head} {brackets} {escaped(message)}{handler.terminator}")
            handler.stream.flush()
    except Exception:
        # the logger says what is wrong
        return False
    return True


def wants_json(argv: Sequence[str], program: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the configuration asks for JSON, also if the rest of it can't be used.

    If a file can't be read, only the environment decides.
    """
    conf = cfg.ConfigOpts()
    oslo_log.register_options(conf)
    try:
        sources.read(conf, argv, program)
        return bool(conf.use_json)
    except (cfg.Error, ValueError):
        return environ.get("OS_DEFAULT__USE_JSON", "").lower() in ("1", "on", "true", "yes")


def json_line(program: str, text: str) -> str:
    """Return an error message of a program as a line of a JSON log."""
    record = logging.LogRecord(program, logging.ERROR, "", 0, text, None, None)
    return str(formatters.JSONFormatter().format(record))


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
                if isinstance(handler, WatchedFileHandler):
                    # The next message opens the file that is there then. The handler would compare
                    # later files with this one, whose number another file may get.
                    handler.dev = handler.ino = -1
            finally:
                handler.release()


def escaped(text: str) -> str:
    """Return the text with control characters as escapes, such as `\\n`."""
    if text.isprintable():
        # nearly every text, and told in a tenth of the time
        return text
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _one_line(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    if not message.isprintable() and _CONTROL.search(message):
        record.msg, record.args = escaped(message), ()
    return True


def _handlers() -> Iterator[logging.Handler]:
    yield from logging.root.handlers
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            yield from logger.handlers

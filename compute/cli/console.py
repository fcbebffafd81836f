"""What a command of the compute side prints on the terminal: one line for the error that ended it.

Tracebacks are for the log file, and for those who asked with --debug.
"""

import codecs
import contextlib
import copy
import io
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from oslo_config import cfg


class WithoutTraceback(logging.Formatter):
    """Formats as another formatter does, leaving tracebacks out."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self._formatter = formatter

    def format(self, record: logging.LogRecord) -> str:
        bare = copy.copy(record)
        bare.exc_info = bare.exc_text = bare.stack_info = None
        return self._formatter.format(bare)


#: `extra` of a record whose text the program prints itself
SAID = {"said": True}


class LogFileUnusable(Exception):
    """Messages can't be logged as the options say: a log file can't be written, for example."""


class WithoutExceptions(logging.Filter):
    """Drops records that carry an exception: the command itself prints why it failed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.exc_info


class WithoutSaid(logging.Filter):
    """Drops records that have SAID as `extra`."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not hasattr(record, "said")


def set_up_logging(conf: "cfg.ConfigOpts", program: str, brief: bool) -> None:
    """Log as [DEFAULT] of `conf` says, and to stderr if it names no log file.

    `brief` is for a command that runs once: stderr gets warnings, and the command itself prints
    why it failed. Without `brief`, stderr gets what a log file would get, without tracebacks.
    --debug turns both reductions off. Raises LogFileUnusable if the log can't be set up.
    """
    from oslo_log import log as oslo_log

    conf.set_default("use_stderr", not (conf.log_file or conf.log_dir or conf.use_journal))
    try:
        oslo_log.setup(conf, program)
    # the options choose the handlers, and handlers raise anything
    except Exception as error:
        raise LogFileUnusable(f"Messages can't be logged as [DEFAULT] says: {error}") from error
    # The hook of oslo.log would print the traceback of the exception that ends the process.
    sys.excepthook = sys.__excepthook__
    if conf.debug:
        return
    # Its failures are raised, too, and then reported.
    logging.getLogger("keystoneauth.identity").setLevel(logging.ERROR)
    # It logs each look at the schema.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            _keep_readable(handler, program, brief)


def _keep_readable(handler: logging.Handler, program: str, brief: bool) -> None:
    handler.addFilter(WithoutSaid())
    if brief:
        handler.setLevel(logging.WARNING)
        handler.addFilter(WithoutExceptions())
        handler.setFormatter(logging.Formatter(f"{program}: %(levelname)s: %(message)s"))
    else:
        handler.setFormatter(WithoutTraceback(handler.formatter or logging.Formatter()))


#: characters beyond ASCII that commands print, and what replaces them in poorer encodings
SUBSTITUTES = {
    **dict.fromkeys("├└", "+"),
    "│": "|",
    "─": "-",
    "█": "#",
    "░": ".",
    "→": "->",
    "←": "<-",
    "×": "x",
    "–": "-",
    "…": "...",
}


def in_any_encoding(stream: TextIO) -> None:
    """Make the stream print substitutes for the characters that its encoding lacks."""
    codecs.register_error("substitutes", _substituted)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="substitutes")


def _substituted(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SUBSTITUTES.get(character, "?") for character in missing), error.end


_listeners: list[list[str]] = []


@contextlib.contextmanager
def hearing() -> Iterator[list[str]]:
    """Give the messages that are said while the context lasts."""
    heard: list[str] = []
    _listeners.append(heard)
    try:
        yield heard
    finally:
        # another one may have heard the same
        _listeners[:] = [one for one in _listeners if one is not heard]


def say(program: str, message: object, as_json: bool = False) -> None:
    """Print one line to stderr, whatever the message is made of; or a line of a JSON log."""
    text = " ".join(str(message).split())
    for listener in _listeners:
        listener.append(text)
    print(
        _json_line(program, text) if as_json else f"{program}: {text}", file=sys.stderr, flush=True
    )


def _json_line(program: str, text: str) -> str:
    from oslo_log import formatters

    record = logging.LogRecord(program, logging.CRITICAL, "", 0, text, None, None)
    return str(formatters.JSONFormatter().format(record))

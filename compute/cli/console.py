"""What a command of the compute side prints on the terminal: one line for the error that ended it.

Tracebacks are for the log file, and for those who asked with --debug.
"""

import codecs
import copy
import io
import json
import logging
import re
import sys
from http.client import HTTPException
from typing import TextIO

from keystoneauth1 import exceptions as ksa_exceptions
from oslo_config import cfg
from oslo_log import log as oslo_log
from rich.console import Console
from urllib3.exceptions import HTTPError

from compute.exceptions import ResourceProviderSyncFailed

#: exceptions that report a lost connection, of the operating system, http.client and urllib3
OF_CONNECTIONS = (OSError, HTTPException, HTTPError)


class Terminal(Console):
    """rich's console. It raises BrokenPipeError when the reader is gone, instead of exiting."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class WithoutTraceback(logging.Formatter):
    """Formats as another formatter does, leaving tracebacks out."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self._formatter = formatter

    def format(self, record: logging.LogRecord) -> str:
        bare = copy.copy(record)
        bare.exc_info = bare.exc_text = bare.stack_info = None
        return self._formatter.format(bare)


class WithoutExceptions(logging.Filter):
    """Drops records that carry an exception: the command itself prints why it failed."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.exc_info


def set_up_logging(conf: cfg.ConfigOpts, program: str, brief: bool) -> None:
    """Log as [DEFAULT] of `conf` says, and to stderr if it names no log file.

    `brief` is for a command that runs once: stderr gets warnings, and the command itself prints
    why it failed. Without `brief`, stderr gets what a log file would get, without tracebacks.
    --debug turns both reductions off.
    """
    conf.set_default("use_stderr", not (conf.log_file or conf.log_dir or conf.use_journal))
    oslo_log.setup(conf, program)
    # The hook of oslo.log would print the traceback of the exception that ends the process.
    sys.excepthook = sys.__excepthook__
    if conf.debug:
        return
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            _keep_readable(handler, program, brief)


def _keep_readable(handler: logging.Handler, program: str, brief: bool) -> None:
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


def say(program: str, message: object) -> None:
    """Print one line to stderr, whatever the message is made of."""
    print(f"{program}: {' '.join(str(message).split())}", file=sys.stderr, flush=True)


def why(error: BaseException) -> str:
    """Return the message of an exception; for a lost connection the URL and the first cause.

    keystoneauth1 repeats the message of requests, which repeats that of urllib3. Of an answer of
    placement in the message, status, title and detail are kept.
    """
    if isinstance(error, ResourceProviderSyncFailed) and error.__cause__ is not None:
        # The exception itself has no details; its cause does.
        return f"{str(error).rstrip('.')}: {why(error.__cause__)}"
    if not isinstance(error, ksa_exceptions.ConnectionError):
        return re.sub(r'\{\s*"errors".*', _without_braces, str(error), flags=re.DOTALL)
    cause: BaseException = error
    # The context may be an exception that was handled when the connection was lost.
    while isinstance(under := cause.__cause__ or cause.__context__, OF_CONNECTIONS):
        cause = under
    reason = (isinstance(cause, OSError) and cause.strerror) or cause
    return f"{str(error).partition(': ')[0]}: {reason}"


def _without_braces(found: re.Match[str]) -> str:
    """Return `409 Conflict: ...` if the text begins with an answer of placement."""
    text = found[0]
    try:
        answer, end = json.JSONDecoder().raw_decode(text)
        (first, *_) = answer["errors"]
        told = f"{first['status']} {first['title']}: {first['detail']}"
    except (ValueError, LookupError, TypeError):
        return text
    return " ".join(told.split()) + text[end:]

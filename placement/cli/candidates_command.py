"""`placement-manage candidates explain`: an explanation without a service (extensions.md 5)."""

import json
import logging
import os
import sys
from typing import Any
from urllib.parse import quote

from oslo_config import cfg
from werkzeug.test import Client

from placement import config
from placement.app import start_reading
from placement.cli.candidates_options import NOTHING_FITS
from placement.cli.explanation_report import report
from placement.cli.failure import FAILED, say
from placement.config import logs
from placement.http.extensions import PREFIX

_CALLER = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
#: what a query may have unescaped
_KEPT = "=&:,;!%+{}[]"


def run(conf: cfg.ConfigOpts) -> int:
    """Run the command of the command line and return its exit code."""
    logs.set_up(conf, config.PROJECT, always_stderr=True)
    if not conf.debug:
        for name in ("placement", "placement.requestlog", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
    arguments = conf.command
    parts = [_quoted(_query(arguments.query), _KEPT)]
    for name in ("provider", "consumer"):
        value = getattr(arguments, name)
        if value is not None:
            parts.append(f"{name}={_quoted(value, '')}")
    conf.set_override("auth_strategy", "noauth2", group="api")
    running = start_reading(conf, extensions=True)
    try:
        answer = Client(running.application).get(
            f"{PREFIX}/allocation_candidates/explain",
            query_string="&".join(parts),
            headers={**_CALLER, "OpenStack-API-Version": f"placement {arguments.microversion}"},
        )
    finally:
        running.close()
    if answer.status_code != 200:
        return _refused(arguments, answer)
    shown = answer.get_json()
    # JSON has escapes beyond ASCII: names may control a terminal, which may lack characters, too
    as_json = arguments.format == "json"
    _write(json.dumps(shown, indent=2) + "\n" if as_json else report(shown))
    return 0 if shown["verdict"] == "some" else NOTHING_FITS


def _query(given: str) -> str:
    """Return the query of what may be a whole URL, as logs of requests show it."""
    path, mark, query = given.partition("?")
    return query if mark and "=" not in path else given


def _quoted(text: str, kept: str) -> str:
    # bytes of the command line that are no UTF-8 are refused by the service, with its words
    return quote(text, safe=kept, errors="surrogateescape")


def _write(text: str) -> None:
    """Write to standard output, whatever characters it has; a reader may leave early."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace("→", "->").encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # without this, Python complains when it flushes at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refused(arguments: Any, answer: Any) -> int:
    """Tell why the service refused the request."""
    detail = answer.get_json()["errors"][0]["detail"]
    _, _, reason = " ".join(detail.split()).rpartition("otherwise incorrect. ")
    if answer.status_code < 500:
        arguments.usage_error(reason)
    say("placement-manage", reason, False)
    return FAILED

"""Ask the service of the configuration's database in this process; no service needs to run."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from oslo_config import cfg
from werkzeug.test import Client, TestResponse

from placement import config
from placement.app import start_reading
from placement.cli.failure import FAILED, say
from placement.config import logs
from placement.http.environ import PREFIX

_CALLER = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
#: what a query may have unescaped
_KEPT = "=&:,;!%+{}[]"


def ask(conf: cfg.ConfigOpts, method: str, path: str, **content: Any) -> TestResponse:
    """Return the answer of `/berth/v1/{path}` to the command of the command line.

    Nothing is written to the database.

    :param content: what werkzeug's client takes: query_string, json
    """
    logs.set_up(conf, config.PROJECT, always_stderr=True)
    if not conf.debug:
        for name in ("placement", "placement.requestlog", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
    conf.set_override("auth_strategy", "noauth2", group="api")
    version = {"OpenStack-API-Version": f"placement {conf.command.microversion}"}
    running = start_reading(conf, extensions=True)
    try:
        return Client(running.application).open(
            f"{PREFIX}/{path}", method=method, headers={**_CALLER, **version}, **content
        )
    finally:
        running.close()


def query_of(given: str) -> str:
    """Return the query, escaped, of what may be a whole URL, as logs of requests show it."""
    path, mark, query = given.partition("?")
    return _quoted(query if mark and "=" not in path else given, _KEPT)


def parameters(given: Mapping[str, str | None]) -> list[str]:
    """Return the parameters that have a value as parts of a query."""
    return [f"{name}={_quoted(value, '')}" for name, value in given.items() if value is not None]


def _quoted(text: str, kept: str) -> str:
    # bytes of the command line that are no UTF-8 are refused by the service, with its words
    return quote(text, safe=kept, errors="surrogateescape")


def write(text: str) -> None:
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
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def refused(arguments: Any, answer: TestResponse) -> int:
    """Tell why the service refused the request, and return the exit code, or exit."""
    detail = answer.get_json()["errors"][0]["detail"]
    _, _, reason = " ".join(detail.split()).rpartition("otherwise incorrect. ")
    if answer.status_code < 500:
        arguments.usage_error(reason)
    say("placement-manage", reason, False)
    return FAILED

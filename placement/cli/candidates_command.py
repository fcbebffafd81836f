"""`placement-manage candidates explain`: an explanation without a service (extensions.md 5)."""

import logging
import sys
from typing import Any
from urllib.parse import quote

import orjson
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
    parts = [quote(arguments.query, safe=_KEPT)]
    for name in ("provider", "consumer"):
        value = getattr(arguments, name)
        if value is not None:
            parts.append(f"{name}={quote(value, safe='')}")
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
    if arguments.format == "json":
        text = orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode() + "\n"
    else:
        text = report(shown)
    sys.stdout.write(text)
    return 0 if shown["verdict"] == "some" else NOTHING_FITS


def _refused(arguments: Any, answer: Any) -> int:
    """Tell why the service refused the request."""
    detail = answer.get_json()["errors"][0]["detail"]
    _, _, reason = " ".join(detail.split()).rpartition("otherwise incorrect. ")
    if answer.status_code < 500:
        arguments.usage_error(reason)
    say("placement-manage", reason, False)
    return FAILED

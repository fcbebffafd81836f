"""The outermost middleware: gives every request an id, logs it with its cost, and counts it.

The line of the logger `placement.requestlog` is exactly the reference's. The cost of a request (its
duration and its number of SQL statements) is in the log record: in `extra`, which oslo.log's JSON
formatter shows, and as `duration_ms` and `statements` for an operator's own formats. The option
`[berth]log_request_cost` adds a line of the logger `placement.requestcost`. It is off by default,
because the line takes a seventh of the time of a small request.
"""

import contextlib
import logging
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from placement import microversions
from placement.config.logs import write_line
from placement.http.environ import (
    CONTEXT,
    DATABASE_SECONDS,
    RETRIES,
    ROUTE,
    STAND_IN,
    STATEMENTS,
    VERSION,
    Environ,
    ExcInfo,
    Headers,
    StartResponse,
    WriteBody,
    WSGIApplication,
)
from placement.http.identity.authentication import RequestContext
from placement.http.metering import NO_ANSWER, count
from placement.storage.database.engine import Database

if TYPE_CHECKING:
    # only a service that counts needs it
    from placement.metrics.meter import Meter

#: the form of request ids in OpenStack's services
_REQUEST_ID = re.compile("req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
LOG = logging.getLogger("placement.requestlog")
COST_LOG = logging.getLogger("placement.requestcost")
_LINE = '%s "%s %s" status: %s len: %s microversion: %s'
#: characters that a logged path shows unescaped: printable ASCII except blank, `"` and `%`
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


class RequestLog:
    """Middleware that logs each request; rest-api.md 1.9 has the headers and the line.

    :param cost_line: whether to log a second line with the request's cost
    :param meter: counts the requests; None: nobody does
    """

    def __init__(
        self, application: WSGIApplication, cost_line: bool, meter: "Meter | None" = None
    ) -> None:
        self.application = application
        self.cost_line = cost_line
        self.meter = meter

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        began = time.perf_counter()
        meter = self.meter
        if meter is not None:
            if ROUTE in environ:
                # `Metered` counts this request: it came to the path of a probe, which passed it on
                meter = None
            else:
                meter.began()
        if environ.get("HTTP_ACCEPT", "*/*") in ("", "*/*"):
            environ["HTTP_ACCEPT"] = "application/json"
        context = RequestContext(
            global_request_id=_request_id(environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")),
        )
        environ[CONTEXT] = context
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug(
                'Starting request: %s "%s %s"',
                environ.get("REMOTE_ADDR", "-"),
                environ["REQUEST_METHOD"],
                path_with_query(environ),
            )

        def start(status: str, headers: Headers, exc_info: ExcInfo = None) -> WriteBody:
            nonlocal meter
            if meter is not None:
                count(meter, environ, status, began)
                # once only: an answer may begin a second time, as that of an error
                meter = None
            headers.append(("x-openstack-request-id", context.request_id))
            if LOG.isEnabledFor(logging.INFO):
                self._log(environ, status, headers, time.perf_counter() - began)
            return start_response(status, headers, exc_info)

        try:
            return self.application(environ, start)
        finally:
            if meter is not None:
                count(meter, environ, NO_ANSWER, began)

    def _log(
        self, environ: Environ, status: str, headers: list[tuple[str, str]], seconds: float
    ) -> None:
        length = next((value for name, value in headers if name.lower() == "content-length"), "-")
        version = environ.get(VERSION)
        context = environ[CONTEXT]
        code, path = status.split(" ", 1)[0], path_with_query(environ)
        told = (
            environ.get("REMOTE_ADDR", "-"),
            environ["REQUEST_METHOD"],
            path,
            code,
            length,
            microversions.name(version) if version else "-",
        )
        if not self.cost_line and write_line(LOG, _LINE % told, context.brackets):
            return
        cost = {
            "request_id": context.request_id,
            "method": environ["REQUEST_METHOD"],
            "path": path,
            "status": int(code),
            "duration_ms": round(seconds * 1000, 1),
            "statements": environ.get(STATEMENTS, 0),
        }
        facts = {
            "extra": cost,
            "duration_ms": cost["duration_ms"],
            "statements": cost["statements"],
        }
        LOG.info(_LINE, *told, extra=facts)
        if self.cost_line:
            COST_LOG.info(
                "request_id=%(request_id)s method=%(method)s path=%(path)s status=%(status)d "
                "duration_ms=%(duration_ms).1f statements=%(statements)d",
                cost,
                extra=facts,
            )


def path_with_query(environ: Environ) -> str:
    """Return the request's URL for the log: mount point, path and query.

    Blanks, quotes and control characters are escaped, so that a client can't forge log fields or
    lines.
    """
    path = quote(
        environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), _PLAIN, "latin-1", "replace"
    )
    query = environ.get("QUERY_STRING")
    return f"{path}?{quote(query, _PLAIN + '%', 'latin-1', 'replace')}" if query else path


def _request_id(told: str) -> str | None:
    """Return the id that the caller sent for its own request, or None if it isn't one."""
    return told if _REQUEST_ID.fullmatch(told) else None


class StatementCounting:
    """Middleware that counts the SQL statements of a request, for the log."""

    def __init__(self, application: WSGIApplication, database: Database) -> None:
        self.application = application
        self.database = database

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        database = self.database
        before, waited = database.statements, database.seconds
        tried = database.repetitions

        def count() -> None:
            environ[STATEMENTS] = database.statements - before
            environ[DATABASE_SECONDS] = database.seconds - waited
            environ[RETRIES] = database.repetitions - tried

        def start(status: str, headers: Headers, exc_info: ExcInfo = None) -> WriteBody:
            count()
            return start_response(status, headers, exc_info)

        database.answers(True, environ.get(STAND_IN, contextlib.nullcontext))
        try:
            return self.application(environ, start)
        except Exception:
            # the fault wrapper responds, and the log line of its response needs the count
            count()
            raise
        finally:
            database.answers(False)

"""Measures requests: counts them, and says in the answer how long each took."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from placement.http.environ import (
    CONFLICT,
    DATABASE_SECONDS,
    ROUTE,
    SEARCH,
    STATEMENTS,
    Environ,
    ExcInfo,
    Headers,
    StartResponse,
    WriteBody,
    WSGIApplication,
)

if TYPE_CHECKING:
    # only a service that counts needs it
    from placement.metrics.meter import Meter

#: of a request that no answer began for
NO_ANSWER = "500"


def count(meter: "Meter", environ: Environ, status: str, begun: float) -> None:
    """Count a request whose answer begins now.

    :param status: the status line
    :param begun: when it came, by `time.perf_counter`
    """
    meter.answered(
        environ["REQUEST_METHOD"],
        environ.get(ROUTE),
        status,
        time.perf_counter() - begun,
        environ.get(STATEMENTS, 0),
        environ.get(SEARCH),
        environ.get(CONFLICT),
    )


class Metered:
    """Middleware that counts each request with its route, status and duration.

    It is for requests that have no place in the log, or come before the service. `RequestLog`
    counts the others, because a middleware more would cost each of them microseconds.
    """

    def __init__(self, application: WSGIApplication, meter: "Meter") -> None:
        self.application = application
        self._meter = meter

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        meter = self._meter
        status = NO_ANSWER

        def start(answered: str, headers: Headers, exc_info: ExcInfo = None) -> WriteBody:
            nonlocal status
            status = answered
            return start_response(answered, headers, exc_info)

        begun = time.perf_counter()
        meter.began()
        try:
            return self.application(environ, start)
        finally:
            count(meter, environ, status, begun)


class ServerTiming:
    """Middleware that says in the header Server-Timing what a request cost.

    `app` is the time until the answer begins, `db` the time that it waited for the database.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        begun = time.perf_counter()

        def start(status: str, headers: Headers, exc_info: ExcInfo = None) -> WriteBody:
            total = (time.perf_counter() - begun) * 1000
            waited = environ.get(DATABASE_SECONDS, 0.0) * 1000
            count = environ.get(STATEMENTS, 0)
            what = "1 statement" if count == 1 else f"{count} statements"
            text = f'app;dur={total:.1f}, db;dur={waited:.1f};desc="{what}"'
            return start_response(status, [*headers, ("Server-Timing", text)], exc_info)

        return self.application(environ, start)

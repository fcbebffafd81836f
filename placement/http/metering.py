"""Middleware that measures each request: counts it, and says in the answer how long it took."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from placement.http.environ import CONFLICT, ROUTE, Environ, WSGIApplication


class RequestMeter(Protocol):
    """Counts requests."""

    def began(self) -> None:
        """Count a request that is being answered from now on."""

    def answered(
        self, method: str, route: str | None, status: str, seconds: float, conflict: str | None
    ) -> None:
        """Count a request that was answered."""


class Metered:
    """Middleware that counts each request with its route, status and duration."""

    def __init__(self, application: WSGIApplication, meter: RequestMeter) -> None:
        self.application = application
        self._meter = meter

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        meter = self._meter
        status = "500"

        def start(*given: Any) -> Any:
            nonlocal status
            status = given[0][:3]
            return start_response(*given)

        begun = time.perf_counter()
        meter.began()
        try:
            return self.application(environ, start)
        finally:
            meter.answered(
                environ["REQUEST_METHOD"],
                environ.get(ROUTE),
                status,
                time.perf_counter() - begun,
                environ.get(CONFLICT),
            )

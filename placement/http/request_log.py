"""The outermost layer: gives every request an id and writes one log line for it."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from placement import microversions
from placement.http.context import RequestContext
from placement.http.environ import CONTEXT, VERSION, Environ, WSGIApplication, path_with_query

LOG = logging.getLogger("placement.requestlog")


class RequestLog:
    """Wraps the service; see rest-api.md 1.9 for the headers and the line."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("HTTP_ACCEPT", "*/*") in ("", "*/*"):
            environ["HTTP_ACCEPT"] = "application/json"
        context = RequestContext(
            global_request_id=environ.get("HTTP_X_OPENSTACK_REQUEST_ID"),
        )
        environ[CONTEXT] = context
        LOG.debug(
            'Starting request: %s "%s %s"',
            environ.get("REMOTE_ADDR", "-"),
            environ["REQUEST_METHOD"],
            path_with_query(environ),
        )

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            headers.append(("x-openstack-request-id", context.request_id))
            self._log(environ, status, headers)
            return start_response(status, headers, exc_info)

        return self.application(environ, start)

    def _log(self, environ: Environ, status: str, headers: list[tuple[str, str]]) -> None:
        if not LOG.isEnabledFor(logging.INFO):
            return
        length = next((value for name, value in headers if name.lower() == "content-length"), "-")
        version = environ.get(VERSION)
        LOG.info(
            '%s "%s %s" status: %s len: %s microversion: %s',
            environ.get("REMOTE_ADDR", "-"),
            environ["REQUEST_METHOD"],
            path_with_query(environ),
            status.split(" ", 1)[0],
            length,
            microversions.name(version) if version else "-",
        )

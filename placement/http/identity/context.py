"""The request context: the caller's identity, for policy and for the log."""

import functools
from collections.abc import Collection, Iterable
from typing import Any

from oslo_context import context as oslo_context

from placement.config.logs import escaped
from placement.http.environ import CONTEXT, Environ, StartResponse, WSGIApplication
from placement.http.error_body import unauthorized


class RequestContext(oslo_context.RequestContext):
    """oslo.context's request context.

    `RequestLog` makes it without a caller; after authentication `Identification` replaces it.
    """

    def identified(self, environ: Environ) -> "RequestContext":
        """Return a context with the same request ids and the caller's identity from `environ`.

        The context takes every attribute that oslo.context reads, except tokens: a policy rule may
        use any attribute, and the default of a missing one could allow a caller by mistake.
        """
        return type(self).from_environ(
            environ,
            request_id=self.request_id,
            global_request_id=self.global_request_id,
            auth_token=None,
            service_token=None,
        )

    #: what `get_logging_values` returned, which oslo.log asks several times for each line
    _for_logs: dict[str, Any] | None = None

    def get_logging_values(self) -> dict[str, Any]:
        """Return the values for log formats, escaped because the caller may have chosen them.

        They are computed once, because nobody changes a context.
        """
        if self._for_logs is None:
            self._for_logs = {
                name: escaped(value) if isinstance(value, str) else value
                for name, value in super().get_logging_values().items()
            }
        return self._for_logs.copy()

    @functools.cached_property
    def brackets(self) -> str:
        """What lines of the log's default format have in brackets."""
        caller = _caller(
            self.user_id,
            self.project_id,
            self.domain_id,
            self.system_scope,
            self.user_domain_id,
            self.project_domain_id,
        )
        return f"[{self.global_request_id} {self.request_id} {caller}]"


@functools.lru_cache(maxsize=256)
def _caller(*values: str | None) -> str:
    return escaped(" ".join([value or "-" for value in values]))


class Identification:
    """Middleware that puts the caller's identity into the request context.

    It rejects requests without a user with 401, except those for the open paths.

    :param open_paths: paths that need no authentication
    """

    def __init__(self, application: WSGIApplication, open_paths: Collection[str]) -> None:
        self.application = application
        self._open_paths = frozenset(open_paths)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        # their requests have no checked identity
        if environ.get("PATH_INFO", "") not in self._open_paths:
            context = environ[CONTEXT] = environ[CONTEXT].identified(environ)
            if context.user_id is None:
                return unauthorized(environ)(environ, start_response)
        return self.application(environ, start_response)

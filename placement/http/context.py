"""Who is asking: the request context that policy and log look at."""

from collections.abc import Callable, Iterable
from typing import Any

from oslo_context import context as oslo_context

from placement.config.logs import escaped
from placement.http.environ import CONTEXT, Environ, WSGIApplication
from placement.http.error_body import unauthorized

#: paths that need no identity
OPEN_PATHS = ("", "/")


class RequestContext(oslo_context.RequestContext):
    """oslo.context's, made at the first sight of a request and told later who is asking."""

    def identified(self, environ: Environ) -> "RequestContext":
        """The same request's, with all that authentication has said of the caller.

        It is what oslo.context reads, whole: a rule may look at anything of it, and what is left
        out has a default that lets in whom it shouldn't. Only tokens are left out.
        """
        return type(self).from_environ(
            environ,
            request_id=self.request_id,
            global_request_id=self.global_request_id,
            auth_token=None,
            service_token=None,
        )

    def get_logging_values(self) -> dict[str, Any]:
        """What log formats may show of the caller, who may have chosen it."""
        return {
            name: escaped(value) if isinstance(value, str) else value
            for name, value in super().get_logging_values().items()
        }


class Identification:
    """Tells the request's context who is asking, and lets nobody in who isn't anybody."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        # nobody has checked who is asking for the version document
        if environ.get("PATH_INFO", "") not in OPEN_PATHS:
            context = environ[CONTEXT] = environ[CONTEXT].identified(environ)
            if context.user_id is None:
                return unauthorized(environ)(environ, start_response)
        return self.application(environ, start_response)

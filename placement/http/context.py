"""Who is asking: the request context that policy and log look at."""

from collections.abc import Callable, Iterable
from typing import Any

from oslo_context import context as oslo_context

from placement.http.environ import CONTEXT, Environ, WSGIApplication
from placement.http.error_body import unauthorized

#: paths that need no identity
OPEN_PATHS = ("", "/")
_IDENTITY = (
    ("user_id", "HTTP_X_USER_ID"),
    ("project_id", "HTTP_X_PROJECT_ID"),
    ("system_scope", "HTTP_OPENSTACK_SYSTEM_SCOPE"),
    ("user_domain_id", "HTTP_X_USER_DOMAIN_ID"),
    ("project_domain_id", "HTTP_X_PROJECT_DOMAIN_ID"),
    ("domain_id", "HTTP_X_DOMAIN_ID"),
)


class RequestContext(oslo_context.RequestContext):
    """oslo.context's, made at the first sight of a request and told later who is asking."""

    def identify(self, environ: Environ) -> None:
        """Take user, project, roles and scope from the headers that authentication has set."""
        for attribute, key in _IDENTITY:
            setattr(self, attribute, environ.get(key))
        if self.project_id is None:
            self.project_id = environ.get("HTTP_X_TENANT_ID")
        roles = environ.get("HTTP_X_ROLES", "")
        self.roles = [role.strip() for role in roles.split(",") if role.strip()]


class Identification:
    """Tells the request's context who is asking, and lets nobody in who isn't anybody."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        context = environ[CONTEXT]
        context.identify(environ)
        if context.user_id is None and environ.get("PATH_INFO", "") not in OPEN_PATHS:
            return unauthorized(environ)(environ, start_response)
        return self.application(environ, start_response)

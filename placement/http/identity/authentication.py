"""Who calls: authentication by keystone or `noauth2`, and the request context (rest-api.md 2.1)."""

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_context import context as oslo_context

from placement.config.logs import escaped
from placement.http.environ import CONTEXT, Environ, StartResponse, WSGIApplication
from placement.http.error_body import unauthorized


class NoAuth2:
    """Middleware that trusts the token `user[:project]` without any check.

    It is for tests, single machines and the demonstration.

    :param admin_roles: roles of the user `admin` when the request has no `X-Roles` header
    :param open_paths: paths that need no token; the mount point itself needs one
    """

    def __init__(
        self,
        application: WSGIApplication,
        admin_roles: Sequence[str],
        open_paths: Collection[str] = ("/",),
    ) -> None:
        self.application = application
        self._open_paths = frozenset(open_paths) - {""}
        self.admin_roles = ",".join(admin_roles)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") in self._open_paths:
            return self.application(environ, start_response)
        token = environ.get("HTTP_X_AUTH_TOKEN")
        if token is None:
            return unauthorized(environ)(environ, start_response)
        user, _, project = token.partition(":")
        environ["HTTP_X_USER_ID"] = user
        if "HTTP_X_ROLES" not in environ:
            environ["HTTP_X_ROLES"] = self.admin_roles if user == "admin" else ""
        if not environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE"):
            environ.setdefault("HTTP_X_PROJECT_ID", project or user)
        return self.application(environ, start_response)


def authenticated(
    application: WSGIApplication, conf: cfg.ConfigOpts, open_paths: Collection[str]
) -> WSGIApplication:
    """Wrap the application in the middleware that `[api]auth_strategy` selects.

    :param open_paths: paths that need no token

    Raises cfg.Error if the configuration of that middleware can't be used.
    """
    if conf.api.auth_strategy == "noauth2":
        return NoAuth2(application, conf.berth.noauth2_admin_roles, open_paths)
    # imported here because the keystone packages are optional
    from placement.http.identity.keystone import Keystone

    return Keystone(application, conf, open_paths)


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

    def get_logging_values(self) -> dict[str, object]:
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

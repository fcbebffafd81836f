"""Authentication: keystone tokens, or `noauth2`, which checks nothing (rest-api.md 2.1)."""

from collections.abc import Collection, Iterable, Sequence

from oslo_config import cfg

from placement.http.environ import Environ, StartResponse, WSGIApplication
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

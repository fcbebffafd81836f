"""Tokens checked by keystonemiddleware, with bounds on what its waiting costs (rest-api.md 2.1)."""

import importlib.util
import logging
from collections.abc import Callable, Iterable
from typing import Any

from keystoneauth1 import exceptions as keystone_errors
from oslo_config import cfg

from placement.http.context import OPEN_PATHS
from placement.http.environ import Environ, WSGIApplication
from placement.http.validations import TooManyValidations, Validations

LOG = logging.getLogger(__name__)

GROUP = "keystone_authtoken"
#: our defaults; without them a keystone that doesn't answer is waited for without end
BOUNDS = {"http_connect_timeout": 5, "http_request_max_retries": 1}


class IdentityUnusable(cfg.Error):
    """What [keystone_authtoken] asks for can't be had; the message says what is missing."""


class Keystone:
    """Has keystonemiddleware check the token, but not for the version document.

    Raises IdentityUnusable.
    """

    def __init__(self, application: WSGIApplication, conf: cfg.ConfigOpts) -> None:
        self.application = application
        self.checked = _checked(application, conf)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "") in OPEN_PATHS:
            return self.application(environ, start_response)
        return self.checked(environ, start_response)


class BoundedServer:
    """keystonemiddleware's identity server, asked by so many threads at a time and no more."""

    def __init__(self, server: Any, validations: Validations) -> None:
        self._server = server
        self._validations = validations

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def verify_token(self, *token: Any, **options: Any) -> Any:
        """What keystone says of a token. Raises ConnectFailure as well when too many wait."""
        try:
            with self._validations.one():
                return self._server.verify_token(*token, **options)
        except TooManyValidations as refused:
            raise keystone_errors.ConnectFailure(
                "too many requests wait for keystone ([berth]token_validations)"
            ) from refused

    @property
    def www_authenticate_uri(self) -> str:
        """Where clients get tokens, if no option says so and keystone can be asked; else empty."""
        try:
            with self._validations.one():
                return str(self._server.www_authenticate_uri)
        except (TooManyValidations, keystone_errors.ClientException):
            LOG.warning("Set [%s]www_authenticate_uri: keystone can't be asked for it now.", GROUP)
            return ""


def _checked(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    try:
        from keystonemiddleware import auth_token, opts
    except ImportError as missing:
        raise IdentityUnusable(
            f"auth_strategy is keystone, which needs berth[keystone]: {missing}"
        ) from missing

    validations = Validations(conf.berth.token_validations)

    class BoundedProtocol(auth_token.AuthProtocol):
        def _create_identity_server(self) -> BoundedServer:
            return BoundedServer(super()._create_identity_server(), validations)

    for group, options in opts.list_auth_token_opts():
        conf.register_opts(options, group=group)
    for name, value in BOUNDS.items():
        conf.set_default(name, value, group=GROUP)
    _check_cache(conf[GROUP])
    try:
        protocol: WSGIApplication = BoundedProtocol(application, {"oslo_config_config": conf})
    except keystone_errors.ClientException as wrong:
        raise IdentityUnusable(f"[{GROUP}] can't be used: {wrong}") from wrong
    return protocol


def _check_cache(options: Any) -> None:
    """keystonemiddleware looks for the cache's modules with the first request, and then crashes."""
    encrypted = options.memcache_security_strategy.lower() != "none"
    binary = options.memcache_sasl_enabled or options.memcache_tls_enabled
    needed = [
        (options.memcached_servers and not binary, "memcache", "python-memcached"),
        (options.memcached_servers and binary, "bmemcached", "python-binary-memcached"),
        (encrypted, "cryptography", "cryptography"),
    ]
    for wanted, module, package in needed:
        if wanted and importlib.util.find_spec(module) is None:
            raise IdentityUnusable(
                f"[{GROUP}] wants tokens cached in memcached, which needs the package {package}: "
                "install it, or remove memcached_servers and memcache_security_strategy."
            )
    if encrypted and not options.memcache_secret_key:
        raise IdentityUnusable(
            f"[{GROUP}]memcache_security_strategy needs a memcache_secret_key beside it."
        )

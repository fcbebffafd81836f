"""Check tokens with keystonemiddleware, with limits on waiting for keystone (rest-api.md 2.1)."""

import contextlib
import importlib.util
import logging
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import loading
from oslo_config import cfg

from placement.config.keystone_authtoken import BOUNDS, GROUP, NO_SUCH_NAME, login_option
from placement.http.environ import Environ, StartResponse, WSGIApplication
from placement.http.identity.identity_failures import IdentityFailures

LOG = logging.getLogger(__name__)

#: seconds after which a validation is slow, and other requests no longer wait for its end. Under
#: load keystone takes two or three seconds; rejecting requests then would only cause retries
SLOW = 5.0


class TooManyValidations(Exception):
    """The maximum number of validations is running, and keystone is slow."""


class TokenValidations:
    """Limit on concurrent token validations, so that a slow keystone blocks some threads, not all.

    While keystone responds in time, a further validation waits for its turn. While keystone is
    slow, it is rejected at once.

    :param most: maximum number of concurrent validations
    :param clock: monotonic time in seconds
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._changed = threading.Condition()
        #: start times of the running validations
        self._begun: list[float] = []
        self._was_slow = False

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Enter a block that validates one token; wait for a turn. Raises TooManyValidations."""
        with self._changed:
            while len(self._begun) >= self._most:
                patience = self._patience()
                if patience <= 0:
                    raise TooManyValidations
                self._changed.wait(patience)
            begun = self._clock()
            self._begun.append(begun)
        try:
            yield
        finally:
            with self._changed:
                self._begun.remove(begun)
                self._was_slow = self._clock() - begun > SLOW
                self._changed.notify_all()

    def _patience(self) -> float:
        """Return for how many seconds another validation may wait."""
        return 0 if self._was_slow else min(self._begun) + SLOW - self._clock()


class IdentityUnusable(cfg.Error):
    """The options in [keystone_authtoken] can't be used; the message says why."""


class Keystone:
    """Middleware that has keystonemiddleware check the token, except for the open paths.

    The constructor raises IdentityUnusable.

    :param open_paths: paths that need no token
    """

    def __init__(
        self, application: WSGIApplication, conf: cfg.ConfigOpts, open_paths: Collection[str]
    ) -> None:
        self.application = application
        self._open_paths = frozenset(open_paths)
        self.checked = _checked(application, conf)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "") in self._open_paths:
            return self.application(environ, start_response)
        return self.checked(environ, start_response)


class BoundedServer:
    """keystonemiddleware's identity server, called by a limited number of threads at a time.

    :param answers: exceptions of the server that are keystone's answer about a token
    :param handled: exceptions of the server that keystonemiddleware answers 503
    """

    def __init__(
        self,
        server: Any,
        validations: TokenValidations,
        failures: IdentityFailures,
        answers: type[Exception],
        handled: tuple[type[Exception], ...],
    ) -> None:
        self._server = server
        self._validations = validations
        self._failures = failures
        self._answers = answers
        self._handled = handled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def verify_token(self, *token: Any, **options: Any) -> object:
        """Validate a token with keystone.

        Raises what the wrapped server raises, and ConnectFailure if too many requests wait already.
        """
        try:
            with self._validations.one():
                verified = self._server.verify_token(*token, **options)
        except TooManyValidations as refused:
            raise keystone_errors.ConnectFailure(
                "too many requests wait for keystone ([berth]token_validations)"
            ) from refused
        except self._answers:
            self._failures.none()
            raise
        except self._handled as failure:
            self._failures.log(failure)
            raise
        except keystone_errors.ClientException as failure:
            # The request would be answered 500.
            self._failures.log(failure)
            raise keystone_errors.ConnectFailure(str(failure)) from failure
        self._failures.none()
        return verified

    @property
    def www_authenticate_uri(self) -> str:
        """Where clients get tokens: keystone is asked for it; empty if it can't be asked.

        keystonemiddleware reads this only if the option of the same name isn't set.
        """
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
            f"auth_strategy is keystone, which needs openstack-berth[keystone]: {missing}"
        ) from missing

    validations = TokenValidations(conf.berth.token_validations)
    handled = (
        auth_token.ServiceError,
        keystone_errors.ConnectFailure,
        keystone_errors.DiscoveryFailure,
        keystone_errors.RequestTimeout,
    )

    class BoundedProtocol(auth_token.AuthProtocol):
        def _create_identity_server(self) -> BoundedServer:
            return BoundedServer(
                super()._create_identity_server(),
                validations,
                IdentityFailures(conf),
                auth_token.InvalidToken,
                handled,
            )

    for group, options in opts.list_auth_token_opts():
        conf.register_opts(options, group=group)
    for name, value in BOUNDS.items():
        conf.set_default(name, value, group=GROUP)
    if conf[GROUP].auth_section:
        # keystonemiddleware reads them without having declared them
        loading.register_auth_conf_options(conf, conf[GROUP].auth_section)
    _check_cache(conf[GROUP])
    try:
        protocol: WSGIApplication = BoundedProtocol(application, {"oslo_config_config": conf})
    except keystone_errors.ClientException as wrong:
        raise IdentityUnusable(f"[{GROUP}] can't be used: {wrong}") from wrong
    except NO_SUCH_NAME:
        raise IdentityUnusable(
            f"A value of [{GROUP}] has a $ that names no other option. Write $$ for a dollar sign."
        ) from None
    _check_address(conf)
    return protocol


def _check_address(conf: cfg.ConfigOpts) -> None:
    """Raise IdentityUnusable if every request would be answered 503.

    That is so if keystone's URL is none, or a file for TLS can't be used.
    """
    address = (login_option(conf, "auth_url") or "").lower()
    if address and not address.startswith(("http://", "https://")):
        raise IdentityUnusable(
            f"[{GROUP}]auth_url is not a URL. Write it as http://host:port/v3 or https://host/v3."
        )
    options = conf[GROUP]
    if not address.startswith("https://"):
        return
    if options.cafile and not options.insecure:
        _check_file("cafile", options.cafile, _certificates)
    for name in ("certfile", "keyfile"):
        if options[name]:
            _check_file(name, options[name], lambda path: path.open("rb").close())


def _check_file(name: str, path: str, read: Callable[[Path], object]) -> None:
    try:
        read(Path(path))
    # ssl.SSLError is one, too
    except OSError as error:
        text = error.strerror or error
        raise IdentityUnusable(f"[{GROUP}]{name}: {path} can't be used: {text}.") from error


def _certificates(path: Path) -> None:
    """Read the certificates of a file, or find their folder. Raises OSError."""
    if not path.is_dir():
        ssl.create_default_context(cafile=str(path))


def _check_cache(options: Any) -> None:
    """Raise IdentityUnusable if the packages for the token cache are missing.

    keystonemiddleware imports them during the first request only, and would fail then.
    """
    encrypted = options.memcache_security_strategy.lower() != "none"
    # keystonemiddleware 10.9 has no memcache_tls_enabled
    binary = options.memcache_sasl_enabled or getattr(options, "memcache_tls_enabled", False)
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

"""Where the tokens of a comparison come from: an option, the environment, or keystone.

No message shows a token or a password.
"""

import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # most runs need no keystone
    from keystoneauth1.session import Session

TOKEN_VARIABLE = "OS_TOKEN"  # noqa: S105 - its name
_TOKEN = re.compile(r"[\x21-\x7e]*")
#: seconds in which keystone must answer
_TIMEOUT = 60
#: with any of these, keystone is asked for tokens
_PASSWORD = ("OS_AUTH_URL", "OS_AUTH_TYPE")


class NoToken(Exception):
    """No token can be had; the message says why."""


class GivenToken:
    """A token that was given; None: requests have no token.

    Raises NoToken if it has characters that no token has, such as the end of a line.
    """

    def __init__(self, token: str | None) -> None:
        if token is not None and not _TOKEN.fullmatch(token):
            raise NoToken("The token has characters that no token has, such as a space or newline.")
        self._token = token

    def value(self) -> str | None:
        """Return the token."""
        return self._token

    def renew(self) -> bool:
        """Return False: there is no other one."""
        return False


class KeystoneToken:
    """Tokens of a keystoneauth session. Raises NoToken if keystone gives none."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._lock = threading.Lock()

    def value(self) -> str | None:
        """Return the current token; keystoneauth replaces one that expires soon."""
        # imported here, because most runs need no keystone
        from keystoneauth1.exceptions import ClientException

        try:
            with self._lock:
                return self._session.get_token()
        except (ClientException, OSError) as error:
            # an OSError is about a file with certificates
            raise NoToken(f"Keystone gives no token: {error}") from None

    def renew(self) -> bool:
        """Forget the token, so that keystone is asked for another one."""
        with self._lock:
            return bool(self._session.invalidate())


def token_from(
    environ: Mapping[str, str],
    given: str | None,
    cloud: str | None = None,
    verify: bool | str = True,
) -> GivenToken | KeystoneToken:
    """Return where tokens come from: a given one, a cloud of clouds.yaml, or the environment.

    Raises NoToken if the cloud or the environment can't be used.

    :param environ: `OS_TOKEN`, or the variables of `openstack`: `OS_AUTH_URL`, `OS_USERNAME`, …
    :param verify: how keystone's certificate is checked: by a file, by the system's or not at all
    """
    if given is not None:
        return GivenToken(given)
    if cloud is not None:
        return KeystoneToken(_session_of_cloud(cloud, verify))
    if token := environ.get(TOKEN_VARIABLE):
        return GivenToken(token)
    if any(environ.get(name) for name in _PASSWORD):
        return KeystoneToken(_session_of_environment(environ, verify))
    return GivenToken(None)


def _session_of_environment(environ: Mapping[str, str], verify: bool | str) -> "Session":
    from keystoneauth1 import exceptions, loading
    from keystoneauth1.session import Session

    kind = environ.get("OS_AUTH_TYPE", "password")
    try:
        loader: Any = loading.get_plugin_loader(kind)
        values = {}
        for option in loader.get_options():
            for name in (option, *option.deprecated):
                value = environ.get(f"OS_{name.name.upper().replace('-', '_')}")
                if value is not None and option.dest not in values:
                    values[option.dest] = value
        plugin = loader.load_from_options(**values)
    except (exceptions.ClientException, TypeError) as error:
        # some plugins raise TypeError for what is missing
        raise NoToken(f"The variables OS_… don't say how to get a token: {error}") from None
    return Session(plugin, verify=environ.get("OS_CACERT") or verify, timeout=_TIMEOUT)


def _session_of_cloud(cloud: str, verify: bool | str) -> "Session":
    try:
        from openstack.config import OpenStackConfig
    except ImportError:
        raise NoToken("--os-cloud needs the package openstacksdk, which isn't installed.") from None
    # what the command line says of certificates counts more than clouds.yaml
    given: dict[str, Any] = {"cacert": verify} if isinstance(verify, str) else {}
    if verify is False:
        given = {"verify": False}
    try:
        session = OpenStackConfig().get_one(cloud=cloud, **given).get_session()
    except Exception as error:
        # the library checks clouds.yaml hardly, and raises whatever it meets
        raise NoToken(f"The cloud {cloud!r} of clouds.yaml can't be used: {error}") from None
    if session.timeout is None:
        session.timeout = _TIMEOUT
    return session

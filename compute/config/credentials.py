"""Users and passwords that stand in URLs: they are sent, and shown nowhere. A query is refused.

Whoever reports a failed connection has its URL in the message: keystoneauth1, requests, the log.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import OptionError
from keystoneauth1.session import Session, TCPKeepAliveAdapter
from oslo_config import cfg
from requests import Response

#: options that are URLs; which of them exist depends on the plugin
URLS = ("endpoint_override", "auth_url", "endpoint")
#: what oslo.config raises for a `$` that names no other option, most with a part of a password
NO_SUCH_NAME = (
    cfg.NoSuchOptError,
    cfg.NoSuchGroupError,
    cfg.TemplateSubstitutionError,
    # the option itself
    RecursionError,
)


def auth_group(conf: cfg.ConfigOpts, group: str) -> str:
    """Return the group that has `auth_type` and the plugin's options: `auth_section` may name one.

    keystoneauth1 reads `auth_type` there; that it can, this registers it.
    """
    loading.register_auth_conf_options(conf, group)
    return conf[group].auth_section or group


def is_described(conf: cfg.ConfigOpts, group: str) -> bool:
    """Return whether a group says how to reach its service."""
    return bool(conf[auth_group(conf, group)].auth_type or conf[group].endpoint_override)


def load_session(conf: cfg.ConfigOpts, group: str) -> tuple[object, Session]:
    """Return the authentication plugin and the session of a group, whose options are registered.

    Neither knows users that stand in URLs. Raise keystoneauth1's exceptions if the plugin is
    unknown or lacks an option it must have, and OptionError, which is one of them, for a URL that
    is none, or that has a query.
    """
    with bare_urls(conf, group) as users:
        auth = loading.load_auth_from_conf_options(conf, group)
        session = loading.load_session_from_conf_options(conf, group, auth=auth)
    for origin, header in users.items():
        session.session.mount(origin, _AsUser(header))
    session.request = _at_once(session.request)  # type: ignore[method-assign]
    return auth, session


def _at_once(request: Callable[..., Response]) -> Callable[..., Response]:
    """Let no request wait for a time of day, as keystoneauth1's adapters have it.

    They do so also without a limit of their rate: after the clock was set back, each request would
    wait until it is as late as when the adapter was made.
    """

    def send(*place: str, **options: Any) -> Response:
        return request(*place, **options | {"rate_semaphore": contextlib.nullcontext()})

    return send


def load_adapter(conf: cfg.ConfigOpts, group: str) -> Adapter:
    """Return the adapter of a group, which knows no users either. It sends nothing yet.

    Raises what `load_session` raises.
    """
    auth, session = load_session(conf, group)
    with bare_urls(conf, group):
        return loading.load_adapter_from_conf_options(
            conf, group, session=session, auth=auth, raise_exc=False
        )


@contextlib.contextmanager
def bare_urls(conf: cfg.ConfigOpts, group: str) -> Iterator[dict[str, str]]:
    """Have URLs without users in the configuration; give origin → header of its user."""
    try:
        groups = {group, auth_group(conf, group)}
        # this registers the options of the plugin
        loading.load_auth_from_conf_options(conf, group)
    except NO_SUCH_NAME:
        raise OptionError(
            "a value has a $ that names no other option. Write $$ for a dollar sign."
        ) from None
    users, given = {}, {}
    for place, name in itertools.product(groups, URLS):
        value = getattr(conf[place], name, None)
        if value:
            _check(name, value)
            parts = urlsplit(value)
            user, at, host = parts.netloc.rpartition("@")
            if at:
                given[place, name] = value
                conf.set_override(name, urlunsplit(parts._replace(netloc=host)), group=place)
                users[f"{parts.scheme}://{host.lower()}/"] = _header(user)
    try:
        yield users
    finally:
        for (place, name), value in given.items():
            conf.set_override(name, value, group=place)


def _check(name: str, value: str) -> None:
    """Raise keystoneauth1's OptionError if an option should be a URL, and can't be used as one."""
    if not _is_url(value):
        raise OptionError(
            f"{name} is not a URL: {shown(value)!r}. Write it as http://host:port or "
            "https://host/path."
        )
    if "?" in value or "#" in value:
        raise OptionError(
            f"{name} has a query or a fragment, which no request can keep: {shown(value)!r} is "
            "followed by more. Leave it out."
        )


def shown(value: str) -> str:
    """Return of a URL, or what should be one, what may be shown.

    Left out are a user before the host, a query, a fragment, and what is in the place of a port
    without being one: it may be a password whose host is missing.
    """
    scheme, mark, rest = value.rpartition("@")[2].rpartition("://")
    place = re.split("[?#]", rest)[0]
    host, slash, path = place.partition("/")
    name, colon, port = host.partition(":")
    if colon and not (port.isdecimal() or name.startswith("[")):
        return f"{scheme}{mark}{name}:…"
    return f"{scheme}{mark}{host}{slash}{path}"


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _header(user: str) -> str:
    name, _, password = user.partition(":")
    return f"Basic {b64encode(f'{unquote(name)}:{unquote(password)}'.encode()).decode()}"


class _AsUser(TCPKeepAliveAdapter):
    """Sends requests with a user's header, which no log of requests shows."""

    def __init__(self, header: str) -> None:
        self._header = header
        super().__init__()

    def add_headers(self, request: Any, **options: object) -> None:
        """Add the header of the user; requests calls this for each request."""
        request.headers.setdefault("Authorization", self._header)

"""Why requests failed, in the words of an operator: the reason, and what to do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.client import HTTPException
from typing import TYPE_CHECKING

from keystoneauth1 import exceptions as ksa_exceptions
from oslo_config import cfg
from urllib3.exceptions import HTTPError

from compute.config.credentials import auth_group
from compute.config.placement import GROUP
from compute.exceptions import (
    NovaException,
    PlacementAPIConnectFailure,
    ResourceProviderSyncFailed,
)

if TYPE_CHECKING:
    from requests import Response

#: exceptions that report a lost connection, of the operating system, http.client and urllib3
OF_CONNECTIONS = (OSError, HTTPException, HTTPError)

#: exceptions that say why placement gave no answer
UNCONNECTED = (ksa_exceptions.ClientException, PlacementAPIConnectFailure)

UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 401, 403, 404

ADVICE = {
    UNAUTHORIZED: "Placement, or keystone, doesn't accept {}: check it.",
    FORBIDDEN: "Placement knows {}, but refuses the request.",
}
UNREACHABLE = (
    f"Check that the service runs and that this host reaches it, and that group [{GROUP}] and "
    "keystone's catalogue have the right URL."
)
ELSEWHERE = (
    "Placement isn't at {}: check the endpoint of group [" + GROUP + "], or keystone's catalogue. "
    "It ends before /resource_providers."
)
PLAIN = f"The server doesn't speak TLS: does the endpoint of group [{GROUP}] begin with http://?"
INCOMPLETE = (
    f"Group [{GROUP}] lacks what its auth_type needs, such as token, or username and password."
)
WRONG_ACCOUNT = f"Check the account in group [{GROUP}]."
#: the session's words, and those of a plugin without any method, for an account without credentials
_NO_CREDENTIALS = ("No valid authentication", "Authentication method required")
#: OpenSSL's words for an answer without TLS
_WRONG_VERSION = "WRONG_VERSION_NUMBER"
#: all that placement says of a path that it doesn't have; of a missing provider it says more
_NO_PATH = "The resource could not be found."
ROLE = (
    f"The user of group [{GROUP}] needs the role service (admin is enough where nothing is "
    'reshaped): see "Access to placement" in doc/agent.rst.'
)


class Refusal(Exception):
    """An answer of placement that made a request fail.

    It is the cause of the exception that is raised for it, because nova's exceptions have no place
    for the status. `text` is the body of the answer.
    """

    def __init__(self, response: Response) -> None:
        self.status = int(response.status_code)
        self.text = response.text
        self.url = response.url
        told = _without_braces_of(self.text)
        ours = told != self.text
        #: whether the server, placement or another one, doesn't know the path
        self.is_of_no_path = self.status == NOT_FOUND and (told.endswith(_NO_PATH) or not ours)
        super().__init__(told if told.startswith(f"{self.status} ") else f"{self.status} {told}")


def _url_elsewhere(error: BaseException) -> str | None:
    """Return the URL of a request whose path the server doesn't know, None for other failures."""
    refused = (one for one in causes(error) if isinstance(one, Refusal) and one.is_of_no_path)
    return next((one.url for one in refused), None)


def refused_access(error: BaseException) -> int | None:
    """Return 401 or 403 if an exception comes from such an answer of placement or keystone."""
    for one in causes(error):
        if isinstance(one, Refusal) and one.status in ADVICE:
            return one.status
        if isinstance(one, ksa_exceptions.Unauthorized):
            return UNAUTHORIZED
        if isinstance(one, ksa_exceptions.Forbidden):
            return FORBIDDEN
    return None


def has_no_connection(error: BaseException) -> bool:
    """Say whether an exception comes from a connection that failed or broke."""
    return any(
        isinstance(_lost_in_discovery(one) or one, ksa_exceptions.ConnectionError)
        for one in causes(error)
    )


def _lost_in_discovery(error: BaseException) -> BaseException | None:
    """Return the lost connection because of which keystone's versions aren't known, or None."""
    lost = error.__cause__ or error.__context__
    by_discovery = isinstance(error, ksa_exceptions.DiscoveryFailure)
    return lost if by_discovery and isinstance(lost, ksa_exceptions.ConnectionError) else None


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and its causes."""
    under: BaseException | None = error
    while under is not None:
        yield under
        under = under.__cause__


def explained(error: BaseException, user: str) -> str:
    """Return why a request failed, and what to do about missing access or a lost connection.

    :param user: whom placement sees, as `described_user` says
    """
    status = refused_access(error)
    if status is not None:
        advice = f"{ADVICE[status].format(user)} {ROLE}"
    elif elsewhere := _url_elsewhere(error):
        advice = ELSEWHERE.format(elsewhere)
    elif _WRONG_VERSION in why(error):
        advice = PLAIN
    elif any(isinstance(one, ksa_exceptions.AuthorizationFailure) for one in causes(error)):
        lacks = any(words in why(error) for words in _NO_CREDENTIALS)
        advice = INCOMPLETE if lacks else WRONG_ACCOUNT
    elif has_no_connection(error):
        advice = UNREACHABLE
    else:
        return why(error)
    return f"{why(error).rstrip('.')}. {advice}"


def why(error: BaseException) -> str:
    """Return the message of an exception; for a lost connection the URL and the first cause.

    keystoneauth1 repeats the message of requests, which repeats that of urllib3. Of an answer of
    placement in the message, status, title and detail are kept.
    """
    if isinstance(error, ResourceProviderSyncFailed) and error.__cause__ is not None:
        # The exception itself has no details; its cause does.
        return f"{str(error).rstrip('.')}: {why(error.__cause__)}"
    cause = error.__cause__
    if isinstance(error, NovaException) and isinstance(cause, UNCONNECTED):
        # Some messages have that of the cause in them.
        if str(cause) in str(error):
            return str(error).replace(str(cause), why(cause))
        return f"{str(error).rstrip('.')}: {why(cause)}"
    if isinstance(error.__cause__, Refusal) and error.__cause__.text not in str(error):
        return f"{str(error).rstrip('.')}: {error.__cause__}"
    if lost := _lost_in_discovery(error):
        return why(lost)
    if not isinstance(error, ksa_exceptions.ConnectionError):
        return re.sub(r'\{\s*"errors".*', _without_braces, str(error), flags=re.DOTALL)
    cause = error
    # The context may be an exception that was handled when the connection was lost.
    while isinstance(under := cause.__cause__ or cause.__context__, OF_CONNECTIONS):
        cause = under
    reason = (isinstance(cause, OSError) and cause.strerror) or cause
    return f"{str(error).partition(': ')[0]}: {reason}"


def _without_braces(found: re.Match[str]) -> str:
    return _without_braces_of(found[0])


def _without_braces_of(text: str) -> str:
    """Return `409 Conflict: ...` if the text begins with an answer of placement."""
    try:
        answer, end = json.JSONDecoder().raw_decode(text)
        (first, *_) = answer["errors"]
        told = f"{first['status']} {first['title']}: {first['detail']}"
    except (ValueError, LookupError, TypeError):
        return text
    return " ".join(told.split()) + text[end:]


def described_user(conf: cfg.ConfigOpts) -> str:
    """Say whose credentials the group has, without any secret: ``user 'nova' of [placement]``."""
    group = auth_group(conf, GROUP)
    for name in ("username", "user_id", "application_credential_id"):
        value = getattr(conf[group], name, None)
        if value:
            what = "application credential" if name.startswith("application") else "user"
            return f"{what} {value!r} of group [{group}]"
    if conf[group].auth_type == "admin_token":
        return f"the token of group [{group}]"
    return f"the user of group [{group}]"

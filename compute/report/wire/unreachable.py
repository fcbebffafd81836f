"""What the report client does where placement can't be reached, or may not be asked.

The decorators `safe_connect` and `rebuilds_adapter` are for methods of an object that has a
`transport`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from keystoneauth1 import exceptions as ksa_exc
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from compute import exceptions
from compute.report.wire.transport import Connected, Transport

LOG = logging.getLogger(__name__)

#: what `safe_connect` takes for an unreachable placement
_UNREACHABLE = (
    ksa_exc.EndpointNotFound,
    ksa_exc.MissingAuthPlugin,
    ksa_exc.Unauthorized,
    ksa_exc.DiscoveryFailure,
    ksa_exc.ConnectFailure,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=Connected)


def safe_connect(
    method: Callable[Concatenate[_C, _P], _R],
) -> Callable[Concatenate[_C, _P], _R | None]:
    """Return None, with a warning, if placement can't be reached or refuses our credentials.

    A decorated method returns None in no case of success, so its callers treat None as failure.
    HTTP errors and other exceptions pass.
    """

    @wraps(method)
    def safely(self: _C, *args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return method(self, *args, **kwargs)
        except ksa_exc.EndpointNotFound:
            self.transport.warn_limited("The placement API endpoint was not found.")
            self.transport.connect_anew()
        except ksa_exc.MissingAuthPlugin:
            self.transport.warn_limited(
                "No authentication information found for placement API. Set it in [placement]."
            )
        except ksa_exc.Unauthorized:
            self.transport.warn_limited(
                "Placement service credentials do not work. Optional use of placement is disabled."
            )
        except ksa_exc.DiscoveryFailure:
            self.transport.warn_limited("Discovering suitable URL for placement API failed.")
        except ksa_exc.ConnectFailure as lost:
            LOG.warning("Placement API service is not responding: %s", lost)
        return None

    return safely


def rebuilds_adapter(
    method: Callable[Concatenate[_C, _P], _R],
) -> Callable[Concatenate[_C, _P], _R]:
    """Let every exception pass, but connect anew after placement's endpoint was not found."""

    @wraps(method)
    def watched(self: _C, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(self, *args, **kwargs)
        except ksa_exc.EndpointNotFound:
            self.transport.connect_anew()
            raise

    return watched


def never_sent(failure: BaseException) -> bool:
    """Say whether a request that failed never got as far as placement.

    That is sure where there was no endpoint, no token or no connection. A connection that breaks
    later may have carried the whole request.
    """
    before = (ksa_exc.CatalogException, ksa_exc.DiscoveryFailure, ksa_exc.AuthorizationFailure)
    if isinstance(failure, (*before, ksa_exc.MissingAuthPlugin)):
        return True
    waiting, seen = [failure], set()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        if isinstance(cause, (NewConnectionError, ConnectTimeoutError)):
            return True
        known = (cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args)
        waiting += [one for one in known if isinstance(one, BaseException)]
    return not isinstance(failure, ksa_exc.ClientException)


def reached(
    transport: Transport,
    send: Callable[[], _R],
    failure: exceptions.NovaException | None = None,
) -> _R:
    """Return what `send` returns; raise `failure` where `safe_connect` would warn.

    That is for parts of an update: whoever began it logs the one failure, with its cause. Without
    `failure` PlacementAPIConnectFailure is raised.
    """
    try:
        return send()
    except _UNREACHABLE as lost:
        if isinstance(lost, ksa_exc.EndpointNotFound):
            transport.connect_anew()
        raise failure or exceptions.PlacementAPIConnectFailure() from lost


def report_construction_failure(failure: Exception) -> None:
    """Log why a report client could not be made, in words an operator can act on."""
    advice: Sequence[tuple[type[Exception] | tuple[type[Exception], ...], str]] = (
        (ksa_exc.EndpointNotFound, "The placement API endpoint was not found."),
        (
            (ksa_exc.MissingAuthPlugin, ksa_exc.NoMatchingPlugin, ksa_exc.OptionError),
            "No usable authentication information found for placement API: check [placement].",
        ),
        (ksa_exc.Unauthorized, "Placement service credentials do not work."),
        (ksa_exc.DiscoveryFailure, "Discovering suitable URL for placement API failed."),
        (
            (ksa_exc.ConnectFailure, ksa_exc.ConnectTimeout, ksa_exc.RequestTimeout),
            "Placement API service is not responding.",
        ),
    )
    for kinds, words in advice:
        if isinstance(failure, kinds):
            LOG.error("%s (%s)", words, failure)
            return
    LOG.error("Failed to initialize placement client.", exc_info=failure)

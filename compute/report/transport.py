"""How the report client reaches placement: options, adapter, verbs, and what a lost call means.

Everything goes through a keystoneauth1 adapter that doesn't raise on HTTP status, so a caller
looks at the response; it is truthy below 400, and then it is a success that placement promises. A
success of another kind is a `ClientException`, as is what keystoneauth1 raises when there is
nothing to answer (compute.md §3.1, §3.3).
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from keystoneauth1 import exceptions as ksa_exc
from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from compute import exceptions
from compute.report.promised import as_promised

if TYPE_CHECKING:
    from requests import Response

LOG = logging.getLogger(__name__)

GROUP = "placement"
CONCURRENT_UPDATE = "placement.concurrent_update"
INVENTORY_IN_USE = "placement.inventory.inuse"
ATTEMPTS = 4
SILENT_WARNINGS = 10
#: seconds to wait for an answer unless `[placement]timeout` says otherwise
TIMEOUT = 60

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound="Transport")


def list_options() -> list[cfg.Opt]:
    """The options of group [placement] that don't depend on the authentication plugin."""
    return [
        *loading.get_auth_common_conf_options(),
        *loading.get_session_conf_options(),
        *loading.get_adapter_conf_options(include_deprecated=False),
    ]


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register group [placement] on `conf`: keystoneauth1's options with our defaults.

    Those of the plugin that `[placement]auth_type` names are added when the adapter is built.
    """
    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    loading.register_adapter_conf_options(conf, GROUP, include_deprecated=False)
    # keystoneauth1 has none: a placement that never answers would hold the agent for ever
    conf.set_default("timeout", TIMEOUT, group=GROUP)
    conf.set_default("service_type", "placement", group=GROUP)
    conf.set_default("valid_interfaces", ["internal", "public"], group=GROUP)


def build_adapter(conf: cfg.ConfigOpts) -> Adapter:
    """An adapter as group [placement] of `conf` describes it. It sends nothing yet.

    Raises keystoneauth1's exceptions if the plugin is unknown or lacks an option it must have.
    """
    auth = loading.load_auth_from_conf_options(conf, GROUP)
    session = loading.load_session_from_conf_options(conf, GROUP, auth=auth)
    return loading.load_adapter_from_conf_options(
        conf, GROUP, session=session, auth=auth, raise_exc=False
    )


class Transport:
    """The connection to placement: an adapter, the four verbs, and how often to complain."""

    def __init__(
        self,
        adapter: Adapter | None,
        conf: cfg.ConfigOpts,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._adapter = adapter
        self._conf = conf
        self._sleep = sleep
        self._warn_count = 0
        self._client = self._create_client()

    def _create_client(self) -> Adapter:
        """The adapter that was given, else a fresh one."""
        client = self._adapter or build_adapter(self._conf)
        if client.additional_headers is None:
            client.additional_headers = {}
        # Others may be there already: PlacementDirect names its caller's token and roles.
        if "accept" not in {name.lower() for name in client.additional_headers}:
            client.additional_headers["accept"] = "application/json"
        return client

    def get(
        self, url: str, version: str | None = None, global_request_id: str | None = None
    ) -> Response:
        """GET `url` at microversion `version`; None: no microversion header, that is 1.0."""
        response = self._client.get(url, **_request(version, global_request_id))
        return as_promised("GET", url, response)

    def post(
        self,
        url: str,
        data: Any,
        version: str | None = None,
        global_request_id: str | None = None,
    ) -> Response:
        """POST `data` as JSON."""
        response = self._client.post(url, json=data, **_request(version, global_request_id))
        return as_promised("POST", url, response)

    def put(
        self,
        url: str,
        data: Any,
        version: str | None = None,
        global_request_id: str | None = None,
    ) -> Response:
        """PUT `data` as JSON; None: no body."""
        sent = {} if data is None else {"json": data}
        response = self._client.put(url, **sent, **_request(version, global_request_id))
        return as_promised("PUT", url, response)

    def delete(
        self, url: str, version: str | None = None, global_request_id: str | None = None
    ) -> Response:
        """DELETE `url`."""
        response = self._client.delete(url, **_request(version, global_request_id))
        return as_promised("DELETE", url, response)

    def _warn_limited(self, message: str, *args: object) -> None:
        """Warn once, then be silent the next ten times: what is wrong here stays wrong a while."""
        if self._warn_count:
            self._warn_count -= 1
            return
        self._warn_count = SILENT_WARNINGS
        LOG.warning(message, *args)

    def _endpoint_missing(self) -> None:
        self._warn_limited("The placement API endpoint was not found.")
        # The catalogue it was looked for in is kept by the adapter; only a new one looks again.
        self._client = self._create_client()


def _request(version: str | None, global_request_id: str | None) -> dict[str, Any]:
    headers = {}
    if version is not None:
        # Set here and not by keystoneauth1's `microversion`, so that it wins over a default
        # header of the adapter and needs no service type.
        headers["OpenStack-API-Version"] = f"placement {version}"
    if global_request_id is not None:
        headers["X-Openstack-Request-Id"] = global_request_id
    return {"headers": headers, "raise_exc": False}


def global_id(context: Any) -> str | None:
    """The request id that ties placement's log lines to `context`; None without a context."""
    return getattr(context, "global_id", None)


def error_code(response: Response) -> str | None:
    """The `code` of the first error in the body, or None: only answers from 1.23 up have one."""
    return _first_error(response).get("code")


def error_detail(response: Response) -> str:
    """The `detail` of the first error in the body, or the body as it is."""
    return _first_error(response).get("detail") or response.text


def _first_error(response: Response) -> dict[str, Any]:
    try:
        first = response.json()["errors"][0]
    except (ValueError, LookupError, TypeError):
        return {}
    return first if isinstance(first, dict) else {}


def safe_connect(
    method: Callable[Concatenate[_C, _P], _R],
) -> Callable[Concatenate[_C, _P], _R | None]:
    """Answer None, with a warning, where placement can't be reached or won't let us in.

    A decorated method answers None for nothing else that counts as success, so its callers treat
    None as failure. HTTP errors are not its business, and other exceptions pass.
    """

    @wraps(method)
    def safely(self: _C, *args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return method(self, *args, **kwargs)
        except ksa_exc.EndpointNotFound:
            self._endpoint_missing()
        except ksa_exc.MissingAuthPlugin:
            self._warn_limited(
                "No authentication information found for placement API. Set it in [placement]."
            )
        except ksa_exc.Unauthorized:
            self._warn_limited(
                "Placement service credentials do not work. Optional use of placement is disabled."
            )
        except ksa_exc.DiscoveryFailure:
            self._warn_limited("Discovering suitable URL for placement API failed.")
        except ksa_exc.ConnectFailure as lost:
            LOG.warning("Placement API service is not responding: %s", lost)
        return None

    return safely


def rebuilds_adapter(
    method: Callable[Concatenate[_C, _P], _R],
) -> Callable[Concatenate[_C, _P], _R]:
    """Let every exception pass, but look for a missing endpoint with a new adapter next time."""

    @wraps(method)
    def watched(self: _C, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(self, *args, **kwargs)
        except ksa_exc.EndpointNotFound:
            self._endpoint_missing()
            raise

    return watched


def never_sent(failure: BaseException) -> bool:
    """Whether a request that failed never got as far as placement.

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


def reached(answer: _R | None) -> _R:
    """The answer of a `safe_connect` method. PlacementAPIConnectFailure if it got none."""
    if answer is None:
        raise exceptions.PlacementAPIConnectFailure()
    return answer


class Retry(Exception):
    """Raised within a `retries` method: another writer was quicker, do it again."""

    def __init__(self, operation: str, reason: str) -> None:
        super().__init__(f"{operation}: {reason}")
        self.operation = operation
        self.reason = reason


def retries(
    method: Callable[Concatenate[_C, _P], _R],
) -> Callable[Concatenate[_C, _P], _R | bool]:
    """Run the method again when it raises Retry: four times in all, waiting ever longer.

    After the last attempt an error is logged and the answer is False.
    """

    @wraps(method)
    def patiently(self: _C, *args: _P.args, **kwargs: _P.kwargs) -> _R | bool:
        failed: Retry | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(random.uniform(0, 2 * attempt))
            try:
                return method(self, *args, **kwargs)
            except Retry as again:
                failed = again
                LOG.debug("Unable to %s because %s; trying again.", again.operation, again.reason)
        if failed:
            LOG.error(
                "Failed scheduler client operation %s: out of retries: %s",
                failed.operation,
                failed.reason,
            )
        return False

    return patiently


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

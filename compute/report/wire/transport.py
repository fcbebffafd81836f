"""How the report client sends requests: the verbs, and retries.

Every request goes through a keystoneauth1 adapter that doesn't raise on HTTP status. So a caller
looks at the response. A response below 400 is truthy, and its status is one that placement
promises. Any other success raises a `ClientException`, as keystoneauth1 does when there is no
answer at all (compute.md §3.1, §3.3).

The decorator `retries`, and those of `unreachable`, are for methods of an object that has a
`transport`.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from keystoneauth1 import exceptions as ksa_exc

from compute.report.wire.address import Address
from compute.report.wire.context import Context
from compute.report.wire.status_contract import as_promised, is_others

if TYPE_CHECKING:
    from requests import Response

LOG = logging.getLogger(__name__)

CONCURRENT_UPDATE = "placement.concurrent_update"
INVENTORY_IN_USE = "placement.inventory.inuse"
#: The service's own words; a proxy that gave up waiting doesn't have them.
NOT_DONE = "Nothing was changed."
ATTEMPTS = 4
SILENT_WARNINGS = 10

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound="Connected")


class Sender(Protocol):
    """A keystoneauth1 adapter, or an object that sends requests as one does."""

    #: headers that go with each request, name → value, or None
    additional_headers: Any

    def get(self, url: str, **kwargs: object) -> Response:
        """GET `url`."""

    def post(self, url: str, **kwargs: object) -> Response:
        """POST to `url`."""

    def put(self, url: str, **kwargs: object) -> Response:
        """PUT `url`."""

    def delete(self, url: str, **kwargs: object) -> Response:
        """DELETE `url`."""


class Connected(Protocol):
    """An object that sends requests through a transport."""

    transport: Transport


class Transport:
    """The connection to placement: an adapter, the four verbs, and how often to warn.

    :param connect: returns the adapter; it is called again after placement's endpoint was not found
    :param sleep: waits so many seconds between attempts
    :param on_connect: called before each call of `connect`: another placement may answer then
    :param on_request: called after each request with its method, and the status of the answer or
        None; None: nobody counts
    """

    def __init__(
        self,
        connect: Callable[[], Sender],
        *,
        sleep: Callable[[float], None] = time.sleep,
        on_connect: Callable[[], None] = lambda: None,
        on_request: Callable[[str, int | None], None] | None = None,
    ) -> None:
        self._connect = connect
        self._on_request = on_request
        self._on_connect = on_connect
        self._silent = 0
        self.sleep = sleep
        self._address = Address()
        self.adapter = self._new_adapter()

    def _new_adapter(self) -> Sender:
        self._on_connect()
        return self._prepared(self._connect())

    def _prepared(self, adapter: Sender) -> Sender:
        if adapter.additional_headers is None:
            adapter.additional_headers = {}
        # Others may be there already: PlacementDirect names its caller's token and roles.
        if "accept" not in {name.lower() for name in adapter.additional_headers}:
            adapter.additional_headers["accept"] = "application/json"
        return adapter

    def get(
        self, url: str, version: str | None = None, global_request_id: str | None = None
    ) -> Response:
        """GET `url` at microversion `version`; None: no microversion header, that is 1.0."""
        options = _request(version, global_request_id)
        return self._answer("GET", url, lambda: self.adapter.get(url, **options))

    def post(
        self,
        url: str,
        data: object,
        version: str | None = None,
        global_request_id: str | None = None,
    ) -> Response:
        """POST `data` as JSON."""
        options = {"json": data, **_request(version, global_request_id)}
        return self._answer("POST", url, lambda: self.adapter.post(url, **options))

    def put(
        self,
        url: str,
        data: object,
        version: str | None = None,
        global_request_id: str | None = None,
    ) -> Response:
        """PUT `data` as JSON; None: no body."""
        options = ({} if data is None else {"json": data}) | _request(version, global_request_id)
        return self._answer("PUT", url, lambda: self.adapter.put(url, **options))

    def delete(
        self, url: str, version: str | None = None, global_request_id: str | None = None
    ) -> Response:
        """DELETE `url`."""
        options = _request(version, global_request_id)
        return self._answer("DELETE", url, lambda: self.adapter.delete(url, **options))

    def warn_limited(self, message: str, *args: object) -> None:
        """Log a warning once, then stay silent the next ten times: the cause stays for a while."""
        if self._silent:
            self._silent -= 1
            return
        self._silent = SILENT_WARNINGS
        LOG.warning(message, *args)

    def connect_anew(self) -> None:
        """Make a new adapter.

        The adapter keeps the catalogue in which the endpoint was not found; only a new adapter
        looks again.
        """
        self.adapter = self._new_adapter()

    def _look_up_anew(self) -> None:
        """Go where keystone's catalogue has placement now, if that is somewhere else.

        The request that failed stays failed; the next one goes there.
        """
        adapter = self._address.moved(self._connect)
        if adapter is not None and adapter is not self.adapter:
            self._on_connect()
            self.adapter = self._prepared(adapter)

    def _answer(self, method: str, url: str, send: Callable[[], Response]) -> Response:
        """Send a request; log at DEBUG what was asked, the answer's status and the duration."""
        begun = time.monotonic()
        try:
            response = send()
        except Exception as failure:
            took = time.monotonic() - begun
            LOG.debug("%s %s: %s after %.3f s", method, url, type(failure).__name__, took)
            if self._on_request is not None:
                self._on_request(method, None)
            if isinstance(failure, ksa_exc.ConnectFailure):
                self._look_up_anew()
            raise
        took = time.monotonic() - begun
        if self._on_request is not None:
            self._on_request(method, response.status_code)
        LOG.debug("%s %s: %s in %.3f s", method, url, response.status_code, took)
        if is_others(url, response):
            self._look_up_anew()
        else:
            self._address.note(url, response)
        return as_promised(method, url, response)


def _request(version: str | None, global_request_id: str | None) -> dict[str, object]:
    headers = {}
    if version is not None:
        # Set here and not by keystoneauth1's `microversion`, so that it wins over a default
        # header of the adapter and needs no service type.
        headers["OpenStack-API-Version"] = f"placement {version}"
    if global_request_id is not None:
        headers["X-Openstack-Request-Id"] = global_request_id
    return {"headers": headers, "raise_exc": False}


def global_id(context: Context) -> str | None:
    """Return the request id of a context, or None."""
    return getattr(context, "global_id", None)


def error_code(response: Response) -> str | None:
    """Return the `code` of the first error in the body, or None: there is one from 1.23 on."""
    return _first_error(response).get("code")


def error_detail(response: Response) -> str:
    """Return the `detail` of the first error in the body, or the body as it is."""
    return _first_error(response).get("detail") or response.text


def _first_error(response: Response) -> dict[str, Any]:
    try:
        first = response.json()["errors"][0]
    except (ValueError, LookupError, TypeError):
        return {}
    return first if isinstance(first, dict) else {}


class Retry(Exception):
    """Raised within a `retries` method: another writer was quicker, so run the method again."""

    def __init__(self, operation: str, reason: str) -> None:
        super().__init__(f"{operation}: {reason}")
        self.operation = operation
        self.reason = reason


def retries(
    method: Callable[Concatenate[_C, _P], _R],
) -> Callable[Concatenate[_C, _P], _R | bool]:
    """Run the method again when it raises Retry: four times in all, waiting ever longer.

    After the last attempt an error is logged, and False is returned.
    """

    @wraps(method)
    def patiently(self: _C, *args: _P.args, **kwargs: _P.kwargs) -> _R | bool:
        failed: Retry | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                self.transport.sleep(random.uniform(0, 2 * attempt))
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

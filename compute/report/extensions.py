"""What the placement service offers beyond OpenStack's API, and requests to it (extensions.md 1).

OpenStack Placement offers nothing, and the client does without. One address may belong to services
of both kinds: a load balancer may send one request to Berth and the next one to OpenStack
Placement. So each request may find that nothing is offered, and no finding is for good.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from compute.report.promised import NotPlacementsAnswer
from compute.report.transport import Transport, global_id

if TYPE_CHECKING:
    from requests import Response

LOG = logging.getLogger(__name__)

PREFIX = "/berth/v1"
#: the microversion by which queries and allocations are judged
VERSION = "1.36"
#: seconds after which the service is asked again what it offers
ASKED_AGAIN = 600.0


class Offers:
    """What the service said that it offers. It is forgotten after ASKED_AGAIN seconds.

    :param clock: monotonic time in seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: tuple[float, frozenset[str]] | None = None

    def current(self) -> frozenset[str] | None:
        """Return the names of what is offered; None if the service has to be asked."""
        known = self._known
        if known is None or self._clock() - known[0] >= ASKED_AGAIN:
            return None
        return known[1]

    def note(self, names: Collection[str]) -> None:
        """Remember what the service just said."""
        self._known = self._clock(), frozenset(names)

    def forget(self) -> None:
        """Ask again the next time: another service may answer now."""
        self._known = None


class Extensions:
    """Requests below `/berth/v1`. `context` is any object with a `global_id`, or None.

    :param enabled: whether extensions are used at all
    """

    def __init__(self, transport: Transport, offers: Offers, enabled: bool) -> None:
        self.transport = transport
        self._offers = offers
        self._enabled = enabled

    def has(self, context: Any, name: str) -> bool:
        """Say whether the service offers the extension; ask it if that isn't known.

        Raise ClientException if placement is unreachable.
        """
        if not self._enabled:
            return False
        known = self._offers.current()
        if known is None:
            known = self._discover(context)
        return name in known

    def _discover(self, context: Any) -> frozenset[str]:
        offered: list[str] = []
        try:
            response = self.transport.get(
                PREFIX, version=VERSION, global_request_id=global_id(context)
            )
            if response.status_code == 200:
                offered = response.json().get("offers", [])
        except NotPlacementsAnswer as foreign:
            LOG.debug("%s", foreign)
        self._offers.note([name for name in offered if isinstance(name, str)])
        return self._offers.current() or frozenset()

    def get(self, context: Any, path: str) -> Response | None:
        """GET a path below the prefix; None if whoever answered doesn't offer it to us.

        Raise ClientException if placement is unreachable.
        """
        return self._unless_missing(
            path, self.transport.get(PREFIX + path, VERSION, global_id(context))
        )

    def post(self, context: Any, path: str, body: Any) -> Response | None:
        """POST to a path below the prefix; otherwise as `get`."""
        return self._unless_missing(
            path, self.transport.post(PREFIX + path, body, VERSION, global_id(context))
        )

    def put(self, context: Any, path: str, body: Any) -> Response | None:
        """PUT a path below the prefix; otherwise as `get`."""
        return self._unless_missing(
            path, self.transport.put(PREFIX + path, body, VERSION, global_id(context))
        )

    def _unless_missing(self, path: str, response: Response) -> Response | None:
        """Return the response; None if it means that the extension isn't there for this caller."""
        if response.status_code == 403:
            LOG.warning(
                "Placement doesn't let this user ask %s%s; falling back to single requests.",
                PREFIX,
                path.partition("?")[0],
            )
        if response.status_code in (403, 404):
            self._offers.note(())
            return None
        return response

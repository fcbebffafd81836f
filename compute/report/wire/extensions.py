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

from compute.report.wire.context import Context
from compute.report.wire.status_contract import NotPlacementsAnswer
from compute.report.wire.transport import Transport, error_detail, global_id
from compute.report.wire.unreachable import rebuilds_adapter

if TYPE_CHECKING:
    from requests import Response

LOG = logging.getLogger(__name__)

PREFIX = "/berth/v1"
#: the microversion by which queries and allocations are judged
VERSION = "1.36"
#: seconds after which the service is asked again what it offers
ASKED_AGAIN = 600.0


class Offers:
    """What is known of the service's offers. A finding is forgotten after ASKED_AGAIN seconds.

    :param clock: monotonic time in seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: when each offer was found to be there; None stands for all others
        self._found: dict[str | None, tuple[float, bool]] = {}

    def has(self, name: str) -> bool | None:
        """Say whether the offer is there; None if the service has to be asked."""
        found = self._found
        when, is_there = found.get(name) or found.get(None) or (None, False)
        if when is None or self._clock() - when >= ASKED_AGAIN:
            return None
        return is_there

    def note(self, name: str, is_there: bool) -> None:
        """Remember that the service just did, or didn't, what the offer stands for."""
        self._found = self._found | {name: (self._clock(), is_there)}

    def note_all(self, names: Collection[str]) -> None:
        """Remember that the service just said that it offers these, and nothing else."""
        now = self._clock()
        self._found = {None: (now, False)} | dict.fromkeys(names, (now, True))

    def forget(self) -> None:
        """Ask again the next time: another service may answer now."""
        self._found = {}


class Extensions:
    """Requests below `/berth/v1`.

    A request tells by itself whether the service offers what it asks for. So the service is asked
    for the list of its offers only by a caller who has to know beforehand.

    :param enabled: whether extensions are used at all
    """

    def __init__(self, transport: Transport, offers: Offers, enabled: bool) -> None:
        self.transport = transport
        self._offers = offers
        self._enabled = enabled

    def has(self, context: Context, name: str) -> bool:
        """Say whether the service offers the extension; ask it if that isn't known.

        Raises ClientException if placement is unreachable.
        """
        if not self._enabled:
            return False
        known = self._offers.has(name)
        return name in self._discover(context) if known is None else known

    def _discover(self, context: Context) -> frozenset[str]:
        try:
            response = self.transport.get(
                PREFIX, version=VERSION, global_request_id=global_id(context)
            )
        except NotPlacementsAnswer as foreign:
            LOG.debug("%s", foreign)
            self._offers.note_all(())
            return frozenset()
        offered: Any = response.json().get("offers") if response.status_code == 200 else ()
        offered = offered if isinstance(offered, list) else ()
        names = frozenset(name for name in offered if isinstance(name, str))
        if response.status_code < 500:
            self._offers.note_all(names)
        return names

    @rebuilds_adapter
    def get(self, context: Context, name: str, path: str) -> Response | None:
        """GET a path below the prefix; None if whoever answers doesn't offer `name` to us.

        Raises ClientException if placement is unreachable.
        """
        return self._read(name, path, self.transport.get, context)

    @rebuilds_adapter
    def query(self, context: Context, name: str, path: str, body: object) -> Response | None:
        """POST a question to a path below the prefix; otherwise as `get`."""
        return self._read(name, path, self.transport.post, context, body)

    @rebuilds_adapter
    def put(self, context: Context, name: str, path: str, body: object) -> Response | None:
        """PUT a path below the prefix; otherwise as `get`.

        An answer that isn't placement's tells nothing of the write: that is a ClientException, too.
        """
        return self._asked(name, path, self.transport.put, context, body)

    def _read(
        self, name: str, path: str, send: Callable[..., Response], context: Context, *body: object
    ) -> Response | None:
        known = self._offers.has(name)
        try:
            return self._asked(name, path, send, context, *body)
        except NotPlacementsAnswer as foreign:
            if known:
                raise
            LOG.debug("%s", foreign)
            self._offers.note_all(())
            return None

    def _asked(
        self, name: str, path: str, send: Callable[..., Response], context: Context, *body: object
    ) -> Response | None:
        if not self._enabled or self._offers.has(name) is False:
            return None
        response = send(PREFIX + path, *body, version=VERSION, global_request_id=global_id(context))
        if response.status_code == 403:
            LOG.debug(
                "Placement doesn't let this user ask %s%s; falling back to single requests.",
                PREFIX,
                path.partition("?")[0],
            )
            self._offers.note(name, False)
            return None
        if response.status_code in (404, 405, 501) and not _names(response, path):
            self._offers.note_all(())
            return None
        if response.status_code < 500:
            self._offers.note(name, True)
        return response


def _names(response: Response, path: str) -> bool:
    """Say whether a 404 means the object of the path, and not the path itself."""
    return path.partition("?")[0].rpartition("/")[2] in error_detail(response)

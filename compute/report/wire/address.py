"""Where placement answers, and when keystone's catalogue is asked for it again.

keystoneauth1 keeps the catalogue as long as its token is valid. Meanwhile placement may have moved.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions as ksa_exc

if TYPE_CHECKING:
    from requests import Response

LOG = logging.getLogger(__name__)

#: seconds between two questions: if placement is down, each request of each host fails
PAUSE = 30.0


class Address:
    """Knows where placement answered last, and finds out whether it has moved."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: float | None = None
        self._last: str | None = None

    def note(self, url: str, response: Response) -> None:
        """Remember who answered a request to `url`, a path below placement's address."""
        asked = response.url
        if isinstance(asked, str) and asked.endswith(url):
            self._last = asked.removesuffix(url).rstrip("/")

    def moved(self, connect: Callable[[], Any]) -> Any | None:
        """Return a new adapter if placement is at another address now, else None.

        `connect` makes an adapter. Nothing is asked if it was asked a moment ago, or is being asked
        by another thread; a question that fails is asked again later.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            now = time.monotonic()
            if self._asked is not None and now - self._asked < PAUSE:
                return None
            self._asked = now
            return self._new(connect)
        finally:
            self._lock.release()

    def _new(self, connect: Callable[[], Any]) -> object:
        try:
            adapter = connect()
            # An adapter of a caller's own may not know, as one that has no session.
            ask = getattr(adapter, "get_endpoint", None)
            if getattr(adapter, "session", ask) is None:
                return None
            where = None if ask is None else ask()
        except ksa_exc.ClientException as error:
            LOG.debug("Placement's address can't be looked up: %s", error)
            return None
        if not isinstance(where, str) or where.rstrip("/") == self._last:
            return None
        if self._last is not None:
            LOG.warning("Placement has moved from %s to %s", self._last, where)
        return adapter

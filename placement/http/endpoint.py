"""What the dispatch of requests knows of an endpoint."""

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from placement.http.environ import JSON
from placement.microversions import Version

if TYPE_CHECKING:
    from placement.http.call import Answer

#: answers a `Call`; the parameters of the path follow by name
Handler = Callable[..., "Answer"]


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A method of a path, from a microversion on.

    If a path has several endpoints with the same method, the newest one that exists in the
    request's version is called.

    :param function: the handler: its module in `placement.handlers`, or its feature, and its name
    :param reads: whether the request's content must be JSON
    :param answers: whether the response has a body in one of `forms`, which the client must accept
    :param forms: the media types that the client may choose from, or the only one
    :param content_first: whether the content type is checked before the microversion
    :param before: status of the response to versions older than `since`
    :param offer: how the discovery of extensions names the endpoint; None: it doesn't
    :param home: the full name of the handler's module; None: it is one of `placement.handlers`
    """

    method: str
    function: str
    since: Version = (1, 0)
    reads: bool = False
    answers: bool = False
    forms: tuple[str, ...] = (JSON,)
    content_first: bool = False
    before: int = 404
    offer: str | None = None
    home: str | None = None

    @functools.cached_property
    def handler(self) -> Handler:
        """The handler, whose module is imported when a process first needs it."""
        module, _, name = self.function.rpartition(".")
        home = importlib.import_module(self.home or f"placement.handlers.{module}")
        found: Handler = getattr(home, name)
        return found

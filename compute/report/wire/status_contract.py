"""Which statuses placement promises for which request, and what is none of its successes.

A redirection, a 202, a 200 without a body: such an answer comes from a proxy, or from another
service at placement's address. It doesn't tell whether the request was carried out, so it must not
pass for a success. A proxy's own 404 must not pass for placement's word either, that there is no
such provider or consumer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from keystoneauth1 import exceptions as ksa_exc

if TYPE_CHECKING:
    from requests import Response


class NotPlacementsAnswer(ksa_exc.InvalidResponse):
    """An answer that placement doesn't give, so it tells nothing; a ClientException."""

    def __init__(self, method: str, url: str, response: Response, wrong: str) -> None:
        super().__init__(response=response)
        self.message = f"{method} {url} was answered {response.status_code}, {wrong}"
        self.args = (self.message,)


@dataclass(frozen=True)
class _Promise:
    method: str
    path: re.Pattern[str]
    statuses: frozenset[int]
    #: 200 has one in any case
    has_body: bool = False


def _promise(method: str, path: str, *statuses: int, has_body: bool = False) -> _Promise:
    return _Promise(method, re.compile(f".*{path}"), frozenset(statuses), has_body)


_RESOURCES = (
    "/(resource_providers|allocations|allocation_candidates|usages|traits|resource_classes|reshaper)"
    "(/.*)?"
)

# The first that matches counts, at the microversions that the report client uses. Of other paths
# nothing is promised but that bodies are JSON.
_PROMISES = (
    *(_promise(method, "/berth/v1(/.*)?", 200) for method in ("GET", "POST", "PUT")),
    _promise("GET", "/traits/[^/]+", 204),
    _promise("GET", _RESOURCES, 200),
    _promise("POST", "/resource_providers", 200, 201, has_body=True),
    _promise("POST", "/(allocations|reshaper)", 204),
    _promise("POST", _RESOURCES, 201),
    _promise("PUT", "/allocations/[^/]+", 204),
    _promise("PUT", "/(traits|resource_classes)/[^/]+", 201, 204),
    _promise("PUT", _RESOURCES, 200),
    _promise("DELETE", _RESOURCES, 204),
)


# A 404 of these means that there is no such provider or consumer.
_ONE = re.compile(".*/(resource_providers|allocations)/[^/]+")


def as_promised(method: str, url: str, response: Response) -> Response:
    """Return the response: a success that placement promises, or an error (400 and above).

    Raises NotPlacementsAnswer for all else, also where a body isn't whole, or isn't JSON, and where
    placement wouldn't send the body of a 404.
    """
    path = urlsplit(url).path
    if response.status_code >= 400:
        if response.status_code == 404 and _ONE.fullmatch(path) and _is_foreign(response.content):
            raise NotPlacementsAnswer(method, url, response, "with a body that isn't placement's")
        return response
    promise = next(
        (one for one in _PROMISES if one.method == method and one.path.fullmatch(path)), None
    )
    if promise is not None and response.status_code not in promise.statuses:
        expected = " or ".join(str(status) for status in sorted(promise.statuses))
        raise NotPlacementsAnswer(method, url, response, f"and placement promises {expected}")
    body = response.content.strip()
    is_whole = body.startswith(b"{") and body.endswith(b"}")
    needs_body = promise is not None and (promise.has_body or response.status_code == 200)
    if not is_whole and (body or needs_body):
        wrong = "with a body that isn't placement's" if body else "without a body"
        raise NotPlacementsAnswer(method, url, response, wrong)
    return response


def is_others(url: str, response: Response) -> bool:
    """Say whether the 404 of a path that placement has comes from another service."""
    path = urlsplit(url).path
    is_placements = re.fullmatch(f".*{_RESOURCES}", path) is not None
    return response.status_code == 404 and is_placements and _is_foreign(response.content)


def _is_foreign(content: bytes) -> bool:
    """Say whether the body of an error is one that placement doesn't send."""
    if not isinstance(content, bytes) or not content:
        return False
    try:
        document = json.loads(content)
    except ValueError:
        return True
    return not isinstance(document, dict) or "errors" not in document

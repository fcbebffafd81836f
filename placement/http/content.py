"""What a request may send and must accept (rest-api.md 1.4, 1.5)."""

import functools

from webob import acceptparse

from placement.errors import NotAcceptable, UnreadableContent, UnsupportedMediaType
from placement.http.environ import Environ

JSON = "application/json"


def check_length(environ: Environ) -> None:
    """A request with content must say what it is. Raises UnreadableContent."""
    length = environ.get("CONTENT_LENGTH") or "0"
    try:
        has_content = int(length) > 0
    except ValueError as odd:
        raise UnreadableContent("content-length header must be an integer") from odd
    if has_content and not environ.get("CONTENT_TYPE"):
        raise UnreadableContent("content-type header required when content-length > 0")


def check_is_json(environ: Environ) -> None:
    """The request's content must be declared as JSON. Raises UnsupportedMediaType."""
    media_type = environ.get("CONTENT_TYPE", "").split(";", 1)[0].strip() or None
    if media_type != JSON:
        raise UnsupportedMediaType(media_type=media_type)


def check_accepts_json(environ: Environ) -> None:
    """The client must take JSON for an answer. Raises NotAcceptable."""
    accept = environ.get("HTTP_ACCEPT", JSON)
    if accept != JSON and not _accepts_json(accept):
        raise NotAcceptable("Only application/json is provided")


@functools.lru_cache(maxsize=256)
def _accepts_json(accept: str) -> bool:
    return bool(acceptparse.create_accept_header(accept).acceptable_offers([JSON]))

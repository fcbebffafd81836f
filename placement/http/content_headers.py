"""Checks of the headers Content-Length, Content-Type and Accept (rest-api.md 1.4, 1.5)."""

import functools

from webob import acceptparse

from placement.errors import NotAcceptable, UnreadableContent, UnsupportedMediaType
from placement.http.environ import Environ

JSON = "application/json"
#: one JSON value a line
NDJSON = "application/x-ndjson"
YAML = "application/yaml"


def check_length(environ: Environ) -> None:
    """Raise UnreadableContent if the length is no integer or content has no Content-Type."""
    length = environ.get("CONTENT_LENGTH") or "0"
    try:
        has_content = int(length) > 0
    except ValueError as odd:
        raise UnreadableContent("content-length header must be an integer") from odd
    if has_content and not environ.get("CONTENT_TYPE"):
        raise UnreadableContent("content-type header required when content-length > 0")


def check_is_json(environ: Environ) -> None:
    """Raise UnsupportedMediaType unless Content-Type is JSON."""
    media_type = environ.get("CONTENT_TYPE", "").split(";", 1)[0].strip() or None
    if media_type != JSON:
        raise UnsupportedMediaType(media_type=media_type)


def accepted(environ: Environ, forms: tuple[str, ...] = (JSON,)) -> str:
    """Return the media type that the client likes best. Raises NotAcceptable if it likes none.

    :param forms: those of the response; of equally liked ones the first is taken
    """
    accept = environ.get("HTTP_ACCEPT", forms[0])
    best = accept if accept in forms else _best(accept, forms)
    if best is None:
        raise NotAcceptable(f"Only {', '.join(forms)} is provided")
    return best


@functools.lru_cache(maxsize=256)
def _best(accept: str, forms: tuple[str, ...]) -> str | None:
    found = acceptparse.create_accept_header(accept).acceptable_offers(forms)
    return found[0][0] if found else None

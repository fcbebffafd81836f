"""Render errors as JSON, HTML or plain text, as the client accepts (rest-api.md 1.5, 1.6, 1.12)."""

import re
from typing import Any

import webob
import webob.exc
from webob.exc import br_re, comment_re, no_escape, tag_re

from placement import microversions
from placement.errors import MethodNotAllowed, PlacementError
from placement.http.environ import CONTEXT, EXTENSION, JSON, NDJSON, VERSION, Environ
from placement.microversions import SINCE_CODES, UnacceptableVersion

#: characters of a message; longer ones repeat most of a body, some of them twice
LONGEST = 20_000


def answer(environ: Environ, error: PlacementError) -> webob.Response:
    """Return the response for `error`, without the headers of the microversion."""

    def as_json(body: str, status: str, title: str, environ: Environ) -> dict[str, object]:
        return {"errors": [_describe(error, strip_tags(body), environ)]}

    kind = webob.exc.status_map[error.status]
    exception = kind(detail=_cut(error.message), json_formatter=as_json)
    if isinstance(error, MethodNotAllowed) and error.allow:
        exception.headers["allow"] = ", ".join(error.allow)
    if error.retry_after is not None:
        exception.headers["retry-after"] = str(error.retry_after)
    # as webob's own method does, with our `strip_tags`
    exception.plain_body = lambda environ: exception.plain_template_obj.substitute(
        status=exception.status,
        title=exception.title,
        body=strip_tags(exception._make_body(environ, no_escape)),
    )
    request = webob.Request(dict(environ))
    # webob's texts name the content type; the reference writes None if there is none
    request.content_type = request.content_type or "None"
    if environ.get(EXTENSION) and NDJSON in environ.get("HTTP_ACCEPT", ""):
        # webob knows no such form, and would write plain text
        request.accept = JSON
    return request.get_response(exception)


def _cut(message: str) -> str:
    """Return the message, without the middle of one that is too long."""
    more = len(message) - LONGEST
    if more <= 0:
        return message
    kept = LONGEST // 2
    return f"{message[:kept]} … ({more} characters are left out) … {message[-kept:]}"


def strip_tags(text: str) -> str:
    """Return what webob's `strip_tags` returns, in time linear in the length of the text.

    The text may contain a megabyte of the client's request.
    """
    text = text.replace("\n", " ").replace("\r", "")
    text = _without(br_re, text, "\n")
    return _without(tag_re, comment_re.sub("", text), "")


def _without(tags: re.Pattern[str], text: str, instead: str) -> str:
    # no tag ends after the last `>`. From each `<` there, the pattern would search to the end
    end = text.rfind(">") + 1
    return tags.sub(instead, text[:end]) + text[end:]


def _describe(error: PlacementError, detail: str, environ: Environ) -> dict[str, object]:
    described: dict[str, Any] = {"status": error.status, "title": error.title, "detail": detail}
    version = environ.get(VERSION)
    if environ.get(EXTENSION) or (version is not None and version >= SINCE_CODES):
        described["code"] = error.code
    described["request_id"] = environ[CONTEXT].request_id
    if isinstance(error, UnacceptableVersion):
        described["max_version"] = microversions.name(microversions.NEWEST)
        described["min_version"] = microversions.name(microversions.OLDEST)
    return described


def unauthorized(environ: Environ) -> webob.Response:
    """Return the 401 response to a request without a caller's identity (rest-api.md 2.1)."""
    return webob.Request(environ).get_response(webob.exc.HTTPUnauthorized())

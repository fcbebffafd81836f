"""Short answers in plain text: refusals, and what a request with HEAD gets."""

from wsgiref.types import StartResponse

from placement.http.environ import Environ

FORM = "text/plain; charset=utf-8"
READING = ("GET", "HEAD")


def answer(
    environ: Environ,
    start_response: StartResponse,
    status: str,
    text: str = "",
    form: str = FORM,
    allow: tuple[str, ...] = (),
) -> list[bytes]:
    """Answer with a text; without it if the method is HEAD, or else the next answer seems to begin.

    :param form: the media type
    :param allow: the methods that are allowed, for a status that has them
    """
    body = text.encode(errors="replace")
    headers = [("Content-Type", form)]
    if allow:
        headers.append(("Allow", ", ".join(allow)))
    if environ["REQUEST_METHOD"] == "HEAD":
        start_response(status, headers)
        return [b""]
    start_response(status, [*headers, ("Content-Length", str(len(body)))])
    return [body]


def unless_read(environ: Environ, start_response: StartResponse, form: str) -> list[bytes] | None:
    """Answer a request that doesn't get a page: 405, or to HEAD 200. None: it gets the page.

    :param form: the media type of the page
    """
    if environ["REQUEST_METHOD"] not in READING:
        return answer(environ, start_response, "405 Method Not Allowed", allow=READING)
    if environ["REQUEST_METHOD"] == "HEAD":
        return answer(environ, start_response, "200 OK", form=form)
    return None

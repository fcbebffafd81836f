"""Keys of the WSGI environment that Berth's layers share, media types, paths, and URLs."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any
from urllib.parse import quote
from wsgiref.types import StartResponse as StartResponse
from wsgiref.types import WSGIApplication as WSGIApplication

Environ = dict[str, Any]
#: the headers of an answer
Headers = list[tuple[str, str]]
#: the error that an answer is about, as `sys.exc_info` returns it
ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None
#: what `StartResponse` returns: it sends a part of the body
WriteBody = Callable[[bytes], object]

#: below it is what Berth offers beyond OpenStack Placement (extensions.md 1). Requests there differ
#: in two ways: without a version header they mean the newest microversion, and their errors have a
#: code at every microversion
PREFIX = "/berth/v1"
#: the description of the API, which needs no token
DESCRIPTIONS = (f"{PREFIX}/openapi.json", f"{PREFIX}/openapi.yaml")
#: paths that need no token, if extensions are offered
OPEN_PATHS = ("/", *DESCRIPTIONS)

JSON = "application/json"
#: one JSON value a line
NDJSON = "application/x-ndjson"
YAML = "application/yaml"

#: the RequestContext
CONTEXT = "placement.context"
#: the negotiated version, once it is known
VERSION = "placement.version"
#: whether the request is for an extension, and extensions are offered
EXTENSION = "placement.extension"
#: how many threads of the worker answer requests, and a function that says whether the worker
#: stops; `placement-api` gives both, other servers don't
THREADS, STOPPING = "berth.threads", "berth.stopping"
#: a function that has another thread answer requests while the calling one waits for something; the
#: wait is the context that it returns. `placement-api` gives it
STAND_IN = "berth.stand_in"
StandIn = Callable[[], AbstractContextManager[None]]
#: the template of the endpoint's path, once it is known
ROUTE = "placement.route"
#: the code of the error, if the answer is a conflict
CONFLICT = "placement.conflict"
#: how many SQL statements the request took
STATEMENTS = "placement.statements"
#: how often a transaction of it was run again
RETRIES = "placement.retries"
#: of its search for candidates, for the meter: the seconds, how many were found, why none was
SEARCH = "placement.search"
#: how many candidates its search found
CANDIDATES = "placement.candidates"
#: how many seconds it waited for the database
DATABASE_SECONDS = "placement.database_seconds"


#: what a header must not contain
_CONTROL = re.compile("[\x00-\x1f\x7f]")
#: characters that a logged path shows unescaped: printable ASCII except blank, `"` and `%`
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


def is_below_prefix(path: str) -> bool:
    """Return whether the path is that of an extension."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def template_of(path: str) -> str:
    """Return a path of the route table as documents write it: `/traits/{name}`."""
    return path.replace("<", "{").replace(">", "}")


def path_with_query(environ: Environ) -> str:
    """Return the request's URL for the log: mount point, path and query.

    Blanks, quotes and control characters are escaped, so that a client can't forge log fields or
    lines.
    """
    path = quote(
        environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), _PLAIN, "latin-1", "replace"
    )
    query = environ.get("QUERY_STRING")
    return f"{path}?{quote(query, _PLAIN + '%', 'latin-1', 'replace')}" if query else path


def absolute_url(environ: Environ, path: str) -> str:
    """Return the URL of a path of this service: scheme, host, mount point and path.

    It has no control characters, so that a header can hold it.
    """
    scheme = environ["wsgi.url_scheme"]
    host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
    default_port = {"http": ":80", "https": ":443"}.get(scheme, "")
    if default_port and host.endswith(default_port):
        host = host.removesuffix(default_port)
    # a name in the path may end with a newline, which a header must not contain
    path = quote(environ.get("SCRIPT_NAME", "") + path, encoding="latin-1")
    url = f"{scheme}://{host}{path}"
    # a server or a proxy may leave a folded line in them
    return url if url.isprintable() else _CONTROL.sub(lambda found: quote(found[0]), url)

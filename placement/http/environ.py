"""Keys of the WSGI environment that Berth's layers share, media types, and paths."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any
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


def template_of(path: str) -> str:
    """Return a path of the route table as documents write it: `/traits/{name}`."""
    return path.replace("<", "{").replace(">", "}")

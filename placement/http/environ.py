"""The keys under which a request's facts travel in its WSGI environment."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

Environ = dict[str, Any]
WSGIApplication = Callable[[dict[str, Any], Any], Iterable[bytes]]

#: the RequestContext
CONTEXT = "placement.context"
#: the negotiated version, once it is known
VERSION = "placement.version"
#: how many SQL statements the request took
STATEMENTS = "placement.statements"


#: what a logged path has as it is: all that is printed but a blank, a quote and a percent sign
_PLAIN = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


def path_with_query(environ: Environ) -> str:
    """The request's URL as it is logged: mount point, path and query.

    Nothing in it can end the line or its own part of the line.
    """
    path = quote(
        environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), _PLAIN, "latin-1", "replace"
    )
    query = environ.get("QUERY_STRING")
    return f"{path}?{quote(query, _PLAIN + '%', 'latin-1', 'replace')}" if query else path


def absolute_url(environ: Environ, path: str) -> str:
    """`scheme://host` and the mount point before a path of this service."""
    scheme = environ["wsgi.url_scheme"]
    host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
    default_port = {"http": ":80", "https": ":443"}.get(scheme, "")
    if default_port and host.endswith(default_port):
        host = host.removesuffix(default_port)
    # names may end with a newline, which no header may hold
    path = quote(environ.get("SCRIPT_NAME", "") + path, encoding="latin-1")
    return f"{scheme}://{host}{path}"

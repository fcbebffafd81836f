"""The prefix of what Berth offers beyond OpenStack Placement (extensions.md 1).

Requests below it differ in two ways: without a version header they mean the newest microversion,
and their errors have a code at every microversion.
"""

from placement.http.environ import EXTENSION, Environ

PREFIX = "/berth/v1"
#: the description of the API, which needs no token
DESCRIPTIONS = (f"{PREFIX}/openapi.json", f"{PREFIX}/openapi.yaml")
#: paths that need no token, if extensions are offered
OPEN_PATHS = ("/", *DESCRIPTIONS)


def is_below_prefix(path: str) -> bool:
    """Return whether the path is that of an extension."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def asks_extension(environ: Environ) -> bool:
    """Return whether the request is for an extension, and extensions are offered."""
    return environ.get(EXTENSION, False)

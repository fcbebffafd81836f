"""/berth/v1, the list of what Berth offers beyond OpenStack Placement (extensions.md 1)."""

import functools
import importlib.metadata

import flask

from placement.http.call import NOW, Call
from placement.installation import OURS

#: the version of the extensions, and the OpenStack Placement whose answers the service gives
OFFERED, REFERENCE = "1.0", "16.0.0"


@functools.cache
def _installed() -> str:
    return importlib.metadata.version(OURS)


def discover(call: Call) -> flask.Response:
    """GET /berth/v1"""
    service = {"name": "berth", "version": _installed(), "reference": REFERENCE}
    body = {"version": OFFERED, "offers": list(call.offers), "service": service}
    return call.reply(body, modified=NOW)

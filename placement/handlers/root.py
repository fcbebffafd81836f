"""GET /, the version document (rest-api.md 1.1)."""

import flask

from placement import microversions
from placement.http.call import NOW, Call


def discover(call: Call) -> flask.Response:
    """GET /

    List the versions of the API.
    """
    version = {
        "id": "v1.0",
        "max_version": microversions.name(microversions.NEWEST),
        "min_version": microversions.name(microversions.OLDEST),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    }
    return call.reply({"versions": [version]}, modified=NOW)

"""GET /, the version document (rest-api.md 1.1)."""

import json

from placement import microversions
from placement.http.call import NOW, Answer, Call

_VERSION = {
    "id": "v1.0",
    "max_version": microversions.name(microversions.NEWEST),
    "min_version": microversions.name(microversions.OLDEST),
    "status": "CURRENT",
    "links": [{"rel": "self", "href": ""}],
}
_TEXT = json.dumps({"versions": [_VERSION]})


def discover(call: Call) -> Answer:
    """GET /

    List the versions of the API.
    """
    return call.reply(text=_TEXT, modified=NOW)

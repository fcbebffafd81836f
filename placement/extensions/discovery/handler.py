"""/berth/v1, the list of what Berth offers beyond OpenStack Placement (extensions.md 1)."""

from placement.http.call import NOW, Answer, Call
from placement.installation import our_version

#: the version of the extensions, and the OpenStack Placement whose answers the service gives
OFFERED, REFERENCE = "1.0", "16.0.0"


def discover(call: Call) -> Answer:
    """GET /berth/v1

    List what the service offers beyond OpenStack Placement.
    """
    service = {"name": "berth", "version": our_version(), "reference": REFERENCE}
    body = {"version": OFFERED, "offers": list(call.offers), "service": service}
    return call.reply(body, modified=NOW)

"""Headers that successes have, by path, method and status (rest-api.md 1.9 and 1.10)."""

from placement.microversions import SINCE_CACHE_HEADERS, Version

_PROVIDER = "/resource_providers/{uuid}"

#: (path, method, status) of answers with Location: the address of what the request created
LOCATED = frozenset(
    {
        ("/resource_classes", "POST", 201),
        ("/resource_classes/{name}", "PUT", 201),
        ("/resource_classes/{name}", "PUT", 204),
        ("/resource_providers", "POST", 200),
        ("/resource_providers", "POST", 201),
        (f"{_PROVIDER}/inventories", "POST", 201),
        ("/traits/{name}", "PUT", 201),
        ("/traits/{name}", "PUT", 204),
    }
)
#: (path, method) of answers without Cache-Control and Last-Modified: no cache could keep the answer
#: to a write, or to a question that is in the body
_UNCACHED = frozenset(
    {
        ("/allocations", "POST"),
        ("/allocations/{consumer_uuid}", "PUT"),
        ("/berth/v1/allocation_candidates/explain", "POST"),
        ("/berth/v1/capacity", "POST"),
        ("/berth/v1/capacity/evacuate", "POST"),
        ("/berth/v1/claims", "POST"),
        ("/berth/v1/plans/survives", "POST"),
        ("/berth/v1/plans/room", "POST"),
        ("/reshaper", "POST"),
        ("/resource_classes", "POST"),
        ("/resource_classes/{name}", "PUT"),
    }
)
#: (path, method) of answers that never have Last-Modified
_UNDATED = frozenset(
    {
        ("/berth/v1/allocations/query", "POST"),
        ("/berth/v1/openapi.json", "GET"),
        ("/berth/v1/openapi.yaml", "GET"),
        ("/berth/v1/provider_trees", "GET"),
    }
)
#: paths of answers with an ETag, and whether they always have it. Trees have none while OpenStack
#: Placement writes to the same database, too
TAGGED = {
    "/berth/v1/openapi.json": True,
    "/berth/v1/openapi.yaml": True,
    "/berth/v1/provider_trees": False,
}
#: (path, method) of answers that have Last-Modified only if something in them has such a time
_SOMETIMES_DATED = frozenset(
    {
        (_PROVIDER, "PUT"),
        (f"{_PROVIDER}/inventories", "GET"),
        (f"{_PROVIDER}/inventories", "PUT"),
    }
)


def success_headers(path: str, method: str, status: int, version: Version) -> dict[str, bool]:
    """Return the headers of a success, and whether each is always there.

    :param path: as in :data:`~placement.schemas.responses.RESPONSES`
    :param status: below 400
    """
    found = {"OpenStack-API-Version": True, "x-openstack-request-id": True, "Vary": True}
    place = (path, method)
    if version >= SINCE_CACHE_HEADERS and _is_cached(place, status):
        found["Cache-Control"] = True
        if place not in _UNDATED:
            found["Last-Modified"] = place not in _SOMETIMES_DATED
    if (path, method, status) in LOCATED:
        found["Location"] = True
    if path in TAGGED:
        found["ETag"] = TAGGED[path]
    return found


def _is_cached(place: tuple[str, str], status: int) -> bool:
    made_provider = ("/resource_providers", "POST")
    if place == made_provider:
        return status == 200
    return place[1] != "DELETE" and place not in _UNCACHED

"""OpenStack Placement's endpoints on one page: path, methods, handler, first microversion.

See rest-api.md 1.3 and 8. Each feature below `placement/extensions` has a page like this one.
"""

from typing import Any

from placement.http.endpoint import Endpoint as Endpoint
from placement.microversions import Version


def get(function: str, since: Version = (1, 0), **rules: Any) -> Endpoint:
    """Declare GET, with a JSON body in the response."""
    return Endpoint("GET", function, since, answers=True, **rules)


def post(function: str, since: Version = (1, 0), **rules: Any) -> Endpoint:
    """Declare POST, with a JSON body in the request."""
    return Endpoint("POST", function, since, reads=True, **rules)


def put(function: str, since: Version = (1, 0), **rules: Any) -> Endpoint:
    """Declare PUT, with a JSON body in the request."""
    return Endpoint("PUT", function, since, reads=True, **rules)


def delete(function: str, since: Version = (1, 0), **rules: Any) -> Endpoint:
    """Declare DELETE, without a body."""
    return Endpoint("DELETE", function, since, **rules)


_PROVIDER = "/resource_providers/<uuid>"

#: endpoints by path, in the order in which the header `Allow` names the methods
ROUTES: dict[str, tuple[Endpoint, ...]] = {
    "/": (Endpoint("GET", "root.discover"),),
    "/resource_classes": (
        get("resource_classes.list_all", (1, 2)),
        post("resource_classes.create", (1, 2)),
    ),
    "/resource_classes/<name>": (
        get("resource_classes.show", (1, 2)),
        put("resource_classes.rename", (1, 2)),
        Endpoint("PUT", "resource_classes.ensure", (1, 7)),
        delete("resource_classes.delete", (1, 2)),
    ),
    "/resource_providers": (
        get("resource_providers.list_all"),
        post("resource_providers.create"),
    ),
    _PROVIDER: (
        get("resource_providers.show"),
        delete("resource_providers.delete"),
        put("resource_providers.update"),
    ),
    f"{_PROVIDER}/inventories": (
        get("inventories.list_all"),
        post("inventories.create"),
        put("inventories.replace"),
        delete("inventories.delete_all", (1, 5), before=405),
    ),
    f"{_PROVIDER}/inventories/<resource_class>": (
        get("inventories.show"),
        put("inventories.update"),
        delete("inventories.delete"),
    ),
    f"{_PROVIDER}/usages": (get("usages.of_provider"),),
    f"{_PROVIDER}/aggregates": (
        get("aggregates.list_all", (1, 1), content_first=True),
        put("aggregates.replace", (1, 1), content_first=True),
    ),
    f"{_PROVIDER}/allocations": (get("allocations.list_of_provider"),),
    f"{_PROVIDER}/traits": (
        get("provider_traits.list_all", (1, 6)),
        put("provider_traits.replace", (1, 6)),
        delete("provider_traits.delete_all", (1, 6)),
    ),
    "/allocations": (post("allocations.manage", (1, 13)),),
    "/allocations/<consumer_uuid>": (
        get("allocations.list_of_consumer"),
        put("allocations.replace"),
        delete("allocations.delete"),
    ),
    "/allocation_candidates": (get("allocation_candidates.list_all", (1, 10)),),
    "/traits": (get("traits.list_all", (1, 6)),),
    "/traits/<name>": (
        Endpoint("GET", "traits.show", (1, 6)),
        Endpoint("PUT", "traits.create", (1, 6)),
        delete("traits.delete", (1, 6)),
    ),
    "/usages": (get("usages.of_project", (1, 9)),),
    "/reshaper": (post("reshaper.reshape", (1, 30)),),
}

"""Every endpoint on one page: path, methods, handler, first microversion (rest-api.md 1.3, 8).

`ROUTES` are OpenStack Placement's, `EXTENSIONS` those that Berth adds (extensions.md 1).
"""

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

from placement.http.content_headers import JSON, NDJSON, YAML
from placement.http.extensions import PREFIX
from placement.microversions import Version


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A method of a path, from a microversion on.

    If a path has several endpoints with the same method, the newest one that exists in the
    request's version is called.

    :param function: the handler's name in `placement.handlers`
    :param reads: whether the request's content must be JSON
    :param answers: whether the response has a body in one of `forms`, which the client must accept
    :param forms: the media types that the client may choose from, or the only one
    :param content_first: whether the content type is checked before the microversion
    :param before: status of the response to versions older than `since`
    :param offer: how the discovery of extensions names the endpoint; None: it doesn't
    """

    method: str
    function: str
    since: Version = (1, 0)
    reads: bool = False
    answers: bool = False
    forms: tuple[str, ...] = (JSON,)
    content_first: bool = False
    before: int = 404
    offer: str | None = None

    @functools.cached_property
    def handler(self) -> Callable[..., Any]:
        """The handler, whose module is imported when a process first needs it."""
        module, _, name = self.function.rpartition(".")
        found: Callable[..., Any] = getattr(
            importlib.import_module(f"placement.handlers.{module}"), name
        )
        return found


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

#: endpoints of `/berth/v1`, which exist at every microversion where nothing else is said
EXTENSIONS: dict[str, tuple[Endpoint, ...]] = {
    PREFIX: (get("discovery.discover"),),
    f"{PREFIX}/provider_trees": (
        get("provider_trees.list_all", forms=(JSON, NDJSON), offer="provider_trees"),
    ),
    f"{PREFIX}/allocations/query": (
        post("allocations_query.query", answers=True, offer="allocations.query"),
    ),
    f"{PREFIX}/provider_trees/<root_uuid>": (
        put("provider_tree_changes.change", offer="provider_trees"),
    ),
    # the query is that of GET /allocation_candidates, which is as old
    f"{PREFIX}/claims": (post("claims.create", (1, 10), answers=True, offer="claims"),),
    f"{PREFIX}/allocation_candidates/explain": (get("explain.show", (1, 10), offer="explain"),),
    f"{PREFIX}/capacity": (
        get("capacity.show", (1, 10), offer="capacity"),
        post("capacity.query", (1, 10), answers=True, offer="capacity"),
    ),
    f"{PREFIX}/capacity/evacuate": (post("evacuation.evacuate", answers=True, offer="capacity"),),
    f"{PREFIX}/changes": (get("changes.list_all", offer="changes"),),
    f"{PREFIX}/suspects": (get("suspects.list_all", offer="suspects"),),
    # the path says the form, so Accept doesn't matter
    f"{PREFIX}/openapi.json": (Endpoint("GET", "openapi.show_json", offer="openapi"),),
    f"{PREFIX}/openapi.yaml": (
        Endpoint("GET", "openapi.show_yaml", forms=(YAML,), offer="openapi"),
    ),
}


#: pages for Prometheus, for callers with a token; they have neither JSON nor microversions
METRICS: dict[str, tuple[Endpoint, ...]] = {
    "/metrics": (Endpoint("GET", "metrics.show"),),
    "/metrics/providers": (Endpoint("GET", "metrics.show_providers"),),
}


def routes(extensions: bool, with_metrics: bool = False) -> dict[str, tuple[Endpoint, ...]]:
    """Return the endpoints of a service that offers the extensions, or doesn't.

    :param with_metrics: whether callers with a token may read metrics
    """
    return ROUTES | (EXTENSIONS if extensions else {}) | (METRICS if with_metrics else {})


def offers() -> tuple[str, ...]:
    """Return the names of the extensions, in the order of the routes."""
    named = (endpoint.offer for endpoints in EXTENSIONS.values() for endpoint in endpoints)
    return tuple(dict.fromkeys(offer for offer in named if offer is not None))

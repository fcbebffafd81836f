"""All bodies and queries that endpoints read: path, method, and the table of schemas.

Paths have the form of OpenAPI. Endpoints that aren't listed read neither body nor query.
"""

from collections.abc import Mapping

from placement.schemas import (
    aggregates,
    allocation_candidates,
    allocations,
    capacity,
    changes,
    claims,
    evacuation,
    explain,
    inventories,
    openapi,
    provider_tree_changes,
    provider_trees,
    reshaper,
    resource_classes,
    resource_providers,
    suspects,
    traits,
    usages,
)
from placement.schemas.json_schema import UUID, Json, Schema

Table = Mapping[tuple[int, int], Schema]

_PROVIDER = "/resource_providers/{uuid}"

BODIES: dict[tuple[str, str], Table] = {
    ("/resource_classes", "POST"): resource_classes.NAMED,
    # until 1.6; later versions ignore the body
    ("/resource_classes/{name}", "PUT"): resource_classes.NAMED,
    ("/resource_providers", "POST"): resource_providers.CREATE,
    (_PROVIDER, "PUT"): resource_providers.UPDATE,
    (f"{_PROVIDER}/inventories", "POST"): inventories.CREATE,
    (f"{_PROVIDER}/inventories", "PUT"): inventories.REPLACE,
    (f"{_PROVIDER}/inventories/{{resource_class}}", "PUT"): inventories.UPDATE,
    (f"{_PROVIDER}/aggregates", "PUT"): aggregates.REPLACE,
    (f"{_PROVIDER}/traits", "PUT"): traits.REPLACE_OF_PROVIDER,
    ("/allocations", "POST"): allocations.MANAGE,
    ("/allocations/{consumer_uuid}", "PUT"): allocations.REPLACE,
    ("/reshaper", "POST"): reshaper.RESHAPE,
    ("/berth/v1/allocations/query", "POST"): provider_trees.ALLOCATIONS_QUERY,
    ("/berth/v1/provider_trees/{root_uuid}", "PUT"): provider_tree_changes.CHANGE,
    ("/berth/v1/claims", "POST"): claims.CREATE,
    ("/berth/v1/capacity", "POST"): capacity.QUERY,
    ("/berth/v1/capacity/evacuate", "POST"): evacuation.EVACUATE,
}

QUERIES: dict[str, Table] = {
    "/resource_providers": resource_providers.LIST,
    "/allocation_candidates": allocation_candidates.LIST,
    "/traits": traits.LIST,
    "/usages": usages.LIST,
    "/berth/v1/provider_trees": provider_trees.LIST,
    "/berth/v1/changes": changes.LIST,
    "/berth/v1/suspects": suspects.LIST,
    "/berth/v1/allocation_candidates/explain": explain.LIST,
    "/berth/v1/capacity": allocation_candidates.LIST,
    "/berth/v1/openapi.json": openapi.LIST,
    "/berth/v1/openapi.yaml": openapi.LIST,
}

#: parameters of paths that the service judges. Others may be anything: what nobody has isn't found
PLACES: dict[tuple[str, str], dict[str, Json]] = {
    ("/allocations/{consumer_uuid}", "PUT"): {"consumer_uuid": UUID},
    ("/traits/{name}", "PUT"): {"name": traits.CUSTOM_NAME},
    ("/resource_classes/{name}", "PUT"): {"name": resource_classes.CUSTOM_NAME},
}

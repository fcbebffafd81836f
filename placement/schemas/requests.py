"""All bodies and queries that OpenStack Placement's endpoints read, and their tables of schemas.

Bodies are found by path and method, queries by path. Paths have the form of OpenAPI. Endpoints
that aren't listed read neither body nor query.
"""

from placement.schemas import (
    aggregates,
    allocation_candidates,
    allocations,
    inventories,
    reshaper,
    resource_classes,
    resource_providers,
    traits,
    usages,
)
from placement.schemas.json_schema import UUID, Json, SchemaTable

_PROVIDER = "/resource_providers/{uuid}"

BODIES: dict[tuple[str, str], SchemaTable] = {
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
}

QUERIES: dict[str, SchemaTable] = {
    "/resource_providers": resource_providers.LIST,
    "/allocation_candidates": allocation_candidates.LIST,
    "/traits": traits.LIST,
    "/usages": usages.LIST,
}

#: Parameters of paths that the service validates. Others may be any text: if no object has that
#: name or uuid, the answer is 404.
PLACES: dict[tuple[str, str], dict[str, Json]] = {
    ("/allocations/{consumer_uuid}", "PUT"): {"consumer_uuid": UUID},
    ("/traits/{name}", "PUT"): {"name": traits.CUSTOM_NAME},
    ("/resource_classes/{name}", "PUT"): {"name": resource_classes.CUSTOM_NAME},
}

"""Rules of allocations."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "allocations:manage",
        ADMIN_OR_SERVICE,
        "Write the allocations of several consumers.",
        ("POST", "/allocations"),
    ),
    operation(
        "allocations:list",
        ADMIN_OR_SERVICE,
        "List the allocations of a consumer.",
        ("GET", "/allocations/{consumer_uuid}"),
    ),
    operation(
        "allocations:update",
        ADMIN_OR_SERVICE,
        "Write the allocations of a consumer.",
        ("PUT", "/allocations/{consumer_uuid}"),
    ),
    operation(
        "allocations:delete",
        ADMIN_OR_SERVICE,
        "Delete the allocations of a consumer.",
        ("DELETE", "/allocations/{consumer_uuid}"),
    ),
    operation(
        "resource_providers:allocations:list",
        ADMIN_OR_SERVICE,
        "List the allocations of a provider.",
        ("GET", "/resource_providers/{uuid}/allocations"),
    ),
]

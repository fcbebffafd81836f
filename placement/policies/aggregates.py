"""Rules of a provider's aggregates."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "resource_providers:aggregates:list",
        ADMIN_OR_SERVICE,
        "List the aggregates of a provider.",
        ("GET", "/resource_providers/{uuid}/aggregates"),
    ),
    operation(
        "resource_providers:aggregates:update",
        ADMIN_OR_SERVICE,
        "Replace the aggregates of a provider.",
        ("PUT", "/resource_providers/{uuid}/aggregates"),
    ),
]

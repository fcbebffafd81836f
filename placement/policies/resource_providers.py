"""Rules of /resource_providers."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "resource_providers:list",
        ADMIN_OR_SERVICE,
        "List providers.",
        ("GET", "/resource_providers"),
    ),
    operation(
        "resource_providers:create",
        ADMIN_OR_SERVICE,
        "Create a provider.",
        ("POST", "/resource_providers"),
    ),
    operation(
        "resource_providers:show",
        ADMIN_OR_SERVICE,
        "Show a provider.",
        ("GET", "/resource_providers/{uuid}"),
    ),
    operation(
        "resource_providers:update",
        ADMIN_OR_SERVICE,
        "Rename or move a provider.",
        ("PUT", "/resource_providers/{uuid}"),
    ),
    operation(
        "resource_providers:delete",
        ADMIN_OR_SERVICE,
        "Delete a provider.",
        ("DELETE", "/resource_providers/{uuid}"),
    ),
]

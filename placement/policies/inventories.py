"""Rules of a provider's inventories."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "resource_providers:inventories:list",
        ADMIN_OR_SERVICE,
        "List the inventories of a provider.",
        ("GET", "/resource_providers/{uuid}/inventories"),
    ),
    operation(
        "resource_providers:inventories:create",
        ADMIN_OR_SERVICE,
        "Add an inventory.",
        ("POST", "/resource_providers/{uuid}/inventories"),
    ),
    operation(
        "resource_providers:inventories:show",
        ADMIN_OR_SERVICE,
        "Show an inventory.",
        ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
    operation(
        "resource_providers:inventories:update",
        ADMIN_OR_SERVICE,
        "Replace one or all inventories.",
        ("PUT", "/resource_providers/{uuid}/inventories"),
        ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
    operation(
        "resource_providers:inventories:delete",
        ADMIN_OR_SERVICE,
        "Delete one or all inventories.",
        ("DELETE", "/resource_providers/{uuid}/inventories"),
        ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
]

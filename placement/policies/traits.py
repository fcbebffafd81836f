"""Rules of traits."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation("traits:list", ADMIN_OR_SERVICE, "List traits.", ("GET", "/traits")),
    operation(
        "traits:show", ADMIN_OR_SERVICE, "Show whether a trait exists.", ("GET", "/traits/{name}")
    ),
    operation("traits:update", ADMIN_OR_SERVICE, "Create a trait.", ("PUT", "/traits/{name}")),
    operation("traits:delete", ADMIN_OR_SERVICE, "Delete a trait.", ("DELETE", "/traits/{name}")),
    operation(
        "resource_providers:traits:list",
        ADMIN_OR_SERVICE,
        "List the traits of a provider.",
        ("GET", "/resource_providers/{uuid}/traits"),
    ),
    operation(
        "resource_providers:traits:update",
        ADMIN_OR_SERVICE,
        "Replace the traits of a provider.",
        ("PUT", "/resource_providers/{uuid}/traits"),
    ),
    operation(
        "resource_providers:traits:delete",
        ADMIN_OR_SERVICE,
        "Take all traits from a provider.",
        ("DELETE", "/resource_providers/{uuid}/traits"),
    ),
]

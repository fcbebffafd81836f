"""Rules of /resource_classes."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "resource_classes:list",
        ADMIN_OR_SERVICE,
        "List resource classes.",
        ("GET", "/resource_classes"),
    ),
    operation(
        "resource_classes:create",
        ADMIN_OR_SERVICE,
        "Create a resource class.",
        ("POST", "/resource_classes"),
    ),
    operation(
        "resource_classes:show",
        ADMIN_OR_SERVICE,
        "Show a resource class.",
        ("GET", "/resource_classes/{name}"),
    ),
    operation(
        "resource_classes:update",
        ADMIN_OR_SERVICE,
        "Create or rename a resource class.",
        ("PUT", "/resource_classes/{name}"),
    ),
    operation(
        "resource_classes:delete",
        ADMIN_OR_SERVICE,
        "Delete a resource class.",
        ("DELETE", "/resource_classes/{name}"),
    ),
]

"""Rules of usages."""

from placement.policies.rules import ADMIN_OR_PROJECT_READER_OR_SERVICE, ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "resource_providers:usages",
        ADMIN_OR_SERVICE,
        "Show what is used of a provider.",
        ("GET", "/resource_providers/{uuid}/usages"),
    ),
    operation(
        "usages",
        ADMIN_OR_PROJECT_READER_OR_SERVICE,
        "Show what a project uses.",
        ("GET", "/usages"),
    ),
]

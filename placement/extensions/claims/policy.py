"""Rules of /berth/v1/claims."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "claims:create",
        ADMIN_OR_SERVICE,
        "Find candidates for consumers and allocate them.",
        ("POST", "/berth/v1/claims"),
        family="berth",
    ),
]

"""Rules of the list of changes."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "changes",
        ADMIN_OR_SERVICE,
        "List the providers that changed after a position, and wait for changes.",
        ("GET", "/berth/v1/changes"),
        family="berth",
    ),
]

"""Rules of /berth/v1/plans."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "plans",
        ADMIN_OR_SERVICE,
        "Plan which consumers move, and tell what they hold.",
        ("POST", "/berth/v1/plans/survives"),
        ("POST", "/berth/v1/plans/room"),
        family="berth",
    ),
]

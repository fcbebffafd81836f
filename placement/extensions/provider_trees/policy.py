"""The rule of reading whole trees."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "provider_trees:show",
        ADMIN_OR_SERVICE,
        "Show whole trees of providers, with all that belongs to them.",
        ("GET", "/berth/v1/provider_trees"),
        family="berth",
    ),
]

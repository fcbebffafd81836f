"""Rules of whole trees, and of the allocations of many consumers and providers."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "provider_trees:show",
        ADMIN_OR_SERVICE,
        "Show whole trees of providers, with all that belongs to them.",
        ("GET", "/berth/v1/provider_trees"),
        family="berth",
    ),
    operation(
        "allocations:query",
        ADMIN_OR_SERVICE,
        "Show the allocations of many consumers and providers.",
        ("POST", "/berth/v1/allocations/query"),
        family="berth",
    ),
]

"""Rules of whole trees, and of the allocations of many consumers and providers."""

from placement.policies.rules import ADMIN_OR_SERVICE, SERVICE, operation

RULES = [
    operation(
        "provider_trees:show",
        ADMIN_OR_SERVICE,
        "Show whole trees of providers, with all that belongs to them.",
        ("GET", "/berth/v1/provider_trees"),
        family="berth",
    ),
    operation(
        "provider_trees:update",
        # a reshape is part of it
        SERVICE,
        "Write a whole tree of providers, with its allocations.",
        ("PUT", "/berth/v1/provider_trees/{root_uuid}"),
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

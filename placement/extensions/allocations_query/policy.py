"""The rule of reading the allocations of many consumers and providers."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "allocations:query",
        ADMIN_OR_SERVICE,
        "Show the allocations of many consumers and providers.",
        ("POST", "/berth/v1/allocations/query"),
        family="berth",
    ),
]

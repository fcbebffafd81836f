"""The rule of writing whole trees."""

from placement.policies.rules import SERVICE, operation

RULES = [
    operation(
        "provider_trees:update",
        # a reshape is part of it
        SERVICE,
        "Write a whole tree of providers, with its allocations.",
        ("PUT", "/berth/v1/provider_trees/{root_uuid}"),
        family="berth",
    ),
]

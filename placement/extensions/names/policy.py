"""The rule of the operator's names."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "names",
        ADMIN_OR_SERVICE,
        "Read the operator's names of aggregates, projects and users.",
        ("GET", "/berth/v1/names"),
        family="berth",
    ),
]

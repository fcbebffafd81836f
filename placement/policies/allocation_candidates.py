"""Rules of /allocation_candidates."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "allocation_candidates:list",
        ADMIN_OR_SERVICE,
        "List allocation candidates.",
        ("GET", "/allocation_candidates"),
    ),
]

"""Rules of the explanation of searches."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "explain",
        ADMIN_OR_SERVICE,
        "Explain a search for allocation candidates.",
        ("GET", "/berth/v1/allocation_candidates/explain"),
        ("POST", "/berth/v1/allocation_candidates/explain"),
        family="berth",
    ),
]

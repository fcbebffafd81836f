"""Rules of /reshaper."""

from placement.policies.base import SERVICE, operation

RULES = [
    operation(
        "reshaper:reshape",
        SERVICE,
        "Move inventories with their allocations.",
        ("POST", "/reshaper"),
    ),
]

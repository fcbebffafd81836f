"""Rules of /reshaper."""

from placement.policies.rules import SERVICE, operation

RULES = [
    operation(
        "reshaper:reshape",
        SERVICE,
        "Move inventories with their allocations.",
        ("POST", "/reshaper"),
    ),
]

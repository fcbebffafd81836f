"""The rule of the list of suspects."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "suspects",
        ADMIN_OR_SERVICE,
        "List what may be wrong: leaks, burned devices, hosts with two names and the like.",
        ("GET", "/berth/v1/suspects"),
        family="berth",
    ),
]

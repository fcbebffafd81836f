"""The rule of the list of empty searches."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "empty_searches",
        ADMIN_OR_SERVICE,
        "List the searches for allocation candidates of the last hour that found nothing.",
        ("GET", "/berth/v1/empty_searches"),
        family="berth",
    ),
]

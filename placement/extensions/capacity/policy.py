"""Rules of /berth/v1/capacity."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "capacity",
        ADMIN_OR_SERVICE,
        "Tell how many more consumers fit, and whether hosts can be emptied.",
        ("GET", "/berth/v1/capacity"),
        ("POST", "/berth/v1/capacity"),
        ("POST", "/berth/v1/capacity/evacuate"),
        family="berth",
    ),
]

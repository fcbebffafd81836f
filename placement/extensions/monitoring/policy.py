"""The rule of the metrics, if they need a token (`[berth]metrics`)."""

from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "metrics",
        ADMIN_OR_SERVICE,
        "Read the metrics of the service and of the cloud, where [berth]metrics is `token`.",
        ("GET", "/metrics"),
        ("GET", "/metrics/providers"),
        family="berth",
    ),
]

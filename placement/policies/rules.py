"""The base rules that the rules of operations refer to, and a function to make the latter."""

from oslo_policy import policy

ADMIN_OR_SERVICE = "rule:admin_or_service_api"
ADMIN_OR_PROJECT_READER_OR_SERVICE = "rule:admin_or_project_reader_or_service_api"
SERVICE = "rule:service_api"

_LEGACY_REASON = "In older releases every operation needed the role admin."


def _legacy(name: str) -> policy.DeprecatedRule:
    """Return the old default, which also applies while `enforce_new_defaults` is off."""
    return policy.DeprecatedRule(
        name=name,
        check_str="role:admin",
        deprecated_reason=_LEGACY_REASON,
        deprecated_since="13.0.0",
    )


RULES = [
    policy.RuleDefault(
        "admin_api", "role:admin", description="The administrator.", scope_types=["project"]
    ),
    policy.RuleDefault(
        "service_api",
        "role:service",
        description="Another service of the cloud.",
        scope_types=["project"],
        deprecated_rule=_legacy("service_api"),
    ),
    policy.RuleDefault(
        "admin_or_service_api",
        "role:admin or role:service",
        description="The administrator or another service of the cloud.",
        scope_types=["project"],
        deprecated_rule=_legacy("admin_or_service_api"),
    ),
    policy.RuleDefault(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        description="A reader of the target's project.",
        deprecated_rule=_legacy("project_reader_api"),
    ),
    policy.RuleDefault(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        description="The administrator, another service, or a reader of the project.",
        scope_types=["project"],
        deprecated_rule=_legacy("admin_or_project_reader_or_service_api"),
    ),
]


def operation(
    name: str,
    default: str,
    description: str,
    *places: tuple[str, str],
    family: str = "placement",
) -> policy.DocumentedRuleDefault:
    """Return the rule of an operation.

    :param name: name of the rule, without what stands before the first colon
    :param default: oslo.policy check string
    :param places: the endpoints of the operation: (method, path)
    :param family: what stands before the first colon; `berth` for extensions
    """
    return policy.DocumentedRuleDefault(
        name=f"{family}:{name}",
        check_str=default,
        description=description,
        operations=[{"method": method, "path": path} for method, path in places],
        scope_types=["project"],
    )

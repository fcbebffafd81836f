"""Asking oslo.policy, and saying no in the reference's words."""

from typing import Any

from oslo_config import cfg
from oslo_context.context import RequestContext
from oslo_policy import policy

from placement.errors import Forbidden
from placement.policies import list_rules


class Policy:
    """The rules in force: the defaults, overridden by the operator's policy files."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._enforcer = policy.Enforcer(conf)
        # the reference says nothing of changed defaults at start, nor do we
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(list_rules())
        self._enforcer.load_rules()

    def authorize(
        self, context: RequestContext, rule: str, target: dict[str, Any] | None = None
    ) -> None:
        """Raise Forbidden unless the rule lets the caller act on the target.

        Without a target the caller acts on its own project and user.
        """
        if target is None:
            target = {"project_id": context.project_id, "user_id": context.user_id}
        try:
            self._enforcer.authorize(rule, target, context, do_raise=True)
        except policy.InvalidScope as wrong_scope:
            raise Forbidden(rule) from wrong_scope
        except policy.PolicyNotAuthorized as refused:
            raise Forbidden(f"Policy does not allow {rule} to be performed.") from refused

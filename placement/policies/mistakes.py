"""What is wrong with policy files though oslo.policy takes them."""

import difflib
import logging
import re

from oslo_policy import policy

#: what oslo.policy logs, with tracebacks, of a rule that `mistakes_of` tells of
_NOT_UNDERSTOOD = ("Failed to understand rule", "No handler for matches of kind")
_REFERENCE = re.compile(r"rule:([^\s()]+)")


def is_not_told_here(record: logging.LogRecord) -> bool:
    """Leave out of the log, as a filter, what `mistakes_of` says in one line."""
    return not record.msg.startswith(_NOT_UNDERSTOOD)


def mistakes_of(enforcer: policy.Enforcer) -> list[str]:
    """Return a sentence about each mistake in the files of an enforcer that has loaded them."""
    return [*_missing_file(enforcer), *_of_rules(enforcer)]


def _missing_file(enforcer: policy.Enforcer) -> list[str]:
    conf = enforcer.conf
    name = conf.oslo_policy.policy_file
    location = conf.get_location("policy_file", "oslo_policy")
    is_named = location is not None and location.location.is_user_controlled
    if not name or not is_named or conf.find_file(name) is not None:
        return []
    return [
        f"The policy file {name} of [oslo_policy]policy_file isn't there: the default rules are in "
        "force."
    ]


def _of_rules(enforcer: policy.Enforcer) -> list[str]:
    """Name the rules that can't be understood, and those that nobody asks for."""
    found = []
    texts = [str(rule.check) for rule in enforcer.registered_rules.values()]
    olds = (rule.deprecated_rule for rule in enforcer.registered_rules.values())
    renamed = {old.name for old in olds if old is not None}
    written = enforcer.file_rules
    texts += [rule.check_str for rule in written.values()]
    asked = {name for text in texts for name in _REFERENCE.findall(text)}
    for name, rule in written.items():
        if "!" in str(rule.check) and "!" not in rule.check_str:
            found.append(
                f"Policy rule {name} can't be understood, so it refuses everybody: {rule.check_str}"
            )
        if name not in enforcer.registered_rules and name not in asked | renamed:
            near = difflib.get_close_matches(name, enforcer.registered_rules, 1, 0.8)
            question = f" Do you mean {near[0]}?" if near else ""
            found.append(f"Nobody asks for policy rule {name}.{question}")
    return found

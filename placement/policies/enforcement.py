"""Check policy rules with oslo.policy, with the reference's error messages.

What is wrong with policy files though oslo.policy takes them is told in the log.
"""

import copy
import difflib
import logging
import operator
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oslo_config import cfg
from oslo_context.context import RequestContext
from oslo_policy import policy

from placement.errors import Forbidden

LOG = logging.getLogger(__name__)

#: seconds after which the directories of policy files are searched again
SEARCH_INTERVAL = 1.0
#: maximum number of cached results
REMEMBERED = 10_000

_UNASKED = "not asked yet"
_OF_PARSER = logging.getLogger("oslo_policy._parser")
#: what oslo.policy logs, with tracebacks, of a rule that `mistakes_of` tells of
_NOT_UNDERSTOOD = ("Failed to understand rule", "No handler for matches of kind")
_REFERENCE = re.compile(r"rule:([^\s()]+)")


def enforcer(rules: Iterable[policy.RuleDefault]) -> policy.Enforcer:
    """Return an enforcer of the deployed rules, for oslo.policy's commands.

    :param rules: the defaults
    """
    conf = cfg.ConfigOpts()
    conf([], project="placement")
    found = policy.Enforcer(conf)
    found.register_defaults(list(rules))
    return found


def why_unusable(error: Exception) -> str:
    """Return in one line why oslo.policy can't use a file."""
    # oslo.policy asks a list for its items
    if isinstance(error, AttributeError) and str(error).endswith("no attribute 'items'"):
        return 'a file has no names of rules with their rules: "rule\'s name": "role:admin"'
    return " ".join(str(error).split())


class Policy:
    """The rules in force: the defaults, overridden by the operator's policy files.

    A result depends on rules, caller and target alone, so it is cached until the policy files
    change. Without the cache, oslo.policy would take longer than many requests. Nothing is cached
    while a rule calls another server (`http:`).

    Files that can't be used raise what oslo.policy raises. Once there are rules, such files are
    logged, and the rules stay as they are.

    :param rules: the defaults
    :param clock: monotonic time in seconds
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        rules: Iterable[policy.RuleDefault],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._enforcer = policy.Enforcer(conf)
        # like the reference, log no warnings about changed defaults at start
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.suppress_deprecation_warnings = True
        for rule in rules:
            # oslo.policy would copy all that is in a rule, but changes no more than the rule itself
            self._enforcer.registered_rules[rule.name] = copy.copy(rule)
        self._clock = clock
        self._lock = threading.Lock()
        self._told: list[str] = []
        self._load(None)

    def authorize(
        self, context: RequestContext, rule: str, target: Mapping[str, str | None] | None = None
    ) -> None:
        """Raise Forbidden unless the rule lets the caller act on the target.

        Without a target the caller acts on its own project and user.
        """
        if target is None:
            target = {"project_id": context.project_id, "user_id": context.user_id}
        if self._clock() >= self._search_again or self._stamp() != self._loaded_stamp:
            with self._lock:
                self._load_changes()
        answers = self._answers
        if answers is None:
            refusal = self._ask(context, rule, target)
        else:
            key = (rule, _all_of(context), tuple(target.items()))
            refusal = answers.get(key, _UNASKED)
            if refusal is _UNASKED:
                if len(answers) >= REMEMBERED:
                    answers.clear()
                refusal = answers[key] = self._ask(context, rule, target)
        if refusal is not None:
            raise Forbidden(refusal)

    def _ask(
        self, context: RequestContext, rule: str, target: Mapping[str, str | None]
    ) -> str | None:
        """Return the error message if the rule rejects the caller, else None."""
        try:
            self._enforcer.authorize(rule, target, context, do_raise=True)
        except policy.InvalidScope:
            return rule
        except policy.PolicyNotAuthorized:
            return f"Policy does not allow {rule} to be performed."
        return None

    def _load_changes(self) -> None:
        """Do as `_load`; if the files can't be used, say so in the log and keep the rules."""
        # before it is read: what is written meanwhile is another state, which is read then
        stamp = self._stamp()
        try:
            self._load(stamp)
        # whatever oslo.policy raises for a file that it can't use
        except Exception as error:
            LOG.error(
                "The policy can't be used, so the old rules stay in force: %s", why_unusable(error)
            )
            self._loaded_stamp = stamp
            self._search_again = self._clock() + SEARCH_INTERVAL

    def _load(self, stamp: tuple[int, int] | None) -> None:
        """Read the policy files if they changed, and clear the cache.

        :param stamp: that of the policy file, taken before it is read; None at the start
        """
        self._enforcer.use_conf = True
        _OF_PARSER.addFilter(is_not_told_here)
        try:
            # by itself, oslo.policy reads a file whose time is later than before: none that an
            # operator takes back with its time, or writes after the clock was set back
            is_new = stamp is not None and stamp != self._loaded_stamp
            self._enforcer.load_rules(force_reload=is_new)
        finally:
            # policies of others in this process are told as they were
            _OF_PARSER.removeFilter(is_not_told_here)
            # or it would search for all files again whenever it is asked
            self._enforcer.use_conf = False
        self._loaded_stamp = stamp
        self._search_again = self._clock() + SEARCH_INTERVAL
        mistakes = mistakes_of(self._enforcer)
        for mistake in mistakes:
            if mistake not in self._told:
                LOG.warning("%s", mistake)
        self._told = mistakes
        checks = " ".join(str(check) for check in self._enforcer.rules.values())
        remote = "http:" in checks or "https:" in checks
        self._answers: dict[tuple, str | None] | None = None if remote else {}

    def _stamp(self) -> tuple[int, int] | None:
        """Return the modification time and size of the policy file; None without a file."""
        path = self._enforcer.policy_path
        if path is None:
            return None
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


#: by the type of a context, what returns all attributes of it that a rule can use. oslo.context
#: puts them into a dictionary under the same names, which takes longer than to find a cached result
_readers: dict[type, Callable[[RequestContext], tuple[Any, ...]]] = {}


def _all_of(context: RequestContext) -> tuple[object, ...]:
    """Return all values of a context that a rule can use, as a hashable tuple."""
    read = _readers.get(type(context))
    if read is None:
        read = _readers[type(context)] = operator.attrgetter(*context.to_policy_values())
    return tuple([tuple(value) if isinstance(value, list) else value for value in read(context)])


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

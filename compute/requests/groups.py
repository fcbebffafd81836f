"""The groups of a request: what the flavor's extra specs name, and what else comes to it."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import os_resource_classes

from compute.report.consumers.resource_request import RequestGroup
from compute.requests.reading.values import whole_number

#: the suffix of the group whose resources may come from all of a tree
UNSUFFIXED = ""
_KEY = re.compile(r"^(resources|trait)([A-Za-z0-9_-]{1,64})?:(.*)$")
_POLICIES = ("none", "isolate")


@dataclass
class GroupDraft:
    """What must come from one provider."""

    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)

    def done(self) -> RequestGroup:
        """Return the group as it's asked for, without amounts of 0."""
        amounts = {name: amount for name, amount in self.resources.items() if amount}
        return RequestGroup(amounts, frozenset(self.required), frozenset(self.forbidden))


@dataclass
class Groups:
    """The groups by suffix.

    :param numbered: how many suffixed ones the flavor names, with usable values or not
    :param outside: whether groups of devices or ports were added
    :param ignored: a sentence for each extra spec with a value that nova ignores
    """

    policy: str | None = None
    numbered: int = 0
    outside: bool = False
    by_suffix: dict[str, GroupDraft] = field(
        default_factory=lambda: collections.defaultdict(GroupDraft)
    )
    ignored: list[str] = field(default_factory=list)

    @property
    def main(self) -> GroupDraft:
        """The unsuffixed group."""
        return self.by_suffix[UNSUFFIXED]

    def add(self, suffix: str, group: GroupDraft) -> None:
        """Add a group of a device or a port."""
        self.by_suffix[suffix] = group
        self.outside = True

    def has(self, name: str) -> bool:
        """Say whether any group names the class, be it with the amount 0."""
        return any(name in group.resources for group in self.by_suffix.values())

    def policy_asked(self) -> str | None:
        """Return the policy: the flavor's, else none as soon as groups came from outside."""
        suffixed = self.finished().keys() - {UNSUFFIXED}
        if self.policy is None and self.numbered < 2 and self.outside and len(suffixed) > 1:
            return "none"
        return self.policy

    def finished(self) -> Mapping[str, RequestGroup]:
        """Return the groups that ask for something."""
        done = {suffix: group.done() for suffix, group in self.by_suffix.items()}
        return {suffix: group for suffix, group in done.items() if group != RequestGroup()}


def groups_of(specs: Mapping[str, str]) -> Groups:
    """Return what the extra specs name: classes, traits, and a policy."""
    groups = Groups()
    for name, value in specs.items():
        if name == "group_policy":
            if value in _POLICIES:
                groups.policy = value
            else:
                groups.ignored.append(_ignored(name, value, "it must be none or isolate"))
        elif match := _KEY.match(name):
            group = groups.by_suffix[match[2] or UNSUFFIXED]
            problem = (_add_class if match[1] == "resources" else _add_trait)(
                group, match[3], value
            )
            groups.ignored.extend(_ignored(name, value, why) for why in problem)
    groups.numbered = len(groups.by_suffix.keys() - {UNSUFFIXED})
    return groups


def _add_class(group: GroupDraft, name: str, value: str) -> Iterator[str]:
    """Add a class; yield why its value is ignored."""
    amount = whole_number(value)
    if not (name.startswith("CUSTOM_") or name in os_resource_classes.STANDARDS):
        yield f"there is no resource class {name}"
    elif amount is None or amount < 0:
        yield "it must be a whole number from 0"
    else:
        group.resources[name] = amount


def _add_trait(group: GroupDraft, name: str, value: str) -> Iterator[str]:
    """Add a trait; yield why its value is ignored."""
    if value == "required":
        group.required.add(name)
    elif value == "forbidden":
        group.forbidden.add(name)
    else:
        yield "it must be required or forbidden"


def _ignored(name: str, value: str, why: str) -> str:
    return f"{name}={value} is ignored: {why}."

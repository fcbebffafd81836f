"""Options for a query of allocation candidates: those of `allocation candidate list`, and more."""

import argparse
import collections
from collections.abc import Sequence
from urllib.parse import urlencode

from compute.osc.exit_codes import refuse


class _OfGroup(argparse.Action):
    """Stores an option's value under the group that the last `--group` before it named."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        groups = getattr(namespace, "groups", None)
        if groups is None:
            groups = collections.defaultdict(lambda: collections.defaultdict(list))
            namespace.groups = groups
        if self.dest == "group":
            namespace.group = values
            groups[values]
        else:
            groups[namespace.group or ""][self.dest].append(values)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a query."""

    def add(name: str, metavar: str, text: str) -> None:
        parser.add_argument(name, metavar=metavar, action=_OfGroup, help=text)

    parser.set_defaults(groups=None)
    add("--resource", "<resource_class>=<value>", "An amount of a resource class. Repeatable.")
    add("--required", "<trait>", "A required trait, or several with commas: one of them.")
    add("--forbidden", "<trait>", "A forbidden trait. Repeatable.")
    add("--member-of", "<uuid>", "An aggregate, or several with commas: one of them. Repeatable.")
    add("--in-tree", "<uuid>", "Only the tree that this resource provider is part of.")
    parser.add_argument(
        "--group",
        metavar="<group>",
        action=_OfGroup,
        help="What follows is of this group, and comes from one resource provider. Repeatable.",
    )
    parser.add_argument(
        "--group-policy",
        metavar="<policy>",
        choices=("none", "isolate"),
        help="none, or isolate: groups come from different resource providers.",
    )
    parser.add_argument(
        "--root-required",
        metavar="<trait>",
        action="append",
        default=[],
        help="A trait that the root must have; with ! before it, must not have. Repeatable.",
    )
    parser.add_argument(
        "--same-subtree",
        metavar="<group>,<group>",
        action="append",
        default=[],
        help="Groups whose resource providers are in one subtree. Repeatable.",
    )


def asks(parsed: argparse.Namespace) -> bool:
    """Say whether any of the options is given."""
    given = (parsed.groups, parsed.group_policy, parsed.root_required, parsed.same_subtree)
    return any(given)


def query_of(parsed: argparse.Namespace) -> str:
    """Return the query that the options stand for."""
    pairs: list[tuple[str, str]] = []
    for name, given in (parsed.groups or {}).items():
        pairs += _of_group(_suffix(name), given)
    if parsed.root_required:
        pairs.append(("root_required", ",".join(parsed.root_required)))
    for groups in parsed.same_subtree:
        pairs.append(("same_subtree", ",".join(map(_suffix, groups.split(",")))))
    if parsed.group_policy:
        pairs.append(("group_policy", parsed.group_policy))
    return urlencode(pairs)


def _suffix(group: str) -> str:
    """Return a group's suffix: `1` for group 1, as in osc-placement, and `_net` for group net."""
    return group if not group or group.isdigit() or group.startswith("_") else f"_{group}"


def any_of(names: str) -> str:
    """Return `a` as it is, and `a,b` as `in:a,b`: any of them."""
    return f"in:{names}" if "," in names else names


def amount_of(text: str) -> str:
    """Return `VCPU=2` as `VCPU:2`; end the command if the text has another form."""
    name, equals, amount = text.partition("=")
    if not equals:
        refuse(f"--resource {text}: an amount has the form <resource_class>=<value>.")
    return f"{name}:{amount}"


def _of_group(suffix: str, given: dict[str, Sequence[str]]) -> list[tuple[str, str]]:
    pairs = []
    amounts = ",".join(map(amount_of, given.get("resource", ())))
    if amounts:
        pairs.append((f"resources{suffix}", amounts))
    pairs += [(f"required{suffix}", any_of(names)) for names in given.get("required", ())]
    pairs += [(f"required{suffix}", f"!{name}") for name in given.get("forbidden", ())]
    pairs += [(f"member_of{suffix}", any_of(uuids)) for uuids in given.get("member_of", ())]
    pairs += [(f"in_tree{suffix}", uuid) for uuid in given.get("in_tree", ())]
    return pairs

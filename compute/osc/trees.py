"""`openstack resource provider tree report` and `tree find`."""

import argparse
from collections.abc import Iterator
from typing import Any

from osc_lib.command import command

from compute.osc.candidate_query import amount_of, any_of
from compute.osc.columns import LinesColumn, Table, listing, safe, text
from compute.osc.service import PlacementService
from compute.provider_tree.inventory_record import capacity


class ReportTree(command.Lister):
    """Show the whole tree that a resource provider is part of: inventories with what is used."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "provider", metavar="<uuid or name>", help="A resource provider of the tree."
        )
        parser.add_argument(
            "--long", action="store_true", help="Show generations, traits and aggregates, too."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and rows."""
        service = PlacementService(self.app.client_manager)
        tree = service.tree_of(parsed_args.provider, "inventories,usages,traits,aggregates")
        rows = [
            _ProviderRow(provider, before, below)
            for provider, before, below in _drawn(tree["providers"])
        ]
        titles = ["provider", "uuid", "resources"]
        if parsed_args.formatter == "table" and not parsed_args.columns:
            # 80 columns of a terminal have no room for uuid and name
            titles.remove("uuid")
            rows = [row.with_uuid() for row in rows]
        if parsed_args.long:
            titles += ["generation", "traits", "aggregates"]
        form = parsed_args.formatter
        return titles, [safe([row.values[title] for title in titles], form) for row in rows]


class FindTrees(command.Lister):
    """List trees of resource providers: their roots, and what all their providers have."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        one = "Trees where a resource provider"
        for option, metavar, told in (
            ("--resource", "<resource_class>=<value>", f"{one} has room for it. Repeatable."),
            ("--required", "<trait>", f"{one} has it, or one of several with commas. Repeatable."),
            ("--member-of", "<uuid>", f"{one} is in it, or in one of several. Repeatable."),
        ):
            parser.add_argument(option, metavar=metavar, action="append", default=[], help=told)
        parser.add_argument("--name", metavar="<name>", help=f"{one} has this name.")
        parser.add_argument(
            "--marker", metavar="<uuid>", help="Begin behind the tree with this root."
        )
        parser.add_argument(
            "--limit", metavar="<limit>", type=int, help="At most so many trees. Default: all."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and rows."""
        given = {
            "name": parsed_args.name,
            "resources": ",".join(map(amount_of, parsed_args.resource)),
            "required": [any_of(names) for names in parsed_args.required],
            "member_of": [any_of(uuids) for uuids in parsed_args.member_of],
            "marker": parsed_args.marker,
            "limit": parsed_args.limit,
        }
        parameters = {name: value for name, value in given.items() if value}
        parameters["fields"] = "inventories,usages"
        trees = PlacementService(self.app.client_manager).trees(parameters)
        rows = [
            (text(tree["providers"][0]["name"]), tree["root"], len(tree["providers"]), _sum(tree))
            for tree in trees
        ]
        form = parsed_args.formatter
        return ("root", "uuid", "providers", "resources"), [safe(row, form) for row in rows]


class _ProviderRow:
    """What is shown of a provider.

    :param before: what is drawn before its name
    :param below: what is drawn before the lines below its name
    """

    def __init__(self, provider: dict[str, Any], before: str, below: str) -> None:
        records, used = provider["inventories"], provider["usages"]
        self._below = below
        self._lines = [before + provider["name"]]
        resources = {
            key: {"capacity": int(capacity(record)), "used": used.get(key, 0)}
            for key, record in records.items()
        }
        self.values = {
            "provider": LinesColumn(provider["name"], self._lines),
            "uuid": provider["uuid"],
            "resources": _resources(resources),
            "generation": provider["generation"],
            "traits": listing(provider["traits"], str),
            "aggregates": listing(provider["aggregates"], str),
        }

    def with_uuid(self) -> "_ProviderRow":
        """Show the uuid below the name."""
        self._lines.append(self._below + self.values["uuid"])
        return self


def _drawn(providers: list[dict[str, Any]]) -> Iterator[tuple[dict[str, object], str, str]]:
    """Yield providers, each behind its parent, with what is drawn before its lines."""
    children: dict[str | None, list[dict[str, Any]]] = {}
    for provider in sorted(providers, key=lambda one: str(one["name"])):
        children.setdefault(provider["parent_provider_uuid"], []).append(provider)

    # no recursion: a tree may be deeper than Python's stack
    waiting = [(root, "", "") for root in reversed(children.get(None, []))]
    while waiting:
        provider, before, below = waiting.pop()
        mine = children.get(provider["uuid"], [])
        yield provider, before, below + ("│  " if mine else "   ")
        for child in reversed(mine):
            last = child is mine[-1]
            ends = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((child, below + ends[0], below + ends[1]))


def _sum(tree: dict[str, Any]) -> LinesColumn:
    found: dict[str, dict[str, int]] = {}
    for provider in tree["providers"]:
        for name, record in provider["inventories"].items():
            known = found.setdefault(name, {"capacity": 0, "used": 0})
            known["capacity"] += int(capacity(record))
            known["used"] += provider["usages"].get(name, 0)
    return _resources(found)


def _resources(found: dict[str, dict[str, int]]) -> LinesColumn:
    lines = [f"{name} {one['used']}/{one['capacity']}" for name, one in found.items()]
    return LinesColumn(found, lines)

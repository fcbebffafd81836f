"""`openstack capacity survives`."""

import argparse
from collections.abc import Iterator
from typing import Any

from compute.osc import plan_terms, what_if
from compute.osc.columns import LinesColumn, Table, safe, text
from compute.osc.service import PlacementService
from compute.osc.show_one import ShowOne

#: what the answer has as plain values
_PLAIN = ("verdict", "sets", "of", "absorbed", "unknown", "constraints")


class Survives(ShowOne):
    """Say whether all that is on a host would fit elsewhere if it were lost, of each host.

    Nothing is moved. The exit code is 0 if each loss can be absorbed, 3 if one can't, and 4 if that
    isn't known. Placement doesn't know which traits and aggregates a consumer once asked for: a
    move may need more than room.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--each",
            choices=("root", "aggregate"),
            default="root",
            help="What is lost: a host (root, the default), or all hosts of an aggregate.",
        )
        parser.add_argument(
            "--lost",
            metavar="<uuid or name>",
            action="append",
            default=[],
            help="Lose this resource provider's host alone; repeatable, to lose several together.",
        )
        parser.add_argument(
            "--member-of",
            metavar="<member_of>",
            help="Lose only hosts that are in these aggregates; in the form of placement's API.",
        )
        parser.add_argument(
            "--together",
            metavar="<number>",
            type=int,
            help="Lose any so many of them at the same time.",
        )
        parser.add_argument(
            "--limit", metavar="<limit>", type=int, help="How many of the worst losses are told."
        )
        plan_terms.add_options(parser)
        what_if.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and values."""
        service = PlacementService(self.app.client_manager)
        body: dict[str, Any] = {"each": parsed_args.each}
        if parsed_args.lost:
            body["each"] = [list(dict.fromkeys(map(service.root_of, parsed_args.lost)))]
        if parsed_args.member_of:
            body["among"] = {"member_of": parsed_args.member_of}
        for name in ("together", "limit"):
            if getattr(parsed_args, name) is not None:
                body[name] = getattr(parsed_args, name)
        body |= plan_terms.terms_of(parsed_args) | parsed_args.change
        found = service.post("/plans/survives", body)
        self.fits, self.unknown = found["verdict"] == "possible", found["verdict"] == "unknown"
        shown: dict[str, Any] = {name: found[name] for name in _PLAIN}
        shown["worst"] = LinesColumn(
            found["worst"], [line for one in found["worst"] for line in _lines(one)]
        )
        shown["message"] = text(found["message"])
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


def _lines(one: dict[str, Any]) -> Iterator[str]:
    alike = f", and {one['alike']} alike" if one["alike"] else ""
    yield f"{one['name']}{alike}: {one['placed']} of {one['consumers']} placed, {one['verdict']}"
    if one["missing"]:
        missing = ", ".join(f"{name} {amount}" for name, amount in one["missing"].items())
        yield f"  at least missing: {missing}"
    for left in one["left"]:
        yield f"  {left['consumer']}: {left['reason']}"

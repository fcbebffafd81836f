"""`openstack capacity make room`."""

import argparse
from typing import Any

from compute.osc import flavors, plan_terms, what_if
from compute.osc.columns import Table, counts, listing, safe, text
from compute.osc.service import PlacementService
from compute.osc.show_one import ShowOne


class MakeRoom(ShowOne):
    """Say which few moves of consumers would make room for what the options ask for.

    Nothing is moved. Made in their order, each move fits when its turn comes. The exit code is 0 if
    it fits or a plan was found, 3 if there is none, and 4 if that isn't known.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        flavors.add_options(parser)
        parser.add_argument(
            "--count", metavar="<number>", type=int, help="Make room for so many of it."
        )
        parser.add_argument(
            "--within",
            metavar="<uuid or name>",
            action="append",
            default=[],
            help="Make room in this resource provider's tree. Repeatable: in one of them.",
        )
        parser.add_argument(
            "--moves", metavar="<number>", type=int, help="How many moves a plan has at most."
        )
        parser.add_argument(
            "--by",
            metavar="<what>",
            help="What is to be least: moves, or the amount of a resource class that moves.",
        )
        plan_terms.add_options(parser)
        what_if.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and values."""
        wanted = flavors.wanted_of(self.app.client_manager, parsed_args)
        service = PlacementService(self.app.client_manager)
        body: dict[str, Any] = {"query": wanted.query}
        body |= plan_terms.terms_of(parsed_args) | parsed_args.change
        if parsed_args.within:
            body["within"] = list(dict.fromkeys(map(service.root_of, parsed_args.within)))
        if parsed_args.moves is not None:
            body["limit"] = {"moves": parsed_args.moves}
        for name in ("count", "by"):
            if getattr(parsed_args, name) is not None:
                body[name] = getattr(parsed_args, name)
        found = service.post("/plans/room", body)
        self.fits = found["verdict"] in ("fits", "possible")
        self.unknown = found["verdict"] == "unknown"
        shown: dict[str, Any] = {name: found[name] for name in ("verdict", "exact", "constraints")}
        shown["moves"] = listing(found["moves"], _line)
        amounts = {name: amount for name, amount in found["cost"]["amounts"].items() if amount}
        shown["cost"] = counts({"moves": found["cost"]["moves"]} | amounts)
        shown["then"] = listing(
            found["then"]["trees"], lambda one: f"{one['name']} ({one['root']})"
        )
        shown["message"] = text(found["message"])
        if parsed_args.flavor:
            shown["left_out"] = listing(list(wanted.left_out), str)
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


def _line(move: dict[str, Any]) -> str:
    before, after = (", ".join(one["name"] for one in move[key]) for key in ("from", "to"))
    waits = ", ".join(str(number + 1) for number in move["after"])
    return f"{move['consumer']} from {before} to {after}" + (f", after {waits}" if waits else "")

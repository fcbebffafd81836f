"""`openstack capacity make room`."""

import argparse
from typing import Any

from compute.osc import json_file, what_if
from compute.osc.candidate_query import add_options, asks, query_of
from compute.osc.capacity import flavor_request
from compute.osc.columns import counts, listing, safe, text
from compute.osc.exit_codes import refuse
from compute.osc.service import PlacementService
from compute.osc.show_one import ShowOne


class MakeRoom(ShowOne):
    """Say which few consumers have to move so that something fits. Nothing is moved.

    The moves can be made in their order: none of them needs more than is free when its turn comes.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_options(parser)
        parser.add_argument(
            "--flavor",
            metavar="<flavor>",
            help="A flavor of nova, by name or id, in place of the options above. Nova has filters "
            "of its own, which aren't asked.",
        )
        parser.add_argument(
            "--count", metavar="<count>", type=int, help="For how many room is made; by default 1."
        )
        parser.add_argument(
            "--within",
            metavar="<uuid or name>",
            action="append",
            default=[],
            help="Make room on this resource provider's tree. Repeatable; by default anywhere.",
        )
        parser.add_argument(
            "--moves", metavar="<moves>", type=int, help="How many moves at most; by default 5."
        )
        parser.add_argument(
            "--by",
            metavar="<resource_class>",
            help="Move as little as possible of this class, in place of as few consumers as "
            "possible.",
        )
        parser.add_argument(
            "--consumer-type",
            metavar="<consumer_type>",
            action="append",
            default=[],
            help="Who may move: consumers of this type, by default INSTANCE. `unknown` is the type "
            "of those that have none, as nova's instances. Repeatable.",
        )
        parser.add_argument(
            "--except",
            dest="but",
            metavar="<uuid>",
            action="append",
            default=[],
            help="This consumer doesn't move. Repeatable.",
        )
        parser.add_argument(
            "--constraints",
            metavar="<file>",
            type=json_file.read,
            default={},
            help="A JSON file with what placement can't know: apart, together and not_on.",
        )
        what_if.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        """Return columns and values."""
        if bool(parsed_args.flavor) == asks(parsed_args):
            refuse("Say what is to fit: either --resource and its like, or --flavor.")
        if parsed_args.flavor:
            query = flavor_request(self.app.client_manager, parsed_args.flavor).query
        else:
            query = query_of(parsed_args)
        service = PlacementService(self.app.client_manager)
        found = service.post("/plans/room", _body(service, parsed_args, query))
        self.fits = found["verdict"] in ("fits", "possible")
        self.unknown = found["verdict"] == "unknown"
        shown = {
            "verdict": found["verdict"],
            "exact": found["exact"],
            "message": text(found["message"]),
            "moves": listing(found["moves"], _move),
            "cost": counts({"moves": found["cost"]["moves"]} | found["cost"]["amounts"]),
            "then": listing(found["then"]["trees"], lambda one: f"{one['name']} ({one['root']})"),
            "constraints": found["constraints"],
        }
        if parsed_args.flavor:
            shown["query"] = text(query)
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


def _body(service: PlacementService, given: argparse.Namespace, query: str) -> dict[str, Any]:
    """Return the request; what isn't given is left out."""
    movable = {"except": given.but, "consumer_types": given.consumer_type}
    limit = {} if given.moves is None else {"moves": given.moves}
    wanted = {
        "count": given.count,
        "within": [service.root_of(name) for name in given.within],
        "by": given.by,
        "movable": {name: value for name, value in movable.items() if value},
        "constraints": given.constraints.get("constraints", given.constraints),
        "limit": limit,
    }
    chosen = {name: value for name, value in wanted.items() if value not in (None, [], {})}
    return {"query": query} | chosen | given.change


def _move(move: dict[str, Any]) -> str:
    names = [", ".join(one["name"] for one in move[side]) for side in ("from", "to")]
    after = f" after {', '.join(str(one + 1) for one in move['after'])}" if move["after"] else ""
    return f"{move['consumer']} from {names[0]} to {names[1]}{after}"

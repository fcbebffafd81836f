"""`openstack capacity show` and `capacity evacuate`."""

import argparse
from typing import Any

from osc_lib import exceptions

from compute.maintenance.flavor_request import FlavorRequest, flavor_request
from compute.osc.candidate_query import add_options, asks, query_of
from compute.osc.columns import LinesColumn, counts, listing, safe, text
from compute.osc.exit_codes import refuse
from compute.osc.service import PlacementService
from compute.osc.show_one import ShowOne
from compute.records.instance import Flavor


class ShowCapacity(ShowOne):
    """Say how many more fit: of what the options ask for, or of a flavor of nova."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_options(parser)
        parser.add_argument(
            "--flavor",
            metavar="<flavor>",
            help="A flavor of nova, by name or id, in place of the options above. Nova has filters "
            "of its own: it may refuse hosts that placement offers.",
        )
        parser.add_argument(
            "--by",
            choices=("aggregate", "root"),
            action="append",
            default=[],
            help="Tell each aggregate, or each tree, too. May be given for both.",
        )
        parser.add_argument(
            "--without",
            metavar="<uuid or name>",
            action="append",
            default=[],
            help="As if this resource provider's tree were gone. Repeatable.",
        )
        parser.add_argument(
            "--limit", metavar="<limit>", type=int, help="How many aggregates and trees are told."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        """Return columns and values."""
        if bool(parsed_args.flavor) == asks(parsed_args):
            refuse("Say what is to fit: either --resource and its like, or --flavor.")
        left_out: tuple[str, ...] = ()
        if parsed_args.flavor:
            translated = _flavor(self.app.client_manager, parsed_args.flavor)
            query, left_out = translated.request.to_querystring(), translated.left_out
        else:
            query = query_of(parsed_args)
        service = PlacementService(self.app.client_manager)
        body: dict[str, Any] = {
            "requests": {"": {"query": query}},
            "by": parsed_args.by,
            "without": [service.root_of(name) for name in parsed_args.without],
        }
        if parsed_args.limit is not None:
            body["limit"] = parsed_args.limit
        found = service.post("/capacity", body)["requests"][""]
        self.fits = found["fits"] > 0
        shown = {name: found[name] for name in ("fits", "exact", "upper", "trees") if name in found}
        shown["limited_by"] = counts(found["limited_by"])
        shown["stranded"] = counts(found["stranded"])
        if "by_aggregate" in found:
            lines = [f"{uuid} {_fits(one)}" for uuid, one in found["by_aggregate"].items()]
            shown["by_aggregate"] = LinesColumn(found["by_aggregate"], lines)
        if "by_root" in found:
            shown["by_root"] = listing(
                found["by_root"],
                lambda one: f"{one['name']} ({one['uuid']}) {_fits(one)} {one['limited_by'] or ''}",
            )
        if parsed_args.flavor:
            shown["query"] = text(query)
            shown["left_out"] = listing(list(left_out), str)
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


class Evacuate(ShowOne):
    """Say whether all that consumers hold of some trees would fit elsewhere. Nothing is moved.

    Placement doesn't know which traits and aggregates a consumer once asked for: a move may need
    more than room.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "providers",
            metavar="<uuid or name>",
            nargs="+",
            help="Resource providers of the trees that are to be emptied.",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        """Return columns and values."""
        service = PlacementService(self.app.client_manager)
        roots = list(dict.fromkeys(map(service.root_of, parsed_args.providers)))
        found = service.post("/capacity/evacuate", {"without": roots})
        self.fits = found["fits"]
        shown = {
            "fits": found["fits"],
            "exact": found["exact"],
            "consumers": counts(found["consumers"]),
            "unfit": listing(found["unfit"], lambda one: f"{one['consumer']}: {one['message']}"),
            "moves": LinesColumn(
                found["moves"],
                [f"{consumer} to {move['root']}" for consumer, move in found["moves"].items()],
            ),
        }
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


def _fits(one: dict[str, Any]) -> str:
    return f"{one['fits']}-{one['upper']}" if "upper" in one else f"{one['fits']}"


def _flavor(client_manager: Any, name: str) -> FlavorRequest:
    """Translate a flavor of nova."""
    compute = client_manager.sdk_connection.compute
    if not hasattr(compute, "find_flavor"):
        raise exceptions.CommandError("There is no compute service to ask for the flavor.")
    found = compute.find_flavor(name, ignore_missing=False, get_extra_specs=True)
    specs = {str(key): str(value) for key, value in (found.extra_specs or {}).items()}
    flavor = Flavor(
        found.vcpus, found.ram, found.disk, found.ephemeral, found.swap, specs, found.name
    )
    return flavor_request(flavor)

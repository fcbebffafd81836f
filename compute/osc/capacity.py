"""`openstack capacity show` and `capacity evacuate`."""

import argparse
from collections.abc import Mapping
from typing import Any

from compute.maintenance.fitting import WantedResources
from compute.osc import flavors, what_if
from compute.osc.columns import LinesColumn, Table, counts, listing, safe, text
from compute.osc.service import PlacementService
from compute.osc.show_one import ShowOne


class ShowCapacity(ShowOne):
    """Say how many more fit: of what the options ask for, or of a flavor of nova."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        flavors.add_options(parser)
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
        what_if.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and values."""
        wanted = flavors.wanted_of(self.app.client_manager, parsed_args)
        service = PlacementService(self.app.client_manager)
        body: dict[str, Any] = {
            "by": parsed_args.by,
            "without": [service.root_of(name) for name in parsed_args.without],
        } | parsed_args.change
        if parsed_args.limit is not None:
            body["limit"] = parsed_args.limit
        query, found = _judged(service, wanted, body)
        self.fits, self.unknown = found["fits"] > 0, found.get("verdict") == "unknown"
        names = ("fits", "exact", "upper", "verdict", "trees")
        shown: dict[str, Any] = {name: found[name] for name in names if name in found}
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
            if wanted.fallback:
                shown["judged"] = "request" if query == wanted.query else "fallback"
            shown["left_out"] = listing(list(wanted.left_out), str)
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
        what_if.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and values."""
        service = PlacementService(self.app.client_manager)
        roots = list(dict.fromkeys(map(service.root_of, parsed_args.providers)))
        found = service.post("/capacity/evacuate", {"without": roots} | parsed_args.change)
        self.fits, self.unknown = found["fits"], found.get("verdict") == "unknown"
        shown = {
            "fits": found["fits"],
            "exact": found["exact"],
            # None: the service is older than the verdict
            "verdict": found.get("verdict"),
            "consumers": counts(found["consumers"]),
            "unfit": listing(found["unfit"], lambda one: f"{one['consumer']}: {one['message']}"),
            "moves": LinesColumn(
                found["moves"],
                [f"{consumer} to {move['root']}" for consumer, move in found["moves"].items()],
            ),
        }
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


def _fits(one: Mapping[str, object]) -> str:
    return f"{one['fits']}-{one['upper']}" if "upper" in one else f"{one['fits']}"


def _judged(
    service: PlacementService, wanted: WantedResources, body: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the query that was judged, and its answer: the fallback's if only that fits."""
    queries = {"request": wanted.query} | ({"fallback": wanted.fallback} if wanted.fallback else {})
    requests = {name: {"query": query} for name, query in queries.items()}
    found = service.post("/capacity", body | {"requests": requests})["requests"]
    fitting = [name for name in queries if found[name]["fits"]]
    judged = next(iter(fitting), "request")
    return queries[judged], found[judged]

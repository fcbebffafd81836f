"""`openstack allocation candidate explain`."""

import argparse
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from compute.osc import what_if
from compute.osc.candidate_query import add_options, query_of
from compute.osc.columns import LinesColumn, Table, listing, safe, text
from compute.osc.service import PlacementService
from compute.osc.show_one import ShowOne
from placement.reports.explanation import alike


class ExplainCandidates(ShowOne):
    """Say why a query has no allocation candidates, and what would help."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_options(parser)
        parser.add_argument(
            "--provider", metavar="<uuid or name>", help="Tell all that this one lacks, too."
        )
        parser.add_argument(
            "--consumer", metavar="<uuid>", help="As if what this consumer holds were free."
        )
        what_if.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and values."""
        more = {"provider": parsed_args.provider, "consumer": parsed_args.consumer}
        given = {name: value for name, value in more.items() if value is not None}
        query, path = query_of(parsed_args), "/allocation_candidates/explain"
        service = PlacementService(self.app.client_manager)
        if parsed_args.change:
            found = service.post(path, {"query": query} | given | parsed_args.change)
        else:
            parts = (query, urlencode(given))
            found = service.get(f"{path}?{'&'.join(part for part in parts if part)}")
        self.fits = found["verdict"] == "some"
        self.unknown = found["verdict"] == "unknown"
        shown = {
            "message": text(found["message"]),
            "verdict": found["verdict"],
            "candidates": found["candidates"],
            "trees": found["trees"]["total"],
            "trees_left": found["trees"]["left"],
            "reasons": listing(found["reasons"], _reason),
            "nearest": LinesColumn(
                found["nearest"], [_near(one, trees) for one, trees in alike(found["nearest"])]
            ),
            "relaxations": listing(
                found["relaxations"], lambda one: f"{one['text']}: {_trees(one)}"
            ),
        }
        # an older service doesn't say it
        if not found.get("relaxations_complete", True):
            shown["relaxations_complete"] = False
        if "provider" in found:
            provider = found["provider"]
            shown["provider"] = listing([provider], lambda one: _near(one, [_root_of(one)]))
        return tuple(shown), safe(tuple(shown.values()), parsed_args.formatter)


def _trees(one: Mapping[str, object]) -> str:
    return "1 tree" if one["trees"] == 1 else f"{one['trees']} trees"


def _reason(one: Mapping[str, object]) -> str:
    of = f" of group {one['group']}" if one["group"] else ""
    return f"{_trees(one)}: {one['reason']} {one['name']}{of}".rstrip()


def _root_of(one: dict[str, Any]) -> str:
    # an older service doesn't name roots
    name: str = one.get("root_name", one["name"])
    return name


def _near(one: dict[str, Any], trees: list[str]) -> str:
    """Say what trees lack of one provider.

    :param trees: the names of their roots
    """
    lacks = ", ".join(map(_lack, one["missing"])) or "nothing"
    others = [name for name in trees if name not in (one["name"], one["root"])]
    of = f" of {', '.join(others)}" if others else ""
    return f"{one['name']} ({one['uuid']}){of} lacks {lacks}"


def _lack(missing: dict[str, Any]) -> str:
    of = f"{missing['group']}: " if missing["group"] else ""
    told = f"{of}{missing['reason']} {missing['name']}".rstrip()
    if "free" in missing:
        told += f" (asked {missing['asked']}, free {missing['free']})"
    if "aggregates" in missing:
        told += f" (it is in {', '.join(missing['aggregates']) or 'none'})"
    return told

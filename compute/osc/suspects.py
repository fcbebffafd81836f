"""`openstack placement suspect list`."""

import argparse
from typing import Any

from osc_lib.command import command

from compute.osc.columns import Table, safe, text
from compute.osc.service import PlacementService
from placement.extensions.suspects.rules import KINDS

_TITLES = ("kind", "provider", "uuid", "consumer", "resource_class", "first_seen", "detail")
#: the columns that a table has room for; `-c` shows others
_OF_TABLE = ("kind", "detail")


class ListSuspects(command.Lister):
    """List what placement suspects to be wrong. A suspicion is no verdict."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--kind", metavar="<kind>", choices=KINDS, help=f"One of {', '.join(KINDS)}."
        )
        parser.add_argument(
            "--limit", metavar="<limit>", type=int, help="At most so many. Default: all."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and rows."""
        given = {"kind": parsed_args.kind, "limit": parsed_args.limit}
        parameters = {name: value for name, value in given.items() if value is not None}
        form = parsed_args.formatter
        titles = _OF_TABLE if form == "table" and not parsed_args.columns else _TITLES
        rows = (_row(one) for one in PlacementService(self.app.client_manager).suspects(parameters))
        return titles, [safe([row[title] for title in titles], form) for row in rows]


def _row(suspect: dict[str, Any]) -> dict[str, object]:
    provider = suspect["provider"] or {"uuid": None, "name": None}
    name = provider["name"]
    return suspect | {
        "provider": None if name is None else text(name),
        "uuid": provider["uuid"],
        "detail": text(suspect["detail"]),
    }

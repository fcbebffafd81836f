"""`openstack allocation claim`."""

import argparse
from typing import Any
from uuid import uuid4

from osc_lib.command import command

from compute.osc.candidate_query import add_options, query_of
from compute.osc.columns import LinesColumn, Table, counts, listing, safe
from compute.osc.exit_codes import CODES, NOTHING_FITS
from compute.osc.service import NoCandidateFound, PlacementService
from placement.reports.lines import wrapped


class ClaimAllocation(command.Lister):
    """Find an allocation candidate for a consumer and allocate it, in one step.

    Sending it again for a consumer that holds what is asked for shows what it holds.
    """

    _epilog = CODES

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_options(parser)
        add = parser.add_argument
        add(
            "--consumer",
            metavar="<uuid>",
            action="append",
            help="The consumer. Repeatable: all of them get a candidate, or none. Default: a new "
            "uuid.",
        )
        add("--project-id", metavar="<project_id>", required=True, help="Project of the consumer.")
        add("--user-id", metavar="<user_id>", required=True, help="User of the consumer.")
        add(
            "--consumer-type",
            metavar="<consumer_type>",
            default="INSTANCE",
            help="Type of the consumer (default: %(default)s).",
        )
        add(
            "--strategy",
            choices=("first", "random", "spread", "pack"),
            help="Which of the trees is taken.",
        )
        add("--by", metavar="<resource_class>", help="The class that spread and pack look at.")
        add(
            "--avoid",
            metavar="<uuid or name>",
            action="append",
            default=[],
            help="Not in this resource provider's tree. Repeatable.",
        )
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print what was allocated and return the exit code."""
        try:
            shown: int = super().run(parsed_args)
        except NoCandidateFound as nothing:
            print("\n".join(wrapped(str(nothing))), file=self.app.stderr)
            return NOTHING_FITS
        return shown

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return columns and rows."""
        service = PlacementService(self.app.client_manager)
        owner = {
            "project_id": parsed_args.project_id,
            "user_id": parsed_args.user_id,
            "consumer_type": parsed_args.consumer_type,
        }
        consumers = parsed_args.consumer or [str(uuid4())]
        body: dict[str, Any] = {
            "query": query_of(parsed_args),
            "consumers": [{"uuid": uuid, **owner} for uuid in consumers],
            "avoid": [service.root_of(name) for name in parsed_args.avoid],
        }
        for name in ("strategy", "by"):
            if getattr(parsed_args, name) is not None:
                body[name] = getattr(parsed_args, name)
        found = service.post("/claims", body)["consumers"]
        rows = [
            (consumer, uuid, counts(given["resources"]), _groups(claimed["mappings"], uuid))
            for consumer, claimed in found.items()
            for uuid, given in claimed["allocations"].items()
        ]
        if parsed_args.formatter != "table" or parsed_args.columns:
            plain = [safe(row, parsed_args.formatter) for row in rows]
            return ("consumer", "resource provider", "resources", "groups"), plain
        # 80 columns of a terminal have no room for two uuids beside each other
        narrow = [(LinesColumn(row[0], [row[0], f"  {row[1]}"]), *row[2:]) for row in rows]
        return ("consumer and resource provider", "resources", "groups"), narrow


def _groups(mappings: dict[str, list[str]], uuid: str) -> object:
    return listing([suffix for suffix, uuids in mappings.items() if uuid in uuids], str)

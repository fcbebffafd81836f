"""The options of `nova-manage placement audit`, and which of them go together."""

import argparse
import uuid
from collections.abc import Sequence
from pathlib import Path

from compute.cli.access import placement_access
from compute.cli.command_line import UnusableInput, parser
from compute.cli.journal_options import add_journal_options

EXIT_CODES = """\
exit codes:
    0  there is nothing to do; with --undo: everything is back
    1  an error, or a deletion failed: it ends there
    3  something is to be done: allocations are left over, and not (all of them) deleted, or guests
       lack something. What guests hold too much, what --suspects tells and what is left alone
       doesn't count
    4  something was found, and deleted
    5  refused: records and driver prove nothing, or the records know no node of this host
"""


def parsed(arguments: Sequence[str], description: str) -> argparse.Namespace:
    """Return what is asked for. Raises UnusableInput if options contradict each other."""
    asked = _parser(description).parse_args(arguments)
    _check(asked)
    return asked


def _parser(description: str) -> argparse.ArgumentParser:
    options = parser("audit", description, EXIT_CODES)
    options.add_argument("--delete", action="store_true", help="delete what is found")
    options.add_argument(
        "--yes", action="store_true", help="with --delete: don't ask, on a terminal either"
    )
    options.add_argument(
        "--force",
        action="store_true",
        help="with --delete and --resource_provider: also if the driver can't list its guests, "
        "or the records know no node of this host",
    )
    options.add_argument(
        "--all",
        action="store_true",
        help="look at the trees of all hosts, and tell what is left alone, too",
    )
    options.add_argument(
        "--resource_provider",
        metavar="UUID",
        help="look at this provider's allocations alone; also delete what others may know of",
    )
    add_journal_options(options, "--delete", "put back what is in a journal, and nothing else")
    options.add_argument(
        "--grace",
        type=_seconds,
        metavar="SECONDS",
        help="look twice, so far apart, and count what both looks find, unchanged; with --every, "
        "what all looks of that time find",
    )
    options.add_argument(
        "--suspects",
        action="store_true",
        help="also tell what placement suspects to be wrong, and what the records know of it; "
        "OpenStack Placement suspects nothing",
    )
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options.add_argument(
        "--every",
        type=_seconds,
        metavar="SECONDS",
        help="audit again and again, until Ctrl-C or SIGTERM; a failure is told and counted",
    )
    options.add_argument(
        "--textfile",
        type=Path,
        metavar="FILE",
        help="write metrics to it after each audit, for node_exporter (a name with .prom, or its "
        "folder)",
    )
    options.add_argument("--verbose", action="store_true", help="tell when nothing is found, too")
    placement_access.add_options(options)
    return options


def _seconds(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return int(text)


def _check(asked: argparse.Namespace) -> None:
    for option in ("every", "textfile"):
        if getattr(asked, option) is not None and (asked.delete or asked.undo):
            raise UnusableInput(f"--{option} only looks: it goes neither with --delete nor --undo.")
    if asked.every is not None and asked.json:
        raise UnusableInput("--json prints one object: it doesn't go with --every.")
    if asked.every is not None and asked.suspects:
        raise UnusableInput("--suspects doesn't go with --every: watch placement_suspects instead.")
    if asked.dry_run and not (asked.delete or asked.undo):
        raise UnusableInput(
            "--dry-run is for --delete and --undo: without them nothing is changed."
        )
    for option in ("journal", "yes"):
        if getattr(asked, option) and not asked.delete:
            raise UnusableInput(f"--{option} is for --delete.")
    if asked.force and not (asked.delete and asked.resource_provider):
        raise UnusableInput("--force needs --delete and --resource_provider.")
    if asked.all and asked.resource_provider:
        raise UnusableInput("--all and --resource_provider can't go together.")
    others = ("delete", "resource_provider", "json", "grace", "suspects", "all")
    if asked.undo and any(getattr(asked, name) for name in others):
        raise UnusableInput("--undo goes with no other option than --dry-run.")
    if asked.resource_provider:
        try:
            uuid.UUID(asked.resource_provider)
        except ValueError:
            raise UnusableInput(
                f"Resource provider with UUID {asked.resource_provider} does not exist."
            ) from None

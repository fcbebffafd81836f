"""`placement-manage candidates explain`: an explanation without a service (extensions.md 5)."""

import argparse
import json
from typing import Any

from oslo_config import cfg

from placement import microversions

#: exit code if there is no candidate
NOTHING_FITS, UNKNOWN = 3, 4
_DESCRIPTION = """\
Say why a search for allocation candidates has its result: how many trees each condition leaves
out, what the nearest trees lack, and which change of the query would help. The database of the
configuration is read, and nothing is written. No service needs to run.
"""
_CODES = """\
exit codes:
  0     there are candidates
  1     the command can't do its work
  2     the command line or the query is wrong
  3     there is no candidate
  4     the time was over before a candidate was found
"""


def add_command(categories: Any) -> None:
    """Add the command to the command line of `placement-manage`."""
    candidates = categories.add_parser("candidates", help="explain searches for candidates")
    candidates.set_defaults(run=None, help=candidates.print_help, opens_database=True)
    commands = candidates.add_subparsers(description="commands about candidates")
    explain = commands.add_parser(
        "explain",
        help="say why a search has no candidates, and what would help",
        description=_DESCRIPTION,
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    explain.set_defaults(run=_run, opens_database=False, usage_error=explain.error)
    add = explain.add_argument
    add(
        "query",
        metavar="QUERY",
        help="the query of GET /allocation_candidates, as logs show it, with or without the path "
        "and the question mark before it; such as "
        "'resources=VCPU:4,MEMORY_MB:8192&required=CUSTOM_GOLD'",
    )
    add("--provider", metavar="UUID_OR_NAME", help="tell all that this provider lacks")
    add(
        "--consumer",
        metavar="UUID",
        help="as if what this consumer holds were free: for a resize or a move",
    )
    add_form(explain)


def add_form(command: argparse.ArgumentParser) -> None:
    """Add the options about the form of queries and of the output."""
    command.add_argument(
        "--microversion",
        metavar="1.N",
        default=microversions.name(microversions.NEWEST),
        help="how the query is understood (default: %(default)s)",
    )
    command.add_argument(
        "-f",
        "--format",
        choices=("text", "json"),
        default="text",
        help="the form of the output (default: %(default)s)",
    )


def _run(conf: cfg.ConfigOpts) -> int:
    # imported here because --help and --version need no database
    from placement.cli.in_process import ask, parameters, query_of, refused, write
    from placement.reports.explanation import report

    given = conf.command
    parts = [
        query_of(given.query),
        *parameters({"provider": given.provider, "consumer": given.consumer}),
    ]
    answer = ask(conf, "GET", "allocation_candidates/explain", query_string="&".join(parts))
    if answer.status_code != 200:
        return refused(given, answer)
    shown = answer.get_json()
    # JSON has escapes beyond ASCII: names may control a terminal, which may lack characters, too
    write(json.dumps(shown, indent=2) + "\n" if given.format == "json" else report(shown))
    return {"some": 0, "unknown": UNKNOWN}.get(shown["verdict"], NOTHING_FITS)

"""`placement-manage capacity`: how many more fit, without a service (extensions.md 6)."""

import argparse
import json
from pathlib import Path
from typing import Any

from oslo_config import cfg

from placement.cli.candidates_command import NOTHING_FITS, UNKNOWN, add_form

_DESCRIPTION = """\
Say how many more of some requests fit, each by itself: which resource class the trees run out of
first, and what then stays free. The database of the configuration is read, and nothing is written.
No service needs to run.
"""
_CODES = """\
exit codes:
  0     at least one of the requests fits
  1     the command can't do its work
  2     the command line or a query is wrong
  3     nothing fits
  4     the time was over before that was found out
"""


def add_command(categories: Any) -> None:
    """Add the command to the command line of `placement-manage`."""
    capacity = categories.add_parser(
        "capacity",
        help="say how many more of a request fit",
        description=_DESCRIPTION,
        epilog=_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    capacity.set_defaults(run=_run, opens_database=False, usage_error=capacity.error)
    add = capacity.add_argument
    add(
        "queries",
        metavar="QUERY",
        nargs="+",
        help="the query of GET /allocation_candidates, with or without the path and the question "
        "mark before it; such as 'resources=VCPU:4,MEMORY_MB:8192&required=CUSTOM_GOLD'",
    )
    add(
        "--by",
        choices=("aggregate", "root"),
        action="append",
        default=[],
        help="tell each aggregate, or each tree, too; may be given for both",
    )
    add(
        "--without",
        metavar="UUID",
        action="append",
        default=[],
        help="as if the tree with this root were gone; may be given several times",
    )
    add(
        "--limit",
        metavar="NUMBER",
        type=int,
        default=100,
        help="how many aggregates and trees are told (default: %(default)s)",
    )
    add(
        "--if",
        dest="change",
        metavar="FILE",
        help="as if the cloud were changed as this JSON file says: inventories, traits, "
        "aggregates, all, add, without, freed",
    )
    add_form(capacity)


def _run(conf: cfg.ConfigOpts) -> int:
    # imported here because --help and --version need no database
    from placement.cli.in_process import ask, query_of, refused, write
    from placement.reports.capacity import report

    given = conf.command
    requests = {query: {"query": query_of(query)} for query in given.queries}
    body = {
        "requests": requests,
        "by": given.by,
        "without": given.without,
        "limit": given.limit,
    }
    if given.change is not None:
        try:
            body["if"] = json.loads(Path(given.change).read_text())
        except (OSError, ValueError) as error:
            given.usage_error(f"--if: {given.change} can't be read as JSON: {error}")
    answer = ask(conf, "POST", "capacity", json=body)
    if answer.status_code != 200:
        return refused(given, answer)
    shown = answer.get_json()
    # JSON has escapes beyond ASCII: names may control a terminal, which may lack characters, too
    write(json.dumps(shown, indent=2) + "\n" if given.format == "json" else report(shown))
    verdicts = {room["verdict"] for room in shown["requests"].values()}
    if "some" in verdicts:
        return 0
    return UNKNOWN if "unknown" in verdicts else NOTHING_FITS

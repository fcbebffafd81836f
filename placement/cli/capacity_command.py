"""`placement-manage capacity`: how many more fit, without a service (extensions.md 6)."""

import json

from oslo_config import cfg

from placement.cli.candidates_options import NOTHING_FITS
from placement.cli.in_process import ask, query_of, refused, write
from placement.reports.capacity import report


def run(conf: cfg.ConfigOpts) -> int:
    """Run the command of the command line and return its exit code."""
    given = conf.command
    requests = {query: {"query": query_of(query)} for query in given.queries}
    body = {
        "requests": requests,
        "by": given.by,
        "without": given.without,
        "limit": given.limit,
    }
    answer = ask(conf, "POST", "capacity", json=body)
    if answer.status_code != 200:
        return refused(given, answer)
    shown = answer.get_json()
    # JSON has escapes beyond ASCII: names may control a terminal, which may lack characters, too
    write(json.dumps(shown, indent=2) + "\n" if given.format == "json" else report(shown))
    fits = any(room["fits"] for room in shown["requests"].values())
    return 0 if fits else NOTHING_FITS

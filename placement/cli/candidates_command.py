"""`placement-manage candidates explain`: an explanation without a service (extensions.md 5)."""

import json

from oslo_config import cfg

from placement.cli.candidates_options import NOTHING_FITS
from placement.cli.in_process import ask, parameters, query_of, refused, write
from placement.reports.explanation import report


def run(conf: cfg.ConfigOpts) -> int:
    """Run the command of the command line and return its exit code."""
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
    return 0 if shown["verdict"] == "some" else NOTHING_FITS

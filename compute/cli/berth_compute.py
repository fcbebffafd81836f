"""`berth-compute`: the command line of the agent that runs on each compute host."""

import argparse
import sys
from collections.abc import Sequence

from compute.cli.common_options import add_common_options
from compute.cli.help_text import fitted
from compute.cli.installation import keep_metrics_apart

PROGRAM = "berth-compute"

EXIT_CODES = """\
exit codes:
  0  done; as a service: stopped by SIGTERM or SIGINT
  1  a reshape failed, or is needed where it is not possible
  2  bad usage or configuration
  3  placement can't be reached, or refuses the user (--once only: the service tries again)
  4  the driver can't be loaded, can't work on this host, or (--once only) isn't ready
  5  another failure at start-up; with --once, also when a node could not be updated
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent. Returns the exit code (see EXIT_CODES); bad usage raises SystemExit(2)."""
    keep_metrics_apart()
    arguments = _parser().parse_args(argv)
    # imported here because --help and --version need nothing of the agent
    from compute.cli import agent

    return agent.run(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=fitted(
            "Report this host's resources to placement: once at start-up, when inventory and "
            "allocations may be reshaped, and then every update_resources_interval seconds. "
            "SIGHUP makes it read mutable options and placement anew."
        ),
        epilog=fitted(EXIT_CODES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--once", action="store_true", help="end after the update at start-up")
    add_common_options(parser, debug="log everything, with tracebacks")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""The options of `placement-api`, and its start; what it does is in api_service.py.

Without any configuration the service serves this machine only: SQLite in the working directory, the
schema synchronised at start, and `noauth2`, which trusts every token.
"""

import argparse
import sys
from collections.abc import Callable, Sequence

from placement.installation import our_version

DEFAULT_PORT = 8778


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    options = argparse.ArgumentParser(
        prog="placement-api", description="Serve the placement API.", allow_abbrev=False
    )
    # the short forms, and "--" before options, are those of the WSGI scripts that pbr generates
    options.add_argument(
        "--host", "-b", default="127.0.0.1", help="address to serve on (default: %(default)s)"
    )
    options.add_argument(
        "--port",
        "-p",
        type=number(int, 1, 65_535),
        default=DEFAULT_PORT,
        help="port to serve on (default: %(default)s)",
    )
    options.add_argument("--unix-socket", metavar="PATH", help="serve on a socket file instead")
    options.add_argument(
        "--workers",
        type=number(int, 1, 1_000),
        default=1,
        help="worker processes (default: %(default)s)",
    )
    options.add_argument(
        "--threads",
        type=number(int, 1, 1_000),
        default=4,
        help="threads of a worker (default: %(default)s)",
    )
    options.add_argument(
        "--preload",
        action="store_true",
        help="load the cloud before the workers start, so that they share its memory and the first "
        "searches needn't wait: for large clouds",
    )
    options.add_argument(
        "--client-timeout",
        type=number(float, 0.1, 86_400),
        default=60,
        metavar="SECONDS",
        help="how long a client may take to send a request, and pause while it reads the response "
        "(default: %(default)s)",
    )
    options.add_argument(
        "--spool-size",
        type=number(int, 1, 1_000_000),
        default=2_048,
        metavar="MIB",
        help="limit for a worker's requests and unread responses, which are mostly in TMPDIR "
        "(default: %(default)s)",
    )
    options.add_argument(
        "--metrics-port",
        type=number(int, 1, 65_535),
        metavar="PORT",
        help="also serve /metrics and /metrics/providers on this port of 127.0.0.1, to everybody "
        "on this machine",
    )
    options.add_argument(
        "--config-file",
        action="append",
        default=[],
        metavar="PATH",
        help="read this file instead of placement.conf in the usual places; repeatable, later "
        "files count more",
    )
    options.add_argument(
        "--config-dir",
        action="append",
        default=[],
        metavar="DIR",
        help="read the *.conf files of this directory, in the order of their names; repeatable",
    )
    options.add_argument(
        "--allow-noauth2-anywhere",
        action="store_true",
        help="serve without authentication on an address others can reach",
    )
    options.add_argument("--debug", action="store_true", help="log at DEBUG")
    options.add_argument("--version", action="version", version=our_version())
    return options


def number(kind: type[int] | type[float], least: float, most: float) -> Callable[[str], float]:
    """Return the argparse type of an option with a range, which includes both ends."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(least) - 1
        # also rejects `nan`, for which every comparison is false
        if not least <= value <= most:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {least} to {most}")
        return value

    return read


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal stops the process; return the exit code.

    0: stopped; 1: can't start; 2 (by argparse): wrong usage.
    """
    given = sys.argv[1:] if argv is None else argv
    arguments = parser().parse_args([word for word in given if word != "--"])
    # imported here because --help and --version need nothing of the service
    from placement.cli.api_service import serve

    return serve(arguments)


if __name__ == "__main__":
    sys.exit(main())

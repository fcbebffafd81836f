"""The options of `placement-manage compare`; compare_command has what they start."""

import argparse
import functools
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

COMMAND = "compare"
_DESCRIPTION = """\
Send the same GET requests to two placement services and show where the answers differ. Nothing is
written, neither by a request nor in the database. Without --url, this service runs inside the
command, on the configured database, which may be in use by the other service. Without --requests
and --from-access-log, the requests are made from what the other service's cloud has.
"""
_CODES = """\
exit codes:
  0     the same answers, apart from known deviations
  1     differences
  2     the command line or a file of requests is wrong
  3     no difference was found, but not everything could be compared
  130   interrupted
"""
_NUMBER, _SECONDS = 1_000_000, 86_400


def add_command(categories: Any) -> None:
    """Add the command to the command line of `placement-manage`."""
    parser = categories.add_parser(
        COMMAND,
        help="compare this service's answers with those of another placement service",
        description=_DESCRIPTION,
        epilog=_CODES,
        formatter_class=_Format,
        allow_abbrev=False,
    )
    parser.set_defaults(run=_run, opens_database=False, usage_error=parser.error)
    add = parser.add_argument
    add(
        "--with",
        dest="other",
        metavar="URL",
        required=True,
        help="the other service, usually OpenStack Placement",
    )
    add("--url", metavar="URL", help="this service, if it is running already")
    requests = parser.add_mutually_exclusive_group()
    requests.add_argument(
        "--requests",
        metavar="FILE",
        help="send the requests of this file, lines such as `GET /traits 1.39`; - is standard "
        "input",
    )
    requests.add_argument(
        "--from-access-log",
        metavar="FILE",
        action="append",
        help="send the GET requests of this log of placement, Apache, nginx, HAProxy, gunicorn or "
        "uWSGI, which may be compressed with gzip; - is standard input; may be repeated",
    )
    add("--token", help="token for both services, instead of OS_TOKEN; others can see it in `ps`")
    add("--token-with", metavar="TOKEN", help="token for the other service, if it needs its own")
    add("--os-cloud", metavar="NAME", help="cloud in clouds.yaml; needs the package openstacksdk")
    add("--cacert", metavar="FILE", help="certificates of the authorities that https is checked by")
    add("--insecure", action="store_true", help="don't check the certificates of https")
    _add_sizes(parser)
    add(
        "--microversion",
        metavar="VERSION",
        help="for requests that name none, such as 1.36, latest or none "
        "(default: the newest that both services have)",
    )
    add(
        "--prefix",
        metavar="PATH",
        help="path before the paths in the log (default: /placement, or none)",
    )
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="how the result is written (default: text)",
    )


def _add_sizes(parser: argparse.ArgumentParser) -> None:
    numbers: tuple[tuple[str, Callable[[str], Any], Any, str], ...] = (
        ("--sample", _number(int, 1, _NUMBER), 25, "providers that requests are made for"),
        ("--seed", _number(int, 0, 2**31), 0, "another number makes or chooses other requests"),
        ("--limit", _number(int, 1, _NUMBER), 1000, "requests that are chosen from a log"),
        ("--rate", _number(float, 0, 10_000), 20, "requests to a service in a second; 0: no limit"),
        ("--concurrency", _number(int, 1, 64), 2, "requests to a service at the same time"),
        ("--timeout", _number(float, 0.1, _SECONDS), 60, "seconds to wait for an answer"),
        ("--tries", _number(int, 1, 20), 3, "passes over the requests whose answers differ"),
        ("--show", _number(int, 0, _NUMBER), 20, "requests that are shown of each kind"),
    )
    for name, kind, default, text in numbers:
        parser.add_argument(
            name,
            type=kind,
            default=default,
            metavar="NUMBER",
            help=f"{text} (default: {default})",
        )
    parser.add_argument(
        "--max-candidates",
        type=_number(int, 1, _NUMBER * 1000),
        metavar="NUMBER",
        help="max_allocation_candidates of the other service (default: that of the configuration)",
    )


class _Format(argparse.RawDescriptionHelpFormatter):
    """Wraps the description, but keeps the lines of the exit codes."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text == _CODES:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def _number(kind: type, least: float, most: float) -> Callable[[str], Any]:
    return functools.partial(_checked, kind, least, most)


def _checked(kind: type, least: float, most: float, text: str) -> object:
    try:
        number = kind(text)
    except (ValueError, OverflowError):
        number = None
    if number is None or not least <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from {least:g} to {most:g}")
    return number


def _run(conf: cfg.ConfigOpts) -> int:
    # imported here, so that other commands don't wait for what only this one needs
    from placement.cli import compare_command

    return compare_command.run(conf)

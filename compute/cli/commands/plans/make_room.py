"""`nova-manage placement make_room`: which few moves make room for a flavor."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from compute.cli.command_line import UnusableInput
from compute.cli.commands.fitting_commands import (
    Asking,
    answer_of,
    asked_of,
    options_of,
    show,
    told_of,
)
from compute.cli.commands.plans.plan_commands import add_files, read_files
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.maintenance.fitting import UnknownName, WantedResources, of_flavor
from compute.maintenance.moving.moving_guests import MovingGuests
from compute.maintenance.provider_details import find_roots
from compute.report.wire.context import admin_context
from placement.reports.lines import escaped, wrapped

#: the microversion since which Nova takes a host for a cold migration; the client asks for 2.1
_MIGRATE = "openstack --os-compute-api-version 2.56 server migrate"


def make_room(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Say which few moves of instances would make room for a flavor.

    Each instance that moves is asked for as its flavor says. Nothing is moved.
    """
    made = options_of(
        "make_room",
        make_room.__doc__ or "",
        fits="it fits, or the moves make room",
        named="flavor or provider",
        nothing="no moves make room",
    )
    what = made.add_mutually_exclusive_group(required=True)
    what.add_argument("--flavor", metavar="NAME", help="a flavor of the records")
    what.add_argument("--query", metavar="QUERY", help="a query of GET /allocation_candidates")
    made.add_argument(
        "--count", metavar="NUMBER", type=int, default=1, help="for how many (default: %(default)s)"
    )
    made.add_argument(
        "--within",
        metavar="NAME|UUID",
        action="append",
        default=[],
        help="make room on this provider's host; repeatable: on one of them",
    )
    made.add_argument(
        "--moves",
        metavar="NUMBER",
        type=int,
        default=5,
        help="how many moves at most (default: %(default)s)",
    )
    made.add_argument(
        "--except",
        dest="but",
        metavar="UUID",
        action="append",
        default=[],
        help="this instance doesn't move; repeatable",
    )
    add_files(made)
    made.add_argument(
        "--commands",
        action="store_true",
        help="print the moves as commands of openstack, in their order",
    )
    made.add_argument(
        "--live-migration",
        dest="live",
        action="store_true",
        help="with --commands: migrate instances while they run",
    )
    asked = made.parse_args(arguments)
    if asked.live and not asked.commands:
        raise UnusableInput("--live-migration is of --commands.")
    if asked.commands and asked.change:
        raise UnusableInput("--commands are for the cloud as it is, without --if.")
    files = read_files(asked)
    told: dict[str, str] = {}
    hosts: dict[str, str] = {}
    guests, wanted = MovingGuests(), WantedResources("", "")

    def ask(by: Asking) -> dict[str, object]:
        nonlocal guests, wanted
        wanted = WantedResources(asked.query, asked.query)
        if asked.flavor:
            wanted = of_flavor(by.cell, asked.flavor, by.settings)
            if wanted.refused:
                raise UnknownName(f"Nova refuses such a guest: {wanted.refused}")
        guests = by.moving_guests()
        body: dict[str, Any] = {
            "query": wanted.query,
            "count": asked.count,
            "limit": {"moves": asked.moves},
            "movable": guests.movable(asked.but),
            "requests": guests.requests,
        } | files
        if asked.within:
            context = admin_context()
            roots = [root for name in asked.within for root in find_roots(by.client, context, name)]
            body["within"] = list(dict.fromkeys(roots))
        shown = by.questions.make_room(body)
        recorded = RecordedConsumers(by.cell)
        for move in shown["moves"]:
            consumer = move["consumer"]
            told[consumer] = recorded.described(consumer) or "not in the records"
            for one in move["to"]:
                node = by.cell.compute_nodes.by_uuid(one["root"])
                hosts[one["root"]] = node.host if node is not None else one["name"]
        return shown

    shown = answer_of(asked, config_arguments, ask)
    if isinstance(shown, int):
        return shown
    if asked.commands:
        text = "\n".join(_commands(shown, told, hosts, asked.live))
    else:
        text = "\n".join(_lines(shown, told))
        text = f"{text}\n\n{told_of((wanted,), *asked_of(guests))}"
    verdict = shown["verdict"]
    fits = verdict in ("fits", "possible")
    return show(asked, shown, text, fits=fits, unknown=verdict == "unknown")


def _lines(shown: dict[str, Any], told: dict[str, str]) -> Iterator[str]:
    yield from wrapped(shown["message"])
    for number, move in enumerate(shown["moves"], 1):
        yield f"{number}. {move['consumer']} ({told[move['consumer']]})"
        before, after = (_names(move[key]) for key in ("from", "to"))
        waits = ", ".join(str(other + 1) for other in move["after"])
        yield from wrapped(
            f"from {before} to {after}" + (f", after {waits}" if waits else ""), 4, 2
        )


def _commands(
    shown: dict[str, Any], told: dict[str, str], hosts: dict[str, str], live: bool
) -> Iterator[str]:
    """Yield the moves as a script: each waits for its end, so that the next one fits.

    :param hosts: what Nova calls the hosts, by root: a provider has the name of its node
    """
    for line in wrapped(shown["message"], 0, 0, 76):
        yield f"# {line}"
    way = "--live-migration " if live else ""
    for move in shown["moves"]:
        (host,) = (hosts[one["root"]] for one in move["to"])
        if told[move["consumer"]] == "not in the records":
            yield f"# {move['consumer']} isn't in the records: it may be no instance"
        options = f"{way}--wait --host {_quoted(host)}"
        yield f"{_MIGRATE} {options} {move['consumer']}"
        if not live:
            yield f"openstack server migration confirm {move['consumer']}"


def _quoted(name: str) -> str:
    return shlex.quote(escaped(name))


def _names(roots: Sequence[dict[str, str]]) -> str:
    return ", ".join(one["name"] for one in roots)

"""`nova-manage placement survives`: which losses of hosts the rest can absorb."""

from collections.abc import Iterator, Sequence
from typing import Any

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
from compute.maintenance.moving.moving_guests import MovingGuests
from compute.maintenance.provider_details import find_roots
from compute.report.wire.context import admin_context
from placement.reports.lines import wrapped


def survives(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Say whether all instances of a host would fit elsewhere if it were lost, of each host.

    Each instance of the records is asked for as its flavor says. Nothing is moved.
    """
    made = options_of(
        "survives",
        survives.__doc__ or "",
        fits="each loss can be absorbed",
        named="provider",
        nothing="a loss can't be absorbed",
    )
    made.add_argument(
        "--each",
        choices=("root", "aggregate"),
        default="root",
        help="lose each host (root, the default), or all hosts of each aggregate",
    )
    made.add_argument(
        "--lost",
        metavar="NAME|UUID",
        action="append",
        default=[],
        help="lose this provider's host alone; repeatable, to lose several together",
    )
    made.add_argument(
        "--together",
        metavar="NUMBER",
        type=int,
        default=1,
        help="lose any so many at the same time (default: %(default)s)",
    )
    add_files(made)
    asked = made.parse_args(arguments)
    files = read_files(asked)
    told: dict[str, str] = {}
    guests = MovingGuests()

    def ask(by: Asking) -> dict[str, object]:
        nonlocal guests
        guests = by.moving_guests()
        body: dict[str, Any] = {
            "each": asked.each,
            "together": asked.together,
            "movable": guests.losable(),
            "requests": guests.requests,
        } | files
        if asked.lost:
            context = admin_context()
            roots = [root for name in asked.lost for root in find_roots(by.client, context, name)]
            body["each"] = [list(dict.fromkeys(roots))]
        shown = by.questions.survives(body)
        recorded = RecordedConsumers(by.cell)
        for one in shown["worst"]:
            for left in one["left"]:
                consumer = left["consumer"]
                told[consumer] = recorded.described(consumer) or "not in the records"
        return shown

    shown = answer_of(asked, config_arguments, ask)
    if isinstance(shown, int):
        return shown
    text = "\n".join(_lines(shown, told))
    text = f"{text}\n\n{told_of((), *asked_of(guests))}"
    verdict = shown["verdict"]
    return show(asked, shown, text, fits=verdict == "possible", unknown=verdict == "unknown")


def _lines(shown: dict[str, Any], told: dict[str, str]) -> Iterator[str]:
    yield from wrapped(shown["message"])
    for one in shown["worst"]:
        yield ""
        alike = f", and {one['alike']} that are alike" if one["alike"] else ""
        yield from wrapped(
            f"{one['name']}{alike}: {one['placed']} of {one['consumers']} consumers fit elsewhere "
            f"({one['verdict']})."
        )
        if one["missing"]:
            missing = ", ".join(f"{name} {amount}" for name, amount in one["missing"].items())
            yield from wrapped(f"At least {missing} would have to be added.", 2, 2)
        for left in one["left"]:
            yield f"  {left['consumer']} ({told[left['consumer']]})"
            yield from wrapped(left["reason"], 4, 2)

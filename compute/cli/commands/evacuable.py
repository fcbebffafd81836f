"""`nova-manage placement evacuable`: whether hosts can be emptied."""

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
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.maintenance.moving.moving_guests import MovingGuests
from compute.maintenance.provider_details import find_roots
from compute.report.wire.context import admin_context
from placement.reports.lines import wrapped

_BOUND = (
    "Whether all fit isn't certain: other orders of the moves, or a longer search, may find room "
    "for more."
)
_STRANGERS = (
    "Who isn't in the records, or is being moved, asks for what it holds: placement doesn't know "
    "which traits and aggregates it once asked for."
)


def evacuable(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Say whether all instances of some hosts would fit on other hosts.

    Each instance of the records is asked for as its flavor says, others with what they hold.
    Nothing is moved.
    """
    made = options_of(
        "evacuable",
        evacuable.__doc__ or "",
        fits="all fit elsewhere",
        named="provider",
        nothing="not all fit",
    )
    made.add_argument("hosts", metavar="NAME|UUID", nargs="+", help="providers of the hosts")
    made.add_argument("--moves", action="store_true", help="show where each consumer would go")
    asked = made.parse_args(arguments)
    told: dict[str, str] = {}
    guests = MovingGuests()

    def ask(by: Asking) -> dict[str, object]:
        nonlocal guests
        context = admin_context()
        named = [root for name in asked.hosts for root in find_roots(by.client, context, name)]
        roots = list(dict.fromkeys(named))
        guests = by.moving_guests(roots)
        shown = by.questions.evacuate(roots, guests.requests)
        recorded = RecordedConsumers(by.cell)
        unfit = [one["consumer"] for one in shown["unfit"]]
        for consumer in [*unfit, *(shown["moves"] if asked.moves else ())]:
            told[consumer] = recorded.described(consumer) or "not in the records"
        return shown

    shown = answer_of(asked, config_arguments, ask)
    if isinstance(shown, int):
        return shown
    text = "\n".join(_lines(shown, told, asked.moves))
    known = len(guests.requests) + guests.unsaid + guests.too_many
    strangers = [_STRANGERS] if shown["consumers"]["total"] > known else []
    text = f"{text}\n\n{told_of((), *asked_of(guests), *strangers)}"
    unknown = shown.get("verdict") == "unknown"
    return show(asked, shown, text, fits=shown["fits"], unknown=unknown)


def _lines(shown: dict[str, Any], told: dict[str, str], moves: bool) -> Iterator[str]:
    counts = shown["consumers"]
    total = counts["total"]
    if not total:
        yield "Nobody holds anything there."
    elif shown["fits"]:
        yield (
            f"All {total} consumers fit elsewhere." if total > 1 else "The consumer fits elsewhere."
        )
    else:
        yield f"{counts['fit']} of {total} consumers fit elsewhere. These do not:"
    for one in shown["unfit"]:
        yield f"  {one['consumer']} ({told[one['consumer']]})"
        yield from wrapped(one["message"], 4, 2)
    if not shown["exact"]:
        yield from wrapped(_BOUND)
    if moves and shown["moves"]:
        yield ""
        yield "Moves that can be made in this order:"
        for consumer, move in shown["moves"].items():
            yield from wrapped(f"{consumer} ({told[consumer]})", 2, 2)
            yield f"    to the tree of {move['root']}"

"""What the commands `explain`, `capacity` and `evacuable` share: options, access, exit codes."""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.access.request_settings import request_settings
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.console import say
from compute.maintenance.fitting import (
    BadQuestion,
    NotOffered,
    Questions,
    UnknownName,
    WantedResources,
)
from compute.maintenance.moving.guest_queries import GuestQueries
from compute.maintenance.moving.moving_guests import MovingGuests, moving_guests
from compute.maintenance.provider_details import read_trees
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import Refusal, why
from compute.requests.settings import Settings
from placement.reports.lines import wrapped

FAILED = 1
UNKNOWN = 2
NOTHING_FITS = 3
NOT_FOUND_OUT = 4

EXIT_CODES = """\
exit codes:
    0  {fits}
    1  placement can't be reached or read, or doesn't offer this
    2  there is no such {named}
    3  {nothing}
    4  the time was over before that was found out
"""
_FLAVORS = (
    "Guests ask with the traits and groups of their flavors; images, ports and server groups "
    "aren't known."
)
_FILTERS = (
    "Nova has filters of its own: it may refuse hosts that placement offers, and asks for more "
    "than this if image, ports or availability zone say so."
)


@dataclass(frozen=True)
class Asking:
    """What an answer is found with: the questions, the records, and a client for other reads."""

    questions: Questions
    cell: CellDatabase
    client: SchedulerReportClient
    settings: Settings

    def moving_guests(self, roots: Sequence[str] | None = None) -> MovingGuests:
        """Return which guests of the records may move, and what they ask for then.

        Raises NotOffered if placement can't be asked for moves.

        :param roots: only those that hold anything of these trees; None: all
        """
        self.questions.check_offered()
        context, among = admin_context(), None
        if roots is not None:
            trees = read_trees(self.client, context, roots)
            among = {uuid for tree in trees for one in tree for uuid in one.holders}
        queries = GuestQueries(self.settings, self.questions.names())
        return moving_guests(self.cell, self.client, context, queries, among)


def options_of(
    command: str, description: str, *, fits: str, named: str, nothing: str
) -> argparse.ArgumentParser:
    """Return the parser of a command with the options that all three have."""
    codes = EXIT_CODES.format(fits=fits, named=named, nothing=nothing)
    made = parser(command, description, codes)
    made.add_argument(
        "-f",
        "--format",
        choices=("text", "json"),
        default="text",
        help="the form of the output (default: %(default)s)",
    )
    placement_access.add_options(made)
    return made


def answer_of(
    asked: argparse.Namespace,
    config_arguments: Sequence[str],
    ask: Callable[[Asking], dict[str, Any]],
) -> dict[str, Any] | int:
    """Return what `ask` finds out, or the exit code after its failure was told."""
    conf = load_configuration(config_arguments)
    settings = request_settings(conf)
    try:
        with (
            records(conf) as cell,
            placement_access.opened(conf, config_arguments, asked.way, read_only=True) as adapter,
        ):
            client = SchedulerReportClient(adapter, conf=conf)
            return ask(Asking(Questions(adapter), cell, client, settings))
    except (UnknownName, exceptions.ResourceProviderNotFound) as error:
        say(PROGRAM, error)
        return UNKNOWN
    except BadQuestion as error:
        raise UnusableInput(error) from error
    except (
        NotOffered,
        Refusal,
        PlacementUnusable,
        exceptions.ConsumerAllocationRetrievalFailed,
        exceptions.ResourceProviderAllocationRetrievalFailed,
        exceptions.ResourceProviderRetrievalFailed,
        ClientException,
    ) as error:
        say(PROGRAM, why(error))
        return FAILED


def show(
    asked: argparse.Namespace,
    shown: Mapping[str, object],
    text: str,
    *,
    fits: bool,
    unknown: bool = False,
) -> int:
    """Print an answer and return the exit code.

    :param unknown: whether the time was over before it was found out that something fits
    """
    print(json.dumps(shown, indent=2) if asked.format == "json" else text.rstrip("\n"))
    if fits:
        return OK
    return NOT_FOUND_OUT if unknown else NOTHING_FITS


def told_of(wanted: Sequence[WantedResources], *more: str) -> str:
    """Return what the answers leave out of account, as lines for the terminal.

    :param more: sentences about it
    """
    sentences = [
        f"{one.name}: {sentence}" if len(wanted) > 1 else sentence
        for one in wanted
        for sentence in (*_refusal(one), *one.left_out)
    ]
    return "\n".join(line for text in [*sentences, *more, _FILTERS] for line in wrapped(text))


def asked_of(guests: MovingGuests) -> Iterator[str]:
    """Yield sentences about what guests of the records were asked for with."""
    yield _FLAVORS
    if guests.unsaid:
        who, held = ("guests ask", "they hold") if guests.unsaid > 1 else ("guest asks", "it holds")
        yield f"What {guests.unsaid} {who} for isn't certain: what {held} was asked for."
    if guests.halved:
        who, whose = ("guests have", "theirs") if guests.halved > 1 else ("guest has", "its own")
        yield (
            f"{guests.halved} {who} dedicated processors: hosts were asked that report PCPU if "
            f"{whose} does, else hosts that don't. Nova takes both."
        )
    if guests.too_many:
        yield f"There are too many guests: of {guests.too_many}, what they hold was asked for."


def _refusal(wanted: WantedResources) -> Iterator[str]:
    if wanted.refused:
        yield f"Nova refuses such a guest, unless its image says more: {wanted.refused}"

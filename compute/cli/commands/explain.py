"""`nova-manage placement explain`: why an instance finds no host, and what would help."""

from collections.abc import Sequence
from typing import Any

from compute.cli.command_line import UnusableInput
from compute.cli.commands.fitting_commands import answer_of, options_of, show, told_of
from compute.maintenance.fitting import Questions, WantedResources, of_flavor, of_instance
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from placement.reports.explanation import report


def explain(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Say why a flavor or an instance finds no host, and what would help.

    Flavors and instances are read from the records of this host: a flavor is known if an instance
    has it. The answer is that of placement, whose search it accounts for.
    """
    made = options_of(
        "explain",
        explain.__doc__ or "",
        fits="there are candidates",
        named="flavor, instance or provider",
        nothing="there is no candidate, or none was found in time",
    )
    add = made.add_argument
    add("--flavor", metavar="NAME", help="what this flavor asks for")
    add(
        "--instance",
        metavar="UUID",
        help="what this instance asks for when it moves; what it holds counts as free",
    )
    add("--query", metavar="QUERY", help="the query of GET /allocation_candidates, as in logs")
    add("--provider", metavar="NAME|UUID", help="tell all that this provider lacks")
    add("--consumer", metavar="UUID", help="as if what this consumer holds were free")
    asked = made.parse_args(arguments)
    if sum(one is not None for one in (asked.flavor, asked.instance, asked.query)) != 1:
        raise UnusableInput("say what is to be explained: one of --flavor, --instance and --query")
    found: list[WantedResources] = []

    def ask(
        questions: Questions, cell: CellDatabase, client: SchedulerReportClient
    ) -> dict[str, Any]:
        wanted = _wanted(asked.flavor, asked.instance, asked.query, cell)
        found.append(wanted)
        consumer = asked.consumer or asked.instance
        return questions.explain(wanted.query, asked.provider, consumer)

    shown = answer_of(asked, config_arguments, ask)
    if isinstance(shown, int):
        return shown
    (wanted,) = found
    shown["query"], shown["left_out"] = wanted.query, list(wanted.left_out)
    return show(asked, shown, f"{report(shown)}\n{told_of(found)}", shown["verdict"] == "some")


def _wanted(
    flavor: str | None, instance: str | None, query: str | None, cell: CellDatabase
) -> WantedResources:
    if flavor is not None:
        return of_flavor(cell, flavor)
    if instance is not None:
        return of_instance(cell, instance)
    assert query is not None
    return WantedResources(query, query)

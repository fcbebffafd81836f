"""`nova-manage placement capacity`: how many more instances of a flavor fit."""

from collections.abc import Sequence

from compute.cli.command_line import UnusableInput
from compute.cli.commands.fitting_commands import Asking, answer_of, options_of, show, told_of
from compute.maintenance.fitting import WantedResources, of_all_flavors, of_flavor
from compute.maintenance.provider_details import find_roots
from compute.report.wire.context import admin_context
from placement.reports.capacity import report

_FALLBACK = (
    "(fallback): on hosts that don't report PCPU, VCPU is asked for instead. Nova asks both, and "
    "takes hosts of either."
)


def capacity(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Say how many more instances of flavors fit, and what runs out first.

    Flavors are read from the records of this host: a flavor is known if an instance has it. Each
    flavor is counted as if the others weren't there.
    """
    made = options_of(
        "capacity",
        capacity.__doc__ or "",
        fits="at least one instance of one of the flavors fits",
        named="flavor or provider",
        nothing="nothing fits",
    )
    add = made.add_argument
    add("--flavor", metavar="NAME", action="append", default=[], help="this flavor; repeatable")
    add("--all-flavors", action="store_true", help="all flavors of the records")
    add(
        "--query",
        metavar="QUERY",
        action="append",
        default=[],
        help="this query of GET /allocation_candidates; repeatable",
    )
    add(
        "--by",
        choices=("aggregate", "root"),
        action="append",
        default=[],
        help="tell each aggregate, or each host, too; may be given for both",
    )
    add(
        "--without",
        metavar="NAME|UUID",
        action="append",
        default=[],
        help="as if the tree of this provider were gone; repeatable",
    )
    add(
        "--limit",
        metavar="NUMBER",
        type=int,
        default=100,
        help="how many aggregates and hosts are told (default: %(default)s)",
    )
    asked = made.parse_args(arguments)
    if not (asked.flavor or asked.query or asked.all_flavors):
        raise UnusableInput("say what is to fit: --flavor, --all-flavors or --query")
    wanted: list[WantedResources] = []

    def ask(by: Asking) -> dict[str, object]:
        cell, settings = by.cell, by.settings
        wanted.extend(of_all_flavors(cell, settings) if asked.all_flavors else ())
        wanted.extend(of_flavor(cell, name, settings) for name in dict.fromkeys(asked.flavor))
        wanted.extend(WantedResources(query, query) for query in asked.query)
        if all(one.refused for one in wanted):
            return {"requests": {}}
        context = admin_context()
        gone = [root for name in asked.without for root in find_roots(by.client, context, name)]
        return by.questions.capacity(wanted, asked.by, gone, asked.limit)

    shown = answer_of(asked, config_arguments, ask)
    if isinstance(shown, int):
        return shown
    shown["left_out"] = {one.name: list(one.left_out) for one in wanted if one.left_out}
    shown["refused"] = {one.name: one.refused for one in wanted if one.refused}
    text = report(shown) if wanted else "The records have no instance with a flavor.\n"
    rooms = shown["requests"].values()
    fits = any(room["fits"] for room in rooms)
    # older services give no verdict
    unknown = any(room.get("verdict") == "unknown" for room in rooms)
    more = [_FALLBACK] if any(one.fallback for one in wanted) else []
    return show(asked, shown, f"{text}\n{told_of(wanted, *more)}", fits=fits, unknown=unknown)

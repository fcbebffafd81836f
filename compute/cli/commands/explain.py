"""`nova-manage placement explain`: why an instance finds no host, and what would help."""

from collections.abc import Callable, Sequence
from typing import Any

from compute.cli.command_line import UnusableInput
from compute.cli.commands.fitting_commands import Asking, answer_of, options_of, show, told_of
from compute.maintenance.fitting import WantedResources, of_flavor, of_instance
from placement.reports.explanation import report

#: what was judged, whether it has candidates → a sentence about it
_JUDGED = {
    ("request", True): "This is the request for PCPU; nova also takes hosts of its fallback, which "
    "asks for VCPU on hosts that don't report PCPU.",
    ("request", False): "This is the request for PCPU. The fallback, for hosts that don't report "
    "PCPU, has no candidate either.",
    ("fallback", True): "This is the fallback, for hosts that don't report PCPU; the request for "
    "PCPU has no candidate.",
}


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
        nothing="there is no candidate",
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

    def ask(by: Asking) -> dict[str, object]:
        wanted = _wanted(asked.flavor, asked.instance, asked.query, by)
        found.append(wanted)
        if wanted.refused:
            return {"verdict": "refused"}
        consumer = asked.consumer or asked.instance
        return _judged(wanted, lambda query: by.questions.explain(query, asked.provider, consumer))

    shown = answer_of(asked, config_arguments, ask)
    if isinstance(shown, int):
        return shown
    (wanted,) = found
    shown["left_out"] = list(wanted.left_out)
    if wanted.refused:
        shown["refused"] = wanted.refused
        return show(asked, shown, told_of(found), fits=False)
    more = [_JUDGED[shown["judged"], shown["verdict"] == "some"]] if wanted.fallback else []
    text = f"{report(shown)}\n{told_of(found, *more)}"
    verdict = shown["verdict"]
    return show(asked, shown, text, fits=verdict == "some", unknown=verdict == "unknown")


def _judged(
    wanted: WantedResources, explained: Callable[[str], dict[str, Any]]
) -> dict[str, object]:
    """Return the explanation of the request, or of its fallback if that alone has candidates."""
    shown = explained(wanted.query) | {"query": wanted.query, "judged": "request"}
    if wanted.fallback and shown["verdict"] != "some":
        other = explained(wanted.fallback)
        if other["verdict"] == "some":
            return other | {"query": wanted.fallback, "judged": "fallback"}
    return shown


def _wanted(
    flavor: str | None, instance: str | None, query: str | None, by: Asking
) -> WantedResources:
    if flavor is not None:
        return of_flavor(by.cell, flavor, by.settings)
    if instance is not None:
        return of_instance(by.cell, instance, by.settings)
    assert query is not None
    return WantedResources(query, query)

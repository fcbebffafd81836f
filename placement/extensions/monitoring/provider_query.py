"""The query of /metrics/providers: which families, of which providers and classes."""

import dataclasses
import urllib.parse
from collections.abc import Callable

import jsonschema_rs

PREFIX = "openstack_placement_"
#: families of each provider and resource class, with what they mean
OF_CLASS = {
    "resource_total": "What the inventory has.",
    "resource_reserved": "What it keeps back.",
    "resource_usage": "What is allocated.",
    "resource_allocation_ratio": "How many times it may be allocated.",
    "resource_generation": "The generation of the provider.",
    "resource_capacity": "What can be allocated: (total - reserved) * allocation_ratio.",
}
INFO, TRAIT, ALLOCATIONS = "provider_info", "provider_trait", "resource_provider_allocations"
#: all families, and those that are shown if none is asked for
FAMILIES = (*OF_CLASS, INFO, TRAIT, ALLOCATIONS)
USUAL = (*OF_CLASS, INFO)
#: the longest pattern in characters
LONGEST_PATTERN = 1_000
#: the bytes that a compiled pattern may take
_LARGEST = 1 << 20


class UnanswerableQuery(ValueError):
    """The query can't be answered; the text says why."""


@dataclasses.dataclass(frozen=True)
class ProviderQuery:
    """What a query asks for.

    :param classes: names of resource classes; None: all
    :param has_trait: says whether a trait is shown
    """

    families: frozenset[str] = frozenset(USUAL)
    classes: frozenset[str] | None = None
    roots_only: bool = False
    has_trait: Callable[[str], bool] = lambda name: True


def asked(query: str) -> ProviderQuery:
    """Read a query. Raises UnanswerableQuery if it can't be answered.

    `resource_class` and `families` may be given several times, or several names with commas.
    """
    given: dict[str, list[str]] = {}
    for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True, errors="replace"):
        given.setdefault(name, []).append(value)
    unknown = sorted(given.keys() - {"resource_class", "roots_only", "traits", "families"})
    if unknown:
        raise UnanswerableQuery(
            f"There is no parameter {unknown[0]!r}, only resource_class, roots_only, traits and "
            "families."
        )
    families = _families(_names(given.get("families", [])))
    if "traits" in given:
        families |= {TRAIT}
    classes = _names(given.get("resource_class", []))
    return ProviderQuery(
        frozenset(families),
        frozenset(classes) if "resource_class" in given else None,
        _flag(given.get("roots_only", ["0"])),
        _pattern(given.get("traits", [])),
    )


def _names(values: list[str]) -> list[str]:
    return [name for value in values for name in value.split(",") if name]


def _families(names: list[str]) -> set[str]:
    wanted = {name.removeprefix(PREFIX) for name in names} or set(USUAL)
    unknown = sorted(wanted - {*FAMILIES})
    if unknown:
        raise UnanswerableQuery(f"There is no family {unknown[0]!r}, only {', '.join(FAMILIES)}.")
    return wanted


def _flag(values: list[str]) -> bool:
    if values not in (["0"], ["1"]):
        raise UnanswerableQuery("roots_only is 0 or 1.")
    return values == ["1"]


def _pattern(values: list[str]) -> Callable[[str], bool]:
    """Return a test of whole names. It takes time linear in the name, whatever the pattern."""
    if not values:
        return lambda name: True
    if len(values) > 1 or len(values[0]) > LONGEST_PATTERN:
        raise UnanswerableQuery(
            f"traits is one regular expression of at most {LONGEST_PATTERN} characters."
        )
    # the regular expressions of this library are those of Rust, which don't backtrack
    limits = jsonschema_rs.RegexOptions(size_limit=_LARGEST, dfa_size_limit=_LARGEST)
    try:
        # first without the parentheses: `)|(` is valid only within them
        for pattern in (values[0], f"^(?:{values[0]})$"):
            test = jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=limits)
    except ValueError:
        raise UnanswerableQuery(
            f"traits: {values[0]!r} is no regular expression that can be used here: back "
            "references and looking around aren't, nor are large repetitions."
        ) from None
    return test.is_valid

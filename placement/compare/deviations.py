"""The intended differences from the reference that answers to GET requests can show.

doc/deviations.rst describes them for operators. Each entry of `READING` names its section there and
the words that its paragraph begins with.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import parse_qs, parse_qsl, unquote

from placement.compare.searches import SEARCH, is_answer, is_search, missing

MAX_64_BIT = 2**63 - 1
SHARING = "MISC_SHARES_VIA_AGGREGATE"
#: the error code and the words of a search that Berth ended
_ENDED = ("berth.search_unfinished", "The search for allocation candidates was ended")


class DeviatingRequest(Protocol):
    """A request, as far as deviations depend on it."""

    @property
    def path(self) -> str:
        """Path and query, percent-encoded."""

    @property
    def version(self) -> str | None:
        """The microversion; None without one."""


class DeviatingCloud(Protocol):
    """What the deviations depend on, beside the request."""

    @property
    def has_sharing_providers(self) -> bool:
        """Whether a provider shares its inventory with others by aggregates."""

    @property
    def optimizes_wide_trees(self) -> bool:
        """Whether `[workarounds]optimize_for_wide_provider_trees` is set."""


R = TypeVar("R")
C = TypeVar("C")


def _anything(theirs: object, mine: object) -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class Deviation(Generic[R, C]):
    """A kind of request with an intended difference.

    :param section: the title of its section in doc/deviations.rst
    :param words: words of its paragraph there
    :param reason: what the reference does, and why Berth doesn't
    :param concerns: whether a request is of this kind, in this cloud
    :param theirs: status of the reference's response
    :param ours: status of Berth's response
    :param as_known: whether the bodies, the reference's and ours, differ only as intended
    """

    section: str
    words: str
    reason: str
    concerns: Callable[[R, C], bool]
    theirs: int = 500
    ours: int = 400
    as_known: Callable[[Any, Any], bool] = _anything


def accepted(
    deviations: Iterable[Deviation[R, C]],
    request: R,
    cloud: C,
    statuses: tuple[int, int],
    bodies: tuple[object, object],
) -> Deviation[R, C] | None:
    """Return the deviation because of which two responses may differ, or None if they may not.

    :param statuses: the reference's and ours
    :param bodies: the reference's and ours, as JSON values or texts
    """
    for deviation in deviations:
        if (
            (deviation.theirs, deviation.ours) == statuses
            and deviation.concerns(request, cloud)
            and deviation.as_known(*bodies)
        ):
            return deviation
    return None


def _query(request: DeviatingRequest) -> dict[str, list[str]]:
    return parse_qs(request.path.partition("?")[2].replace(";", "&"), keep_blank_values=True)


def _asks_beyond_64_bits(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    for asked in parse_qs(request.path.partition("?")[2]).get("resources", ()):
        amounts = (part.rpartition(":")[2].strip() for part in asked.split(","))
        if any(amount.isdecimal() and int(amount) > MAX_64_BIT for amount in amounts):
            return True
    return False


def _has_a_query_that_is_no_text(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    path, _, query = request.path.partition("?")
    try:
        unquote(query, errors="strict")
    except UnicodeDecodeError:
        return path == "/usages"
    return False


def _asks_for_usages_by_type(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    version = request.version or "1.0"
    recent = version == "latest" or re.fullmatch(r"1\.(3[89]|[4-9]\d|\d{3,})", version) is not None
    return recent and request.path.partition("?")[0] == "/usages"


def _forbids_in_the_group_without_suffix(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    asked = _query(request)
    forbids = any("!" in names for names in asked.get("required", ()))
    return is_search(request.path) and "resources" in asked and forbids


def _compared_a_number_with_a_name(theirs: object, mine: object) -> bool:
    # the driver's name of the error; the words depend on the locale of the database
    return "InvalidTextRepresentation" in json.dumps(theirs) and is_answer(mine)


def _groups(request: DeviatingRequest) -> dict[str, set[str]]:
    """Return the classes that each group of a search requests, by suffix."""
    path, _, query = request.path.partition("?")
    if path != SEARCH:
        return {}
    return {
        name.removeprefix("resources"): {part.partition(":")[0] for part in value.split(",")}
        for name, value in parse_qsl(query, keep_blank_values=True)
        if name.startswith("resources")
    }


def _others(request: DeviatingRequest) -> set[str]:
    """Return the suffixes of the other groups if there is an unsuffixed group, else nothing."""
    groups = _groups(request)
    if "" not in groups:
        return set()
    names = parse_qs(request.path.partition("?")[2], keep_blank_values=True)
    suffixed = (re.fullmatch("(resources|required|member_of|in_tree)(.+)", name) for name in names)
    return {found[2] for found in suffixed if found}


def _loses_anchors(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    return bool(_others(request)) and cloud.has_sharing_providers


def _adds_up(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    groups = _groups(request)
    unsuffixed = groups.pop("", set())
    policy = parse_qs(request.path.partition("?")[2]).get("group_policy", [""])[0]
    return policy != "none" and any(unsuffixed & classes for classes in groups.values())


def _is_served_by_a_shared_child(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    return "" in _groups(request) and cloud.has_sharing_providers


def _searches_wide_trees(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    return is_search(request.path) and cloud.optimizes_wide_trees


def _searches(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    return is_search(request.path)


def _lacks_some(theirs: Any, mine: Any) -> bool:
    """Return whether the reference's candidates are a part of ours."""
    return not missing(theirs, mine)


def _offers_more(theirs: Any, mine: Any) -> bool:
    """Return whether our candidates are a part of the reference's."""
    return not missing(mine, theirs)


def _lacks_some_or_has_other_amounts(theirs: Any, mine: Any) -> bool:
    return not missing(theirs, mine, amounts=False)


def _ours_was_ended(theirs: object, mine: object) -> bool:
    return is_answer(theirs) and any(words in json.dumps(mine) for words in _ENDED)


def _limits_beyond_64_bits(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    limits = parse_qs(request.path.partition("?")[2]).get("limit", [""])
    return any(limit.isdecimal() and int(limit) > MAX_64_BIT for limit in limits)


def _limits_first_by_no_number(request: DeviatingRequest, cloud: DeviatingCloud) -> bool:
    limits = _query(request).get("limit", [])
    return len(limits) > 1 and not limits[0].isdecimal()


CRASHES = "Requests that crash the reference are refused"
SEARCHES = "Allocation candidates"

#: in the order of doc/deviations.rst; for the defects see allocation-candidates.md 2.12
READING: tuple[Deviation[DeviatingRequest, DeviatingCloud], ...] = (
    Deviation(
        CRASHES,
        "A query of ``GET /usages`` that isn't UTF-8.",
        "A query that isn't UTF-8 is rejected; the reference fails with 500.",
        _has_a_query_that_is_no_text,
    ),
    Deviation(
        CRASHES,
        "On PostgreSQL, Berth answers ``GET /usages`` from microversion 1.38 on",
        "Usages by consumer type are answered on PostgreSQL; the reference fails with 500.",
        _asks_for_usages_by_type,
        ours=200,
    ),
    Deviation(
        CRASHES,
        "On PostgreSQL, Berth answers searches for candidates whose group without suffix forbids",
        "Forbidden traits are answered on PostgreSQL; the reference fails with 500.",
        _forbids_in_the_group_without_suffix,
        ours=200,
        as_known=_compared_a_number_with_a_name,
    ),
    Deviation(
        CRASHES,
        "An amount above 64 bits in ``resources`` finds no provider.",
        "No provider has an amount that no database can store.",
        _asks_beyond_64_bits,
        ours=200,
    ),
    Deviation(
        SEARCHES,
        "If sharing providers alone serve the group without suffix",
        "D1: candidates are lost at all anchors but one.",
        _loses_anchors,
        200,
        200,
        _lacks_some,
    ),
    Deviation(
        SEARCHES,
        "If the group without suffix and another group request the same class",
        "D2: candidates have too large amounts, or are lost.",
        _adds_up,
        200,
        200,
        _lacks_some_or_has_other_amounts,
    ),
    Deviation(
        SEARCHES,
        "A sharing provider that is not a root serves the group without suffix",
        "D3: a tree isn't loaded.",
        _is_served_by_a_shared_child,
        500,
        200,
    ),
    Deviation(
        SEARCHES,
        "``limit=abc&limit=1`` is 400 and amounts of",
        "D6: the reference fails on large limits.",
        _limits_beyond_64_bits,
        500,
        200,
    ),
    Deviation(
        SEARCHES,
        "``limit=abc&limit=1`` is 400 and amounts of",
        "D6: the first limit is used, so it must be valid.",
        _limits_first_by_no_number,
    ),
    Deviation(
        SEARCHES,
        "``[workarounds]optimize_for_wide_provider_trees`` is accepted and changes nothing",
        "D4: the reference offers more than is free.",
        _searches_wide_trees,
        200,
        200,
        _offers_more,
    ),
    Deviation(
        SEARCHES,
        "Berth ends a search that exceeds ``[berth]search_time_limit``",
        "Berth ended the search; the reference went on.",
        _searches,
        200,
        503,
        _ours_was_ended,
    ),
)

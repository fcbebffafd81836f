"""The differences of Berth from the reference that are intended.

doc/deviations.rst describes them for operators.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, unquote

from tests.reference.answers import Answer
from tests.reference.choices import missing
from tests.reference.picture import Picture
from tests.reference.script import Request

UNKNOWN_PROVIDER = re.compile(rb"Allocation for resource provider .* that does not exist\.")
RESOURCE_CLASS = re.compile(r"^[A-Z0-9_]+$")
SURROGATE = re.compile(r"[\ud800-\udfff]")
MAX_64_BIT = 2**63 - 1


class Deviation(NamedTuple):
    """A kind of request with an intended difference.

    :param reason: what the reference does, and why Berth doesn't
    :param concerns: whether a request is of this kind, given the contents of the databases
    :param theirs: status of the reference's response
    :param ours: status of Berth's response
    :param as_known: whether the bodies, the reference's and ours, differ only as intended
    """

    reason: str
    concerns: Callable[[Request, Picture], bool]
    theirs: int = 500
    ours: int = 400
    as_known: Callable[[Any, Any], bool] = lambda theirs, mine: True


def accepted(
    request: Request, picture: Picture, reference: Answer, ours: Answer, bodies: tuple[Any, Any]
) -> str | None:
    """Return the reason why the two responses may differ, or None if they may not.

    :param bodies: the reference's and ours, as JSON values or texts
    """
    for deviation in DEVIATIONS:
        statuses = (deviation.theirs, deviation.ours)
        if (
            statuses == (reference.status, ours.status)
            and deviation.concerns(request, picture)
            and deviation.as_known(*bodies)
        ):
            return deviation.reason
    return None


def orphans(
    request: Request, reference: Answer, before: Picture, theirs: Picture, ours: Picture
) -> list[str]:
    """Return the consumers that the reference keeps after a request that it rejected.

    If allocations name an unknown provider, the reference returns 400 but keeps the consumers that
    it has created for the request, with generation 0. A retry of the same request then fails with a
    generation conflict. In Berth a rejected request changes nothing (rest-api.md 9,
    oddity 7). The comparison goes on without these consumers.
    """
    if reference.status != 400 or not UNKNOWN_PROVIDER.search(reference.body):
        return []
    return [
        uuid
        for uuid, consumer in theirs.consumers.items()
        if uuid not in before.consumers
        and uuid not in ours.consumers
        and consumer.generation == 0
        and not theirs.held(uuid)
    ]


def _value(request: Request) -> Any:
    """Return the body as a JSON value, or None if it isn't one."""
    if not isinstance(request.body, str):
        return request.body
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError):
        return None


def _parts(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in a JSON value, with its key."""
    yield key, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _parts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)


def _is_nested_deeply(request: Request, picture: Picture) -> bool:
    return isinstance(request.body, str) and request.body.count("[") > 900


def _has_ratio_that_is_no_number(request: Request, picture: Picture) -> bool:
    return any(
        key == "allocation_ratio" and isinstance(part, float) and not math.isfinite(part)
        for key, part in _parts(_value(request))
    )


def _has_inventory_of_no_class(request: Request, picture: Picture) -> bool:
    return any(
        key == "inventories"
        and isinstance(part, dict)
        and any(not RESOURCE_CLASS.search(name) for name in part)
        for key, part in _parts(_value(request))
    )


def _has_half_a_character(request: Request, picture: Picture) -> bool:
    return any(isinstance(p, str) and SURROGATE.search(p) for _, p in _parts(_value(request)))


def _asks_beyond_64_bits(request: Request, picture: Picture) -> bool:
    for asked in parse_qs(request.path.partition("?")[2]).get("resources", ()):
        amounts = (part.rpartition(":")[2].strip() for part in asked.split(","))
        if any(amount.isdecimal() and int(amount) > MAX_64_BIT for amount in amounts):
            return True
    return False


def _has_a_query_that_is_no_text(request: Request, picture: Picture) -> bool:
    path, _, query = request.path.partition("?")
    try:
        unquote(query, errors="strict")
    except UnicodeDecodeError:
        return path == "/usages"
    return False


def _names_something_with_a_newline(request: Request, picture: Picture) -> bool:
    if request.method == "PUT":
        return request.path.startswith("/traits/") and request.path.endswith("%0A")
    body = _value(request)
    if request.method != "POST" or not isinstance(body, dict):
        return False
    key = "resource_class" if request.path.endswith("/inventories") else "name"
    return str(body.get(key, "")).endswith("\n")


def _names_a_class_with_a_quote(request: Request, picture: Picture) -> bool:
    name = unquote(request.path.removeprefix("/resource_classes/"))
    return request.method == "PUT" and re.search(r'["\\\x00-\x1f]', name) is not None


def _groups(request: Request) -> dict[str, set[str]]:
    """Return the classes that each group of a search requests, by suffix."""
    path, _, query = request.path.partition("?")
    if path != "/allocation_candidates":
        return {}
    return {
        name.removeprefix("resources"): {part.partition(":")[0] for part in value.split(",")}
        for name, value in parse_qsl(query, keep_blank_values=True)
        if name.startswith("resources")
    }


def _others(request: Request) -> set[str]:
    """Return the suffixes of the other groups if there is an unsuffixed group, else nothing."""
    groups = _groups(request)
    if "" not in groups:
        return set()
    names = parse_qs(request.path.partition("?")[2], keep_blank_values=True)
    suffixed = (re.fullmatch("(resources|required|member_of|in_tree)(.+)", name) for name in names)
    return {found[2] for found in suffixed if found}


def _somebody_shares(picture: Picture) -> bool:
    return any("MISC_SHARES_VIA_AGGREGATE" in traits for traits in picture.traits.values())


def _loses_anchors(request: Request, picture: Picture) -> bool:
    return bool(_others(request)) and _somebody_shares(picture)


def _adds_up(request: Request, picture: Picture) -> bool:
    groups = _groups(request)
    unsuffixed = groups.pop("", set())
    policy = parse_qs(request.path.partition("?")[2]).get("group_policy", [""])[0]
    return policy != "none" and any(unsuffixed & classes for classes in groups.values())


def _is_served_by_a_shared_child(request: Request, picture: Picture) -> bool:
    return "" in _groups(request) and _somebody_shares(picture)


def _lacks_some(theirs: Any, mine: Any) -> bool:
    """Return whether the reference's candidates are a part of ours."""
    return not missing(theirs, mine)


def _lacks_some_or_has_other_amounts(theirs: Any, mine: Any) -> bool:
    return not missing(theirs, mine, amounts=False)


def _ours_is_malformed(theirs: Any, mine: Any) -> bool:
    return "Malformed JSON: " in json.dumps(mine)


def _ours_is_a_bad_name(theirs: Any, mine: Any) -> bool:
    return "JSON does not validate: " in json.dumps(mine)


def _limits_beyond_64_bits(request: Request, picture: Picture) -> bool:
    limits = parse_qs(request.path.partition("?")[2]).get("limit", [""])
    return any(limit.isdecimal() and int(limit) > MAX_64_BIT for limit in limits)


def _limits_first_by_no_number(request: Request, picture: Picture) -> bool:
    query = request.path.partition("?")[2].replace(";", "&")
    limits = parse_qs(query, keep_blank_values=True).get("limit", [])
    return len(limits) > 1 and not limits[0].isdecimal()


_NO_UNICODE = "Half of a surrogate pair is rejected before anything else is checked."

#: rest-api.md 1.12, and further differences
DEVIATIONS = (
    Deviation("JSON that is nested too deeply is malformed.", _is_nested_deeply),
    Deviation("A ratio that is not a number is rejected.", _has_ratio_that_is_no_number),
    Deviation(
        "The schema ignores keys of `inventories` that can't be classes; they are unknown classes.",
        _has_inventory_of_no_class,
    ),
    Deviation(
        "Such keys are looked up after the generation is checked.",
        _has_inventory_of_no_class,
        ours=409,
    ),
    Deviation(_NO_UNICODE, _has_half_a_character),
    Deviation(_NO_UNICODE, _has_half_a_character, theirs=400, as_known=_ours_is_malformed),
    Deviation(
        "No provider has an amount that no database can store.", _asks_beyond_64_bits, ours=200
    ),
    Deviation(
        "A query that isn't UTF-8 is rejected; the reference fails with 500.",
        _has_a_query_that_is_no_text,
    ),
    Deviation(
        "The name is stored, but the reference can't put it into Location; ours is encoded.",
        _names_something_with_a_newline,
        ours=201,
    ),
    Deviation(
        "The reference inserts the name into JSON unescaped; in Berth it is an invalid name.",
        _names_a_class_with_a_quote,
        theirs=400,
        as_known=_ours_is_a_bad_name,
    ),
    # allocation-candidates.md 2.12
    Deviation(
        "D1: candidates are lost at all anchors but one.", _loses_anchors, 200, 200, _lacks_some
    ),
    Deviation(
        "D2: candidates have too large amounts, or are lost.",
        _adds_up,
        200,
        200,
        _lacks_some_or_has_other_amounts,
    ),
    Deviation("D3: a tree isn't loaded.", _is_served_by_a_shared_child, 500, 200),
    Deviation("D6: the reference fails on large limits.", _limits_beyond_64_bits, 500, 200),
    Deviation("D6: the first limit is used, so it must be valid.", _limits_first_by_no_number),
)

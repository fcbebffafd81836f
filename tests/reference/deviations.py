"""The differences of Berth from the reference that are intended.

doc/deviations.rst describes them for operators.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from placement.compare import deviations
from placement.compare.answers import ReceivedAnswer
from placement.compare.deviations import CRASHES, READING, Deviation
from tests.reference.picture import Picture
from tests.reference.script import Request

UNKNOWN_PROVIDER = re.compile(rb"Allocation for resource provider .* that does not exist\.")
RESOURCE_CLASS = re.compile(r"^[A-Z0-9_]+$")
SURROGATE = re.compile(r"[\ud800-\udfff]")


def accepted(
    request: Request,
    picture: Picture,
    reference: ReceivedAnswer,
    ours: ReceivedAnswer,
    bodies: tuple[Any, Any],
) -> str | None:
    """Return the reason why the two responses may differ, or None if they may not.

    :param bodies: the reference's and ours, as JSON values or texts
    """
    statuses = (reference.status, ours.status)
    found = deviations.accepted(DEVIATIONS, request, picture, statuses, bodies)
    return None if found is None else found.reason


def orphans(
    request: Request, reference: ReceivedAnswer, before: Picture, theirs: Picture, ours: Picture
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


def _ours_is_malformed(theirs: Any, mine: Any) -> bool:
    return "Malformed JSON: " in json.dumps(mine)


def _ours_is_a_bad_name(theirs: Any, mine: Any) -> bool:
    return "JSON does not validate: " in json.dumps(mine)


def _has_nul(request: Request, picture: Picture) -> bool:
    texts = (part for _, part in _parts(_value(request)))
    return "%00" in request.path or any(isinstance(one, str) and "\0" in one for one in texts)


_NO_UNICODE = "Half of a surrogate pair is rejected before anything else is checked."

#: rest-api.md 1.12, and further differences
WRITING: tuple[Deviation[Request, Picture], ...] = (
    Deviation(
        CRASHES,
        "JSON nested so deeply that it can't be judged",
        "JSON that is nested too deeply is malformed.",
        _is_nested_deeply,
    ),
    Deviation(
        CRASHES,
        "``allocation_ratio: NaN``.",
        "A ratio that is not a number is rejected.",
        _has_ratio_that_is_no_number,
    ),
    Deviation(
        CRASHES,
        "A key of ``inventories`` that is no resource class",
        "The schema ignores keys of `inventories` that can't be classes; they are unknown classes.",
        _has_inventory_of_no_class,
    ),
    Deviation(
        CRASHES,
        "With an old generation the answer is 409, as it is with a valid inventory.",
        "Such keys are looked up after the generation is checked.",
        _has_inventory_of_no_class,
        ours=409,
    ),
    Deviation(CRASHES, "Names with lone surrogates.", _NO_UNICODE, _has_half_a_character),
    Deviation(
        CRASHES,
        "If the reference finds another error first, it answers 400 for that error.",
        _NO_UNICODE,
        _has_half_a_character,
        theirs=400,
        as_known=_ours_is_malformed,
    ),
    Deviation(
        CRASHES,
        "The pattern of names doesn't notice a newline at the end of the name of a class or trait.",
        "The name is stored, but the reference can't put it into Location; ours is encoded.",
        _names_something_with_a_newline,
        ours=201,
    ),
    Deviation(
        CRASHES,
        "Berth refuses a name with a quotation mark in ``PUT /resource_classes/{name}``",
        "The reference inserts the name into JSON unescaped; in Berth it is an invalid name.",
        _names_a_class_with_a_quote,
        theirs=400,
        as_known=_ours_is_a_bad_name,
    ),
)
_NUL = tuple(
    Deviation(
        "Names have no NUL",
        "On SQLite and MariaDB it stores the name",
        "Databases disagree on the character.",
        _has_nul,
        theirs=status,
    )
    for status in (200, 201, 204, 500)
)
#: in this order: the first that applies to a request is its reason
DEVIATIONS: tuple[Deviation[Request, Picture], ...] = (*WRITING, *READING, *_NUL)

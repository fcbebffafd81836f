"""The differences of two JSON values."""

import math
import re
from collections.abc import Mapping
from typing import Any

#: keys in a documented order; the other keys are names and uuids
FIELD = re.compile("[a-z_]+")
#: floats this close are the same number, which two database drivers read differently
CLOSE = 1e-9
ABSENT = "-"


def value_differences(
    place: str, theirs: Any, mine: Any, key_order: bool = False
) -> list[tuple[str, object, object]]:
    """Return where two JSON values differ: place, their value, my value; ABSENT if there is none.

    1, 1.0 and true are three different values.

    :param place: the name of the whole value; places within it begin with it
    :param key_order: whether the order of an object's fields matters
    """
    if type(theirs) is not type(mine):
        return [(place, theirs, mine)]
    if isinstance(theirs, dict):
        return _object_differences(place, theirs, mine, key_order)
    if isinstance(theirs, list) and len(theirs) == len(mine):
        return [
            line
            for index, pair in enumerate(zip(theirs, mine, strict=True))
            for line in value_differences(f"{place}[{index}]", *pair, key_order)
        ]
    return [] if _same(theirs, mine) else [(place, theirs, mine)]


def _object_differences(
    place: str, theirs: Mapping[str, object], mine: Mapping[str, object], key_order: bool
) -> list[tuple[str, object, object]]:
    found: list[tuple[str, Any, Any]] = []
    for key in [*theirs, *(key for key in mine if key not in theirs)]:
        if key not in mine or key not in theirs:
            found.append((f"{place}.{key}", theirs.get(key, ABSENT), mine.get(key, ABSENT)))
        else:
            found += value_differences(f"{place}.{key}", theirs[key], mine[key], key_order)
    order, my_order = ([k for k in value if FIELD.fullmatch(k)] for value in (theirs, mine))
    if key_order and not found and order != my_order:
        found.append((f"{place}, order of keys", order, my_order))
    return found


def _same(theirs: Any, mine: Any) -> bool:
    if isinstance(theirs, float) and math.isclose(theirs, mine, rel_tol=CLOSE):
        return True
    # repr, because NaN isn't equal to itself
    return repr(theirs) == repr(mine)

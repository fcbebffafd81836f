"""An explanation as text for a terminal of 80 columns, without colour."""

import textwrap
from collections.abc import Iterator
from typing import Any

from placement.config.logs import escaped
from placement.reports.lines import WIDTH, wrapped

#: columns for the suffix of a group; a longer one has a line of its own
_GROUP = 8
_CANDIDATES = {
    "some": "There are candidates.",
    "none": "There is no candidate.",
    "unknown": "No candidate was found in time; there may be some.",
}


def report(shown: dict[str, Any]) -> str:
    """Return the text of an explanation in the form of `Explanation.as_json`."""
    return "\n".join(line.rstrip() for line in _lines(shown)) + "\n"


def _lines(shown: dict[str, Any]) -> Iterator[str]:
    yield from wrapped(shown["message"])
    yield _CANDIDATES[shown["verdict"]]
    if shown["steps"]:
        yield ""
        yield from _steps(shown["steps"])
    for title, near in _nearest(shown):
        yield ""
        yield title
        for one, trees in alike(near):
            yield from _near(one, trees)
    if shown["relaxations"]:
        yield ""
        yield "What would help (trees that then have candidates):"
        for one in shown["relaxations"]:
            yield from wrapped(f"{one['trees']:>8}  {one['text']}", 0, 10)
    # an older service doesn't say it
    if not shown.get("relaxations_complete", True):
        yield ""
        yield "There was no time to try all changes that might help."


def _steps(steps: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{'Group':<{_GROUP}} {'Condition':<47} {'Providers':>11} {'Trees':>11}"
    for step in steps:
        asked = f" {step['asked']}" if "asked" in step else ""
        condition = escaped(f"{step['step']} {step['name']}{asked}").strip()
        left = [f"{step[what]['after']}" for what in ("providers", "trees")]
        lines = textwrap.wrap(condition, 47) or [""]
        group = escaped(step["group"])
        if len(group) > _GROUP:
            yield from textwrap.wrap(group, WIDTH)
            group = ""
        yield f"{group:<{_GROUP}} {lines[0]:<47} {left[0]:>11} {left[1]:>11}"
        yield from (f"{'':<{_GROUP}} {line}" for line in lines[1:])


def _nearest(shown: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, object]]]]:
    if "provider" in shown:
        yield "What this provider lacks:", [shown["provider"]]
    elif shown["nearest"]:
        yield "The nearest trees lack:", shown["nearest"]


def alike(near: list[dict[str, Any]]) -> list[tuple[dict[str, object], list[str]]]:
    """Return misses of trees that lack the same of one provider once, with the trees' names."""
    found: list[tuple[dict[str, Any], list[str]]] = []
    for one in near:
        # an older service doesn't name roots
        name = one.get("root_name", one["root"])
        for other, trees in found:
            if (one["uuid"], one["missing"]) == (other["uuid"], other["missing"]):
                trees.append(name)
                break
        else:
            found.append((one, [name]))
    return found


def _near(near: dict[str, Any], trees: list[str]) -> Iterator[str]:
    others = [name for name in trees if name != near["name"]]
    of = f" for {', '.join(others)}" if others else ""
    yield from wrapped(f"{near['name']} ({near['uuid']}){of}", 2, 2)
    if not near["missing"]:
        yield "    nothing"
    for one in near["missing"]:
        of = f"{one['group']}: " if one["group"] else ""
        text = f"{of}{one['reason']} {one['name']}".rstrip()
        if "uuid" in one:
            text += f" on {one.get('provider', one['uuid'])}"
        if "aggregates" in one:
            text += f" (it is in {', '.join(one['aggregates']) or 'none'})"
        if "free" in one:
            text += (
                f": asked {one['asked']}, free {one['free']} of {one['total']} "
                f"(reserved {one['reserved']}, used {one['used']}, "
                f"allocation_ratio {one['allocation_ratio']:g}, min_unit {one['min_unit']}, "
                f"max_unit {one['max_unit']}, step_size {one['step_size']})"
            )
        yield from wrapped(text, 4, 2)

"""How many more fit, as text for a terminal of 80 columns, without colour."""

from collections.abc import Iterator, Mapping
from typing import Any

from placement.config.logs import escaped
from placement.reports.lines import WIDTH, wrapped


def report(shown: dict[str, Any]) -> str:
    """Return the text of an answer of POST /berth/v1/capacity."""
    blocks = [list(_room(name, room)) for name, room in shown["requests"].items()]
    return "\n".join("\n".join(line.rstrip() for line in lines) + "\n" for lines in blocks)


def _room(name: str, room: dict[str, Any]) -> Iterator[str]:
    yield from wrapped(name)
    # older services give no verdict
    if room.get("verdict") == "unknown":
        yield f"  not found out in time: at most {room['upper']} more"
        return
    trees = "1 tree" if room["trees"] == 1 else f"{room['trees']} trees"
    yield f"  {_count(room)} more, on {trees}"
    if room["limited_by"]:
        yield from _pairs("trees by what they run out of first: ", room["limited_by"])
    if room["stranded"]:
        yield from _pairs("then still free: ", room["stranded"])
    if room.get("by_aggregate"):
        yield ""
        yield f"  {'Aggregate':<36} {'Fits':>12} {'Trees':>8}  First to run out"
        for uuid, one in room["by_aggregate"].items():
            first = next(iter(one["limited_by"]), "")
            yield from _row(f"{uuid:<36} {_figure(one):>12} {one['trees']:>8}", first)
    if room.get("by_root"):
        yield ""
        yield f"  {'Tree':<45} {'Fits':>12}  First to run out"
        for one in room["by_root"]:
            yield from wrapped(f"{one['name']} ({one['uuid']})", 2)
            yield from _row(f"{'':<45} {_figure(one):>12}", one["limited_by"] or "")


def _row(columns: str, first: str) -> Iterator[str]:
    line = f"  {columns}  {escaped(first)}"
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"  {columns}"
        yield from wrapped(first, 4)


def _count(one: Mapping[str, object]) -> str:
    if "upper" in one:
        return f"at least {one['fits']} and at most {one['upper']}"
    return f"{one['fits']}"


def _figure(one: Mapping[str, object]) -> str:
    return f"{one['fits']}-{one['upper']}" if "upper" in one else f"{one['fits']}"


def _pairs(title: str, pairs: dict[str, int]) -> Iterator[str]:
    text = title + ", ".join(f"{name} {count}" for name, count in pairs.items())
    yield from wrapped(text, 2, 2)

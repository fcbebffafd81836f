"""Draw the dashboard of contrib/grafana as `dashboard.svg`, from a real scrape.

    PYTHONPATH=. python doc/pictures

A service answers requests for a minute, and a Prometheus reads it; both are started here. The
expressions, titles, units and colours are the dashboard's own. Grafana isn't needed.
"""

import json
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import requests

from tests import readme_commands
from tests.functional.placement.serving.prometheus import Prometheus, watching

HERE = Path(__file__).parent
PICTURE = HERE / "dashboard.svg"
DASHBOARD = HERE.parents[1] / "contrib" / "grafana" / "placement.json"
#: pixels of a column and of a row of the dashboard's grid
COLUMN, ROW, GAP = 50, 30, 8
SECONDS = 60
#: colours that colour-blind people can tell apart, for series without a colour of their own
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
MOST_NAMES = 6
TOKEN = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement 1.39",
}


def work(url: str, until: float) -> None:
    """Do what schedulers and agents do: claims, searches, a conflict now and then, deletions."""
    session = requests.Session()
    session.headers.update(TOKEN)
    held: list[str] = []
    number = 0
    while time.monotonic() < until:
        number += 1
        session.get(f"{url}/allocation_candidates?resources=VCPU:2,MEMORY_MB:2048&limit=5")
        consumer = str(uuid.uuid4())
        body = {
            "query": "resources=VCPU:2,MEMORY_MB:2048",
            "consumers": [
                {"uuid": consumer, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
            ],
            "strategy": "spread",
        }
        if session.post(f"{url}/berth/v1/claims", json=body).ok:
            held.append(consumer)
        if number % 3 == 0:
            session.get(f"{url}/allocation_candidates?resources=VCPU:64")
        if number % 4 == 0:
            session.get(f"{url}/resource_providers?resources=VCPU:1")
        if number % 5 == 0:
            stale = {"resource_provider_generation": 0, "traits": []}
            first = session.get(f"{url}/resource_providers").json()["resource_providers"][0]
            session.put(f"{url}/resource_providers/{first['uuid']}/traits", json=stale)
        if len(held) > 25:
            session.delete(f"{url}/allocations/{held.pop(0)}")
        time.sleep(0.05)


def build(url: str) -> None:
    """Make ten hosts with a graphics card each."""
    for number in range(10):
        host, card = str(uuid.uuid4()), str(uuid.uuid4())
        stock = {"VCPU": {"total": 16}, "MEMORY_MB": {"total": 32768}, "DISK_GB": {"total": 500}}
        below = {"generation": None, "name": f"host{number}_gpu", "parent_provider_uuid": host}
        body = {
            "providers": {
                host: {"generation": None, "name": f"host{number}", "inventories": stock},
                card: below | {"inventories": {"VGPU": {"total": 4}}},
            }
        }
        made = requests.put(
            f"{url}/berth/v1/provider_trees/{host}", json=body, headers=TOKEN, timeout=30
        )
        made.raise_for_status()


def series(prometheus: Prometheus, panel: Any) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return name and points of each series of a panel."""
    found = []
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", "10s").replace("$instance", ".*")
        for one in prometheus.points(expression, SECONDS):
            name = re.sub(
                r"\{\{(\w+)\}\}",
                lambda word, one=one: one["metric"].get(word[1], ""),
                target["legendFormat"],
            )
            points = [(float(when), float(value)) for when, value in one["values"]]
            found.append((name, [point for point in points if point[1] == point[1]]))
    # what stays at 0 would only lengthen the legend
    shown = [one for one in found if any(value for _, value in one[1])]
    return sorted(shown, key=lambda one: -one[1][-1][1]) or found[:1]


def told(value: float, unit: str) -> str:
    """Return a value with its unit, as short as a person wants it."""
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    if unit == "bytes":
        return f"{value / 1024:.3g} KiB" if value < 2**20 else f"{value / 2**20:.3g} MiB"
    after = {"reqps": " req/s", "ops": "/s"}.get(unit, "")
    return f"{value:,.0f}{after}" if value >= 1000 else f"{value:.3g}{after}"


def colour_of(panel: Any, name: str, number: int) -> str:
    """Return the dashboard's colour for a series, or one of COLOURS."""
    for each in panel["fieldConfig"]["overrides"]:
        if re.search(each["matcher"]["options"], name):
            found: str = each["properties"][0]["value"]["fixedColor"]
            return found
    return COLOURS[number % len(COLOURS)]


def drawn(panel: Any, found: Any) -> Iterator[str]:
    """Yield a panel as SVG."""
    grid = panel["gridPos"]
    x, y = grid["x"] * COLUMN, grid["y"] * ROW
    wide, high = grid["w"] * COLUMN - GAP, grid["h"] * ROW - GAP
    title = escape(panel["title"])
    if panel["type"] == "row":
        yield f'<text x="{x + 4}" y="{y + 20}" class="row">{title}</text>'
        return
    yield f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" class="panel"/>'
    yield f'<text x="{x + 10}" y="{y + 20}" class="title">{title}</text>'
    unit = panel["fieldConfig"]["defaults"]["unit"]
    if not found or not any(points for _, points in found):
        yield f'<text x="{x + 10}" y="{y + high / 2}" class="name">No data</text>'
    elif panel["type"] == "stat":
        shown = told(found[0][1][-1][1], unit)
        yield f'<text x="{x + wide / 2}" y="{y + 75}" class="stat">{shown}</text>'
    elif panel["type"] == "bargauge":
        yield from _bars(found, unit, x, y, wide)
    else:
        yield from _lines(panel, found, unit, (x, y, wide, high))


def _bars(found: Any, unit: str, x: float, y: float, wide: float) -> Iterator[str]:
    for number, (name, points) in enumerate(sorted(found, key=lambda each: -each[1][-1][1])[:6]):
        top, share = y + 34 + number * 32, points[-1][1]
        yield f'<text x="{x + 10}" y="{top + 14}" class="name">{escape(name)}</text>'
        yield f'<rect x="{x + 110}" y="{top}" width="{wide - 190}" height="20" class="rail"/>'
        length = max(1.0, min(1.0, share) * (wide - 190))
        yield f'<rect x="{x + 110}" y="{top}" width="{length:.1f}" height="20" fill="#0072B2"/>'
        yield f'<text x="{x + wide - 70}" y="{top + 14}" class="name">{told(share, unit)}</text>'


def _lines(panel: Any, found: Any, unit: str, box: tuple[float, ...]) -> Iterator[str]:
    x, y, wide, high = box
    left, top, right, bottom = x + 70, y + 34, x + wide - 10, y + high - 34
    times = [when for _, points in found for when, _ in points]
    first, last = min(times), max(times)
    most = max(value for _, points in found for _, value in points) or 1.0
    for share in (0, 0.5, 1):
        level = bottom - share * (bottom - top)
        yield f'<path d="M{left} {level:.1f}H{right}" class="grid"/>'
        text = told(most * share, unit)
        yield f'<text x="{left - 6}" y="{level + 4:.1f}" class="axis">{text}</text>'
    for number, (name, points) in enumerate(found):
        places = " ".join(
            f"{left + (when - first) / (last - first or 1) * (right - left):.1f},"
            f"{bottom - value / most * (bottom - top):.1f}"
            for when, value in points
        )
        colour = colour_of(panel, name, number)
        yield f'<polyline points="{places}" stroke="{colour}" class="line"/>'
    at = left
    for number, (name, _) in enumerate(found[:MOST_NAMES]):
        text = name or panel["title"]
        if at + 16 + 6.2 * len(text) > right:
            break
        colour = colour_of(panel, name, number)
        yield f'<rect x="{at:.0f}" y="{bottom + 16}" width="10" height="4" fill="{colour}"/>'
        yield f'<text x="{at + 14:.0f}" y="{bottom + 22}" class="name">{escape(text)}</text>'
        at += 26 + 6.2 * len(text)


STYLE = """
text { font-family: sans-serif; fill: #24292f }
.panel { fill: #ffffff; stroke: #d0d7de }
.row { font-size: 15px; font-weight: bold }
.title { font-size: 12px; font-weight: bold }
.stat { font-size: 28px; text-anchor: middle; fill: #0072B2 }
.name { font-size: 11px }
.axis { font-size: 10px; text-anchor: end; fill: #57606a }
.grid { stroke: #eaeef2 }
.rail { fill: #eaeef2 }
.line { fill: none; stroke-width: 2 }
"""


def picture(prometheus: Prometheus) -> str:
    """Return the whole dashboard as SVG, without the rows of compute hosts: none runs here."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    ends = next(n for n, panel in enumerate(panels) if panel["title"] == "Compute hosts")
    parts = []
    for panel in panels[:ends]:
        found = [] if panel["type"] == "row" else series(prometheus, panel)
        parts += drawn(panel, found)
    high = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels[:ends]) * ROW
    size = f'width="{24 * COLUMN + 8}" height="{high + 8}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>{STYLE}</style>",
            f'<g transform="translate(8 8)"><rect x="-8" y="-8" {size} fill="#f6f8fa"/>',
            *parts,
            "</g></svg>\n",
        ]
    )


def main() -> None:
    """Start everything, work for a minute, and draw."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "prometheus").mkdir()
        with readme_commands.service_in(place) as url:
            build(url)
            with watching(url, place / "prometheus") as prometheus:
                until = time.monotonic() + SECONDS + 10
                threads = [threading.Thread(target=work, args=(url, until)) for _ in range(2)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                PICTURE.write_text(picture(prometheus))


if __name__ == "__main__":
    main()

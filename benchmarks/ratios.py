"""Draw how many times less requests cost than OpenStack Placement's, on each kind of database.

    for database in sqlite postgresql mariadb
    do python -m benchmarks.rest_api --reference … --database $database --figures $database.json
    done
    python -m benchmarks.ratios *.json --picture doc/pictures/ratios.svg

Each file has the name of its database. Needs ``matplotlib`` (``pip install matplotlib``).
"""

import argparse
import json
import re
from pathlib import Path

#: what is to be reached, as the table says it: `≥ 8×, ≤ 2.5× floor`
#: that colour-blind people can tell apart
COLOURS = ("#0072B2", "#E69F00", "#009E73")
_GOAL = re.compile(r"≥ ([0-9.]+)×")


def times(text: str) -> float | None:
    """Return the number of a cell such as `6.9×`; None for an empty one."""
    return float(text.rstrip("×")) if text else None


def draw(found: dict[str, list[dict[str, str]]], picture: Path) -> None:
    """Draw a group of bars for each request, and a mark where its goal is."""
    import matplotlib

    matplotlib.use("svg")
    # the same numbers give the same file
    matplotlib.rcParams["svg.hashsalt"] = "berth"
    from matplotlib import pyplot

    rows = {row["request"]: row for table in found.values() for row in table}
    titles = [title for title in rows if any(_ratio(t, title) for t in found.values())]
    height = 0.8 / len(found)
    figure, part = pyplot.subplots(figsize=(11, 0.6 * len(titles) + 1.5), layout="constrained")
    for number, (database, table) in enumerate(found.items()):
        places = [place + number * height for place in range(len(titles))]
        values = [_ratio(table, title) or 0 for title in titles]
        bars = part.barh(places, values, height, label=database, color=COLOURS[number])
        part.bar_label(bars, [f"{value:.3g}" if value else "" for value in values], fontsize=7)
    for place, title in enumerate(titles):
        goal = _GOAL.search(rows[title]["to reach"])
        if goal:
            part.plot([float(goal[1])] * 2, [place - height / 2, place + 0.8], "k", lw=1.5)
    part.set_yticks([place + 0.4 - height / 2 for place in range(len(titles))], titles)
    part.invert_yaxis()
    part.set(xscale="log", xlabel="times less processor time than OpenStack Placement; |: the goal")
    part.grid(axis="x", alpha=0.3)
    part.legend(fontsize="small")
    figure.savefig(picture, metadata={"Date": None})


def _ratio(table: list[dict[str, str]], title: str) -> float | None:
    return next((times(row["ratio"]) for row in table if row["request"] == title), None)


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="+")
    parser.add_argument("--picture", type=Path, default=Path("doc/pictures/ratios.svg"))
    given = parser.parse_args()
    found = {path.stem: json.loads(path.read_text()) for path in given.tables}
    draw(found, given.picture)


if __name__ == "__main__":
    main()

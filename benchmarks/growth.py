"""Draw what grows with the cloud, from the numbers of ``benchmarks.million``.

    python -m benchmarks.million --preload --trees 104 1000 10000 100000 --figures growth.json
    python -m benchmarks.growth growth.json --picture doc/pictures/growth.svg

Needs ``matplotlib`` (``pip install matplotlib``); nothing else here does.
"""

import argparse
import json
from pathlib import Path

from benchmarks.million import CLAIMS, QUERIES, Figures
from benchmarks.tree_clouds import PROVIDERS

#: the lines of each diagram, and its title
DIAGRAMS: dict[str, list[str]] = {
    "Processor time of a search, ms": [f"{name}, CPU ms" for name in QUERIES],
    "Processor time of a claim, ms": [
        *(f"{kind}, CPU ms" for kind in CLAIMS),
        "the same, CPU ms",
    ],
    "Memory, MB": ["memory of all, MB", "memory after claims, MB", "peak of a worker, MB"],
    "Processor time until all workers have answered, s": ["processor time until then, s"],
}
#: other words for lines whose names say too little by themselves
WORDS = {
    "the same, CPU ms": "what a claim elsewhere adds to the next search",
    "processor time until then, s": "main process and workers",
}


def numbers(path: Path) -> dict[int, Figures]:
    """Return the figures of a file by the number of providers."""
    found = json.loads(path.read_text())
    return {int(trees) * PROVIDERS: figures for trees, figures in found.items()}


def draw(found: dict[int, Figures], picture: Path) -> None:
    """Draw all diagrams side by side, both axes in powers of ten."""
    import matplotlib

    matplotlib.use("svg")
    # the same numbers give the same file
    matplotlib.rcParams["svg.hashsalt"] = "berth"
    from matplotlib import pyplot, ticker

    figure, parts = pyplot.subplots(2, 2, figsize=(13, 9), layout="constrained")
    for (title, names), part in zip(DIAGRAMS.items(), parts.flat, strict=True):
        for name in names:
            sizes = [size for size, figures in found.items() if figures.get(name, 0) > 0]
            values = [found[size][name] for size in sizes]
            part.plot(sizes, values, marker="o", label=WORDS.get(name, name.rsplit(",", 1)[0]))
        part.set(title=title, xlabel="providers", xscale="log", yscale="log")
        part.grid(which="major", alpha=0.3)
        for formatter in (part.yaxis.set_major_formatter, part.yaxis.set_minor_formatter):
            formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        part.legend(fontsize="small")
    figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=Path)
    parser.add_argument("--picture", type=Path, default=Path("doc/pictures/growth.svg"))
    given = parser.parse_args()
    draw(numbers(given.figures), given.picture)


if __name__ == "__main__":
    main()

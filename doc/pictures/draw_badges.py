"""Draw the row of badges in README, `badges.svg`, from the package's own metadata."""

import configparser
import re
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: pixels: of a letter, on both sides of a text, and between badges
_LETTER, _MARGIN, _GAP, _HEIGHT = 7, 6, 6, 20
_PART = (
    '<rect x="{x}" width="{width}" height="20" fill="{fill}"/>'
    '<text x="{middle}" y="14" textLength="{length}">{text}</text>\n'
)


def facts() -> dict[str, str]:
    """Return what the badges say, by their left halves."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    metadata = setup["metadata"]
    pythons = re.findall(r"Python :: (\d\.\d+)$", metadata["classifiers"], re.M)
    readme = (ROOT / "README.rst").read_text(encoding="utf-8")
    (compatible,) = re.findall(r"wire-compatible with OpenStack Placement ([\d.]+\d)", readme)
    return {
        "version": metadata["version"],
        "python": " | ".join(pythons),
        "as OpenStack Placement": compatible,
        "license": metadata["license"],
    }


def drawn(badges: dict[str, str]) -> str:
    """Return the row as SVG."""
    parts, x = [], 0
    for halves in badges.items():
        for text, fill in zip(halves, ("#555555", "#2f6f9f"), strict=True):
            length = len(text) * _LETTER
            width = length + 2 * _MARGIN
            middle = x + width / 2
            shown = {"text": escape(text), "middle": middle, "length": length}
            parts.append(_PART.format(x=x, width=width, fill=fill, **shown))
            x += width
        x += _GAP
    title = "; ".join(" ".join(halves) for halves in badges.items())
    size = f'width="{x - _GAP}" height="{_HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        f"<title>{escape(title)}</title>\n"
        '<g fill="#ffffff" text-anchor="middle" font-family="DejaVu Sans,Verdana,sans-serif" '
        f'font-size="11">\n{"".join(parts)}</g>\n</svg>\n'
    )


def main() -> None:
    """Write the row."""
    (HERE / "badges.svg").write_text(drawn(facts()), encoding="utf-8")

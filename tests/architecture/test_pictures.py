"""The picture of the rooms shows what they may import; the badges, what the package says."""

import html
import pathlib
import re
import runpy
from collections.abc import Mapping

from tests.architecture.rooms import MAY_IMPORT

PICTURES = pathlib.Path(__file__).parents[2] / "doc" / "pictures"
PICTURE = PICTURES / "rooms.svg"
#: most rooms import these; the picture leaves them out
EVERYWHERE = {"errors", "installation", "microversions"}


def reached(arrows: Mapping[str, set[str]], room: str) -> set[str]:
    """Return the rooms to which arrows lead, over others, too."""
    found: set[str] = set()
    left = [room]
    while left:
        new = arrows.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def test_the_picture_leads_where_imports_lead() -> None:
    """Drawn by `PYTHONPATH=. python doc/pictures`."""
    rooms = {
        room: {other.partition(".")[0] for other in others} - EVERYWHERE - {room}
        for room, others in MAY_IMPORT["placement"].items()
        # without the rooms within rooms
        if room not in EVERYWHERE and "." not in room
    }
    drawn: dict[str, set[str]] = {}
    for title in re.findall(r"<title>(.*?)</title>", PICTURE.read_text(encoding="utf-8")):
        here, arrow, there = html.unescape(title).partition("->")
        if arrow:
            drawn.setdefault(here, set()).add(there)

    assert {room: reached(drawn, room) for room in rooms} == {
        room: reached(rooms, room) for room in rooms
    }


def test_the_badges_say_what_the_package_says() -> None:
    """Drawn by `PYTHONPATH=. python doc/pictures`, too."""
    draw = runpy.run_path(str(PICTURES / "draw_badges.py"))
    assert draw["drawn"](draw["facts"]()) == (PICTURES / "badges.svg").read_text(encoding="utf-8")

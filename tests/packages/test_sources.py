"""The sources of the packages agree with the distribution and with the pages."""

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "contrib/debian"


def test_the_newest_entry_of_the_changelog_has_our_version() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    first = (DEBIAN / "changelog").read_text().splitlines()[0]
    assert re.findall(r"\(5:(.*)\)", first) == [setup["metadata"]["version"]]


def test_the_pages_name_every_package_that_the_build_needs() -> None:
    control = (DEBIAN / "control").read_text()
    field = re.search(r"^Build-Depends: ((?:.*,\n)+)", control, re.M)
    assert field
    needed = {re.split(r"[ (]", entry.strip())[0] for entry in field[1].split(",") if entry.strip()}
    needed = {name.removesuffix("-compat") for name in needed} - {"python3"}
    assert len(needed) > 3
    for page in ("deployment.rst", "contributing.rst"):
        text = (ROOT / "doc" / page).read_text()
        assert {name for name in needed if name not in text} == set()


def test_the_page_names_every_package() -> None:
    names = re.findall(r"^Package: (\S+)", (DEBIAN / "control").read_text(), re.M)
    text = (ROOT / "doc/deployment.rst").read_text()
    assert len(names) == 3
    assert {name for name in names if f"``{name}``" not in text} == set()

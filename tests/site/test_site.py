"""What a reader sees of the site that Sphinx makes of doc/."""

import configparser
import html
import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site():
    """Return what reads a page of the site."""
    return lambda page: Path(os.environ["BERTH_SITE"], page).read_text()


def title(text):
    return html.unescape(re.search("<title>([^<]*)", text)[1])


def test_every_page_shows_the_version(site):
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert title(site("index.html")) == f"Berth {setup['metadata']['version']}"


def test_readme_is_no_second_berth(site):
    page = site("readme.html")
    assert title(page).startswith("README - ")
    assert re.findall(r"<h1>(.*?)<a", page) == ["README"]


def test_no_line_of_code_begins_with_a_blank_that_the_source_needs(site):
    blocks = re.findall(r"<pre>(.*?)</pre>", site("tutorial.html"), re.S)
    codes = [html.unescape(re.sub("<[^>]+>", "", block)) for block in blocks]
    assert any(code.startswith("url=http://127.0.0.1:8778\n") for code in codes)
    assert [code for code in codes if code.startswith(" ")] == []


@pytest.fixture(scope="module")
def search(site):
    """Return what the site's own search finds for a text in titles and index entries, as pages.

    Its script compares like this; single words that are numbers it looks for nowhere else.
    """
    index = json.loads(site("searchindex.js").removeprefix("Search.setIndex(").removesuffix(")"))

    def find(query):
        found = set()
        for kind in ("alltitles", "indexentries"):
            for text, places in index[kind].items():
                if query in text.lower() and len(query) >= len(text) / 2:
                    found |= {index["docnames"][place[0]] for place in places}
        return found

    return find


def test_the_search_finds_what_people_look_for(search):
    assert "troubleshooting" in search("401")
    assert "messages" in search("forbidden")
    assert {"upgrade", "faq"} <= search("how to upgrade")
    assert {"upgrade", "troubleshooting"} <= search("upgrade") | search("no valid host")


def test_code_can_be_copied_at_a_click(site):
    assert "copybutton.js" in site("tutorial.html")

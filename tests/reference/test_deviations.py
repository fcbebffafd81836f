"""The table of deviations and doc/deviations.rst say the same."""

import re
from pathlib import Path

import pytest

from placement.compare.deviations import CRASHES, READING, SEARCHES
from tests.reference.deviations import DEVIATIONS

PAGE = (Path(__file__).parents[2] / "doc" / "deviations.rst").read_text()
#: sections that no answer to the requests of a comparison shows, and why
ELSEWHERE = {
    "A refused request changes nothing": "`orphans` knows it: the answers are the same at first",
    "A database that is out of reach, or full": "an outage is no answer that is compared",
    "Bodies have a longest length": "no request has such a body",
    "Messages have a longest length": "no request has such a body",
    "PlacementDirect patches nothing, and may reshape": "a library",
    "Proxy headers are honoured": "only answers to POST have addresses of the outside",
    "Waiting for keystone is bounded": "configuration",
    "A request has one line in the log": "the log",
    "A check more": "commands",
    "Commands end with one line": "commands",
    "Lost races are not shown": "needs concurrent writes",
    "One consumer in two spellings": "needs MariaDB and writes; tests/databases",
    "The compute side": "the library",
}
#: the same for paragraphs of the sections that the table is about
APART = {
    "Where the reference answers 500, Berth answers 400": "the head of the list",
    "``GET /allocation_candidates`` answers by its definition": "the head of the list",
    "A request that names more than the database takes": "longer than a request line may be",
    "``max_allocation_candidates`` counts only": "such answers are never judged (searches.py)",
    "Before 1.29, summaries describe the providers": "`limited` lets an answer have more summaries",
}


def sections():
    """Return the text of each section by its title."""
    parts = re.split(r"^(\S.*)\n-{4,}\n", PAGE, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def plain(text):
    """Return the text with one blank for blanks and line breaks."""
    return re.sub(r"[ \n]+", " ", text).strip()


def paragraphs(title):
    """Return the paragraphs and items of a list in a section."""
    found = re.split(r"\n\n|\n\* ", sections()[title])
    return [plain(one).removeprefix("* ") for one in found if one.strip()]


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.words[:40])
def test_every_entry_of_the_table_is_described_in_its_section(deviation):
    assert deviation.words in plain(sections()[deviation.section])


@pytest.mark.parametrize("title", [CRASHES, SEARCHES])
def test_every_paragraph_about_answers_has_an_entry(title):
    words = [deviation.words for deviation in DEVIATIONS if deviation.section == title]
    untold = [
        paragraph
        for paragraph in paragraphs(title)
        if not any(one in paragraph for one in words) and not paragraph.startswith(tuple(APART))
    ]
    assert untold == []


def test_every_section_has_entries_or_a_reason_to_have_none():
    assert {one.section for one in DEVIATIONS} | ELSEWHERE.keys() == sections().keys()
    assert {one.section for one in DEVIATIONS} & ELSEWHERE.keys() == set()


def test_what_has_no_entry_is_still_on_the_page():
    everything = [one for title in (CRASHES, SEARCHES) for one in paragraphs(title)]
    assert [a for a in APART if not any(one.startswith(a) for one in everything)] == []


def test_entries_of_reading_requests_are_in_the_order_of_the_page():
    order = [plain(PAGE).find(one.words) for one in READING if one.section == CRASHES]
    assert order == sorted(order)

"""The page on thousands of hosts of seven providers each: elements and memory are bounded.

How long it takes is measured by benchmarks/page.py.
"""

import re
import types
import uuid

import pytest

from benchmarks.clouds import Builder
from tests.browsing import expect
from tests.extent import examples
from tests.functional.placement.extensions.page import clouds
from tests.functional.placement.extensions.page.conftest import UI, Kept
from tests.functional.placement.served import served
from tests.functional.placement.service import Service

THOUSANDS = examples(2, 100)
HOSTS = 1000 * THOUSANDS
#: one of them: its root, and a NUMA node
HOST, NODE = (str(uuid.UUID(int=number + (0xBE57 << 96))) for number in (1, 2))
#: a page with a few elements for each host would have far more
ELEMENTS = 1_500
#: as the page writes their number
WRITTEN = f"{THOUSANDS}\N{NARROW NO-BREAK SPACE}000"
#: bytes that it keeps, with its own code: the answers have almost 3 MB for each thousand
KEPT = 4_000_000 + 1_500_000 * THOUSANDS
#: bytes while it reads: it reads a page of a thousand hosts while it takes the one before
READING = 60_000_000 + 2 * KEPT
#: milliseconds in which all of it is read
READ_WITHIN = 600_000


@pytest.fixture(scope="module")
def large_cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    Builder(folder / "placement.db").nested(7 * HOSTS)
    # what the builder wrote isn't in the change feed
    service = Service(f"sqlite:///{folder}/placement.db", berth__beside_reference="never")
    claim = clouds.held({NODE: {"VCPU": 1}})
    assert (
        service.put(f"/allocations/{clouds.numbered(clouds.SERVER, 1)}", claim).status_code == 204
    )
    with served(Kept(service.app)) as url:
        yield types.SimpleNamespace(ui=url + UI, service=service)
    service.running.close()


def elements(page):
    return page.evaluate("document.querySelectorAll('*').length")


def test_it_is_read_once_and_drawn_as_needed(open_page, large_cloud, screenshots):
    page = open_page(large_cloud.ui, alone=True)
    expect(page.get_by_text(f"{WRITTEN} trees of", exact=False)).to_be_visible(timeout=READ_WITHIN)
    assert elements(page) < ELEMENTS
    assert page.evaluate("performance.memory.usedJSHeapSize") < READING
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    assert devtools.send("Runtime.getHeapUsage")["usedSize"] < KEPT
    screenshots(page, "large-cloud", full_page=True)
    scroller = (
        page.get_by_role("table", name="Trees, the fullest first").get_by_role("rowgroup").last
    )
    for place in (0.5, 1):
        scroller.evaluate(f"one => one.scrollTop = {place} * one.scrollHeight")
        page.wait_for_timeout(50)
        assert elements(page) < ELEMENTS
    rows = page.get_by_role("table", name="Trees, the fullest first").get_by_role("row")
    expect(rows.last).to_have_attribute("aria-rowindex", str(HOSTS + 1))
    page.get_by_role("combobox", name="Show").select_option("Fragmentation")
    expect(page.get_by_role("table", name="Trees, the most fragmented first")).to_be_visible()
    page.get_by_role("combobox", name="Group").select_option("By name")
    page.get_by_label("Name is like").fill("provider-*0")
    page.keyboard.press("Enter")
    groups = page.locator(".map-parts > li")
    expect(groups.nth(20)).to_be_visible()
    page.get_by_role("link", name="provider-20", exact=True).click()
    expect(groups).to_have_count(1)
    assert elements(page) < ELEMENTS
    page.goto(f"{large_cloud.ui}#/cloud?by=name&in=provider")
    expect(page.get_by_text("The loss of more than 200 hosts is judged")).to_be_visible()


def test_a_tree_among_them_is_found(open_page, large_cloud, screenshots):
    page = open_page(f"{large_cloud.ui}#/trees")
    expect(page.get_by_text(f"{WRITTEN} trees")).to_be_visible(timeout=READ_WITHIN)
    page.get_by_role("searchbox").fill(f"provider-{7 * HOSTS - 6}")
    expect(page.get_by_text(f"1 of {WRITTEN} trees")).to_be_visible()
    page.get_by_role("table", name="Trees").get_by_role("link").click()
    expect(page.locator("article")).to_have_count(7)
    assert elements(page) < ELEMENTS


def test_why_and_capacity_answer(open_page, large_cloud):
    page = open_page(f"{large_cloud.ui}#/why?resources=VGPU:5")
    expect(page.get_by_role("heading", name=f"It fits into none of {THOUSANDS}")).to_be_visible()
    page.get_by_role("link", name="VGPU 5 → 4").click()
    expect(page.get_by_role("heading", name="It fits into")).to_contain_text(
        f"trees of {THOUSANDS}"
    )
    page.goto(f"{large_cloud.ui}#/capacity?resources=VGPU:4")
    expect(page.locator(".figure")).to_be_visible()
    # the hundred trees with the most room are shown
    expect(page.get_by_role("group", name="By tree").get_by_role("row")).to_have_count(101)
    assert elements(page) < ELEMENTS


def test_a_consumer_among_them_is_found(open_page, large_cloud):
    page = open_page(f"{large_cloud.ui}#/trees/{HOST}")
    page.locator(".holders a").first.click()
    expect(page.get_by_role("heading", name="of 1 tree")).to_be_visible()
    page.get_by_role("table").get_by_role("link", name=re.compile("provider-")).first.click()
    expect(page.locator("article")).to_have_count(7)

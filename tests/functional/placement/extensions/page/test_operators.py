"""What only the operator knows of: names for ids, and which searches found nothing."""

import json
import logging
import re
from urllib.parse import quote

import pytest

from placement.app import metrics_layout
from placement.extensions.monitoring.counting import Counting
from placement.metrics.slots import Slots
from tests.browsing import expect
from tests.functional.placement.extensions.page import clouds
from tests.functional.placement.extensions.page.clouds import (
    AGGREGATE,
    HOST,
    NUMA,
    POOL,
    SERVER,
    numbered,
)
from tests.functional.placement.extensions.page.conftest import serving

CLIPBOARD = ["clipboard-read", "clipboard-write"]
HOSTILE = "<img src=x onerror=alert(1)>\u202erack 7"
NAMES = {"aggregates": {numbered(AGGREGATE, 1): HOSTILE}, "projects": {"payments": "Pay & go"}}


@pytest.fixture
def names_file(tmp_path):
    file = tmp_path / "names.json"
    file.write_text(json.dumps(NAMES))
    return file


@pytest.fixture
def cloud(tmp_path_factory, names_file):
    """Yield a service that counts, and that has a file of names."""
    layout = metrics_layout()
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    options = {"counting": counting, "berth__names_file": str(names_file)}
    yield from serving(tmp_path_factory, clouds.fill, **options)


def test_names_stand_beside_ids_which_a_click_copies(open_page, cloud, names_file):
    page = open_page(cloud.ui, permissions=CLIPBOARD)
    aggregates = page.get_by_role("table", name="Aggregates")
    expect(aggregates.get_by_role("link", name=HOSTILE)).to_be_visible()
    aggregates.get_by_role("button", name=numbered(AGGREGATE, 1)).click()
    expect(aggregates.get_by_role("button", name="copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == numbered(AGGREGATE, 1)
    # one without a name is as before
    expect(aggregates.get_by_role("link", name=numbered(AGGREGATE, 2))).to_be_visible()
    page.goto(f"{cloud.ui}#/trees/{numbered(HOST, 2)}")
    expect(page.locator("article").first.get_by_role("link", name=HOSTILE)).to_be_visible()
    page.goto(f"{cloud.ui}#/trees")
    page.get_by_role("combobox", name="Aggregate").fill(HOSTILE)
    page.keyboard.press("Enter")
    trees = page.get_by_role("table", name="Trees").get_by_role("row")
    expect(trees.filter(has_text=HOSTILE)).to_have_text([re.compile("compute2"), re.compile("nfs")])
    page.goto(f"{cloud.ui}#/consumer/{numbered(SERVER, 3)}")
    expect(page.get_by_text("Pay & go", exact=True)).to_be_visible()
    typeless = clouds.held({numbered(NUMA, 2): {"VCPU": 1}}, "payments")
    del typeless["consumer_type"]
    path = f"/allocations/{numbered(SERVER, 500)}"
    assert cloud.service.put(path, typeless, version="1.36").status_code == 204
    page.goto(f"{cloud.ui}#/suspects")
    suspects = page.get_by_role("group", name="Suspects").get_by_role("row")
    expect(suspects.filter(has_text=numbered(SERVER, 500))).to_contain_text("of Pay & go")
    page.goto(f"{cloud.ui}#/plans/evacuate?hosts=compute1")
    moves = page.get_by_role("group", name="Moves in their order").get_by_role("row")
    expect(moves.filter(has_text=numbered(SERVER, 3))).to_contain_text("of Pay & go")
    # one that can't move, on a host of the aggregate
    stays = numbered(SERVER, 5)
    page.goto(f"{cloud.ui}#/plans/survives?each=aggregate&except={stays}")
    expect(page.locator(".answer").get_by_role("link", name=HOSTILE)).to_be_visible()
    # two of them are called by both of their names
    page.goto(f"{cloud.ui}#/plans/survives?each=aggregate&together=2")
    both = page.locator(".answer h2").filter(has_text=numbered(AGGREGATE, 2))
    expect(both).to_contain_text(HOSTILE)
    page.goto(f"{cloud.ui}#/plans/survives?each=these&sets={quote(HOSTILE)}")
    expect(page.get_by_role("heading", name="Can it be absorbed?")).to_be_visible()
    names_file.write_text("{")
    page.goto(cloud.ui)
    page.reload()
    problem = page.get_by_role("list", name="Health").get_by_text("The file of names can't be used")
    expect(problem).to_be_visible()
    expect(aggregates.get_by_role("link", name=numbered(AGGREGATE, 1))).to_be_visible()


def test_a_search_that_found_nothing_leads_to_why(open_page, cloud, screenshots, caplog):
    caplog.set_level(logging.INFO, "placement.explain")

    def search(query):
        assert cloud.service.get(f"/allocation_candidates?{query}").status_code == 200

    search("resources=VGPU:9&limit=1000")
    search("resources=VGPU:8")
    page = open_page(cloud.ui)
    empty = page.get_by_role("list", name="Health").get_by_role("link", name="empty searches")
    # neither is the commonest
    expect(empty).to_have_text("empty searches of the last hour: 2")
    search("resources=VGPU:9&limit=1000")
    page.reload()
    expect(empty).to_have_text("empty searches of the last hour: 3, 2 for resources=VGPU:9")
    empty.click()
    searches = page.get_by_role("list", name="Searches that found nothing")
    expect(searches.get_by_role("listitem")).to_have_count(2)
    expect(searches.get_by_role("listitem").first).to_contain_text("2\N{NO-BREAK SPACE}times")
    expect(searches.get_by_role("listitem").first).to_contain_text("3 short of VGPU 9")
    screenshots(page, "searches")
    searches.get_by_role("link", name="resources=VGPU:9").click()
    expect(page.get_by_role("heading", name="It fits into none of 4 trees")).to_be_visible()


def test_a_tree_leads_to_the_dashboard_of_the_operator(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape")
    told = {"auth": "noauth2", "keystone": None, "dashboard": "javascript:alert('{name}')"}
    page.route("**/session.json", lambda route: route.fulfill(status=200, body=json.dumps(told)))
    page.reload()
    page.goto(f"{small_cloud.ui}#/trees/{numbered(HOST, 3)}")
    expect(page.get_by_role("heading", name="compute3", exact=True)).to_be_visible()
    link = page.get_by_role("link", name="Dashboard of this tree")
    expect(link).to_have_count(0)
    told["dashboard"] = "https://grafana.example/d/hosts?var-host={name}&id={uuid}"
    page.reload()
    href = f"https://grafana.example/d/hosts?var-host=compute3&id={numbered(HOST, 3)}"
    expect(link).to_have_attribute("href", href)


def test_a_uuid_and_a_project_are_copied_by_a_click(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/trees/{numbered(POOL, 1)}", permissions=CLIPBOARD)
    page.get_by_role("button", name=numbered(POOL, 1)).click()
    expect(page.get_by_role("button", name=f"{numbered(POOL, 1)} copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == numbered(POOL, 1)
    page.goto(f"{small_cloud.ui}#/consumer/{numbered(SERVER, 1)}")
    page.get_by_role("button", name="research").click()
    expect(page.get_by_role("button", name="research copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "research"

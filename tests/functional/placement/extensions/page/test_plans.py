"""The view Plans: make room, evacuate, what if and survives."""

import json
import re
from urllib.parse import quote

import pytest

from tests.browsing import expect, wait_until
from tests.functional.placement.extensions.page import clouds
from tests.functional.placement.extensions.page.clouds import HOST, SERVER, numbered, stock
from tests.functional.placement.extensions.page.conftest import serving
from tests.functional.placement.extensions.page.looks import Looks

#: would leave its words if a shell read it, and would run in a page
HOSTILE = "three'; touch /tmp/x; echo '<img src=x onerror=alert(1)>"
look = Looks()


def put_host(api, number, name):
    provider = {
        "name": name,
        "parent_provider_uuid": None,
        "generation": None,
        "inventories": {"VCPU": stock(8)},
        "traits": [],
        "aggregates": [],
    }
    body = {"providers": {numbered(HOST, number): provider}, "remove": {}, "allocations": {}}
    api.put(f"/berth/v1/provider_trees/{numbered(HOST, number)}", body | {"create_names": True})


def put_server(api, number, host, amount=4, generation=None):
    body = clouds.held({numbered(HOST, host): {"VCPU": amount}})
    body["consumer_generation"] = generation
    api.put(f"/allocations/{numbered(SERVER, number)}", body)


def fill(api):
    """Make three hosts, each half full."""
    for number, name in enumerate(("one", "two", HOSTILE), 1):
        put_host(api, number, name)
        put_server(api, number, number, 3 if number == 3 else 4)


@pytest.fixture(scope="module")
def tight_cloud(tmp_path_factory):
    yield from serving(tmp_path_factory, fill)


@pytest.fixture
def loose_cloud(tmp_path_factory):
    yield from serving(tmp_path_factory, fill)


def test_plans_are_told(request, open_page, tight_cloud):
    """Each look of this file is in it."""
    look.part(0, 1, request, open_page(f"{tight_cloud.ui}#/none"), tight_cloud)


def plans(kind, **asked):
    return f"#/plans/{kind}?" + "&".join(f"{key}={quote(value)}" for key, value in asked.items())


def test_moves_that_make_room_are_drawn_and_taken_along(open_page, tight_cloud, screenshots):
    page = open_page(f"{tight_cloud.ui}#/plans")
    constraints = page.get_by_label("Constraints, as JSON")
    expect(constraints).to_have_accessible_description(re.compile("server groups.*not_on"))
    page.get_by_label("Amount", exact=True).fill("8")
    waiting = []
    page.route("**/allocations/query", lambda route: waiting.append(route))
    page.get_by_role("button", name="Find moves").click()
    # whose the server is comes when it comes
    expect(page.get_by_role("heading", name="1 move makes room")).to_be_visible()
    assert page.locator("path.move").count() == 1
    owner = page.get_by_role("group", name="Moves in their order").get_by_text("of", exact=True)
    expect(owner).to_have_count(0)
    wait_until(page, lambda: waiting)
    waiting[0].continue_()
    expect(owner).to_have_count(1)
    moves = page.get_by_role("group", name="Moves in their order").get_by_role("row")
    expect(moves).to_have_count(2)
    expect(moves.nth(1)).to_contain_text("4 VCPU")
    screenshots(page, "plans", full_page=True)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save plan.json").click()
    plan = json.loads(saved.value.path().read_text())
    assert (plan["verdict"], len(plan["moves"])) == ("possible", 1)
    (commands,) = page.get_by_role("group", name="Commands").all_text_contents()
    assert f"--wait {plan['moves'][0]['consumer']}" in commands


@look
def room_within_a_host_goes_where_it_is_said(page, cloud):
    asked = plans("room", query="resources=VCPU:8", within="two", **{"except": numbered(SERVER, 2)})
    page.goto(cloud.ui + asked)
    expect(page.get_by_role("heading", name="No moves make room")).to_be_visible()
    page.get_by_label("These consumers stay").fill("")
    page.get_by_role("button", name="Find moves").click()
    expect(page.get_by_role("heading", name="1 move makes room")).to_be_visible()
    page.get_by_role("link", name="Why it doesn't fit").click()
    expect(page.get_by_role("heading", name="It fits into none")).to_be_visible()


def test_an_evacuation_is_drawn(open_page, tight_cloud):
    page = open_page(f"{tight_cloud.ui}#/plans/evacuate", refused=[403])
    page.get_by_label("Hosts", exact=True).fill("one, two")
    page.route("**/allocations/query", lambda route: route.fulfill(status=403))
    page.get_by_role("button", name="Find places").click()
    expect(page.get_by_role("heading", name="1 of 2 consumers")).to_be_visible()
    # who isn't known to be a server gets no line that says it is none
    expect(page.get_by_text("Who moves from where can't be told")).to_be_visible()
    expect(page.get_by_role("group", name="Commands")).to_have_count(0)
    page.unroute("**/allocations/query")
    page.get_by_role("button", name="Find places").click()
    expect(page.get_by_role("group", name="Moves in their order")).to_contain_text("three")
    expect(page.get_by_role("group", name="Consumers without a new place")).to_contain_text("VCPU")
    # the name is one word of the shell
    escaped = HOSTILE.replace("'", "'\\''")
    expect(page.get_by_role("group", name="Commands")).to_contain_text(f"--host '{escaped}' --wait")
    assert page.locator("main img").count() == 0
    page.get_by_text("What if the cloud were different?").click()
    page.get_by_label("With new hosts like this one").fill("one")
    page.get_by_role("button", name="Find places").click()
    expect(page.get_by_role("heading", name="All 2 consumers have a new place")).to_be_visible()


@look
def what_if_tells_the_difference(page, cloud, screenshots):
    asked = plans("whatif", query="resources=VCPU:8")
    page.goto(cloud.ui + asked)
    expect(page.get_by_role("alert")).to_contain_text("Say what is different.")
    page.get_by_label("With other ratios").fill("VCPU=2.0")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".figure")).to_have_text("0 → 3")
    screenshots(page, "whatif", full_page=True)
    page.get_by_label("With other ratios").fill("VCPU")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("“VCPU” isn't like VCPU=4.0.")


@look
def losses_are_judged(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/plans/survives")
    page.get_by_role("button", name="Judge the losses").click()
    expect(page.locator(".figure")).to_have_text("3 of 3")
    page.get_by_label("Lose each").select_option("of the sets of hosts below")
    page.get_by_label("Sets of hosts, or aggregates").fill("one, two\nthree?")
    page.get_by_role("button", name="Judge the losses").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no host three?, and no")
    page.get_by_label("Sets of hosts, or aggregates").fill("one, two")
    page.get_by_role("button", name="Judge the losses").click()
    expect(page.locator(".figure")).to_have_text("No")
    screenshots(page, "survives", full_page=True)
    page.get_by_text("Who has no place (1)").click()
    expect(page.get_by_role("group", name="Without a place")).to_contain_text("4 VCPU")
    # an address that was sent says the same
    page.reload()
    expect(page.locator(".figure")).to_have_text("No")


def test_a_plan_stays_while_it_is_carried_out(open_page, loose_cloud):
    page = open_page(loose_cloud.ui + plans("room", query="resources=VCPU:8"))
    expect(page.get_by_role("heading", name="1 move makes room")).to_be_visible()
    for number, host in ((1, 2), (2, 1)):
        loose_cloud.service.delete(f"/allocations/{numbered(SERVER, number)}")
        put_server(loose_cloud, 10 + number, host, 1)
    expect(page.get_by_text("The cloud has changed since this was asked.")).to_be_visible()
    expect(page.get_by_role("heading", name="1 move makes room")).to_be_visible()
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("The cloud has changed since this was asked.")).to_have_count(0)
    expect(page.get_by_role("heading", name="1 move makes room")).to_be_visible()


@look
def kinds_are_a_click_apart(page, cloud):
    page.goto(f"{cloud.ui}#/plans")
    page.get_by_role("navigation", name="Kinds of plans").get_by_role(
        "link", name="Evacuate"
    ).click()
    expect(page.get_by_role("heading", name="Can these hosts be emptied?")).to_be_visible()
    here = page.get_by_role("navigation", name="Kinds of plans").locator("[aria-current]")
    expect(here).to_have_text("Evacuate")

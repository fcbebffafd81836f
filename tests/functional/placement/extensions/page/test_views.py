"""Each view of the page, on a cloud of three hosts and a pool that some of them share."""

import re

import pytest

from tests.browsing import expect
from tests.functional.placement.extensions.page.clouds import (
    AGGREGATE,
    GPU,
    HOST,
    NUMA,
    POOL,
    SERVER,
    held,
    numbered,
)
from tests.functional.placement.extensions.page.looks import Looks

FIRST = numbered(SERVER, 1)
PARTS = 3
look = Looks()


@pytest.mark.parametrize("part", range(PARTS))
def test_it_shows(request, open_page, small_cloud, part):
    """Each look of this file is in one of the parts."""
    look.part(part, PARTS, request, open_page(f"{small_cloud.ui}#/none"), small_cloud)


def provider(page, name):
    """Return the drawing of a provider."""
    return page.locator("article").filter(has=page.get_by_role("heading", name=name, exact=True))


@look
def the_cloud_says_how_full_it_is(page, cloud, screenshots):
    page.goto(cloud.ui)
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="MEMORY_MB"))
    # raw figures stand beside those that people read
    used = row.get_by_role("cell").nth(1)
    expect(used).to_contain_text("184 GiB · 24 %")
    expect(used).to_contain_text("188\N{NARROW NO-BREAK SPACE}416")
    expect(page.get_by_role("status")).to_contain_text("Live")
    screenshots(page, "cloud")


@look
def a_class_is_chosen_and_stands_in_the_address(page, cloud):
    page.goto(f"{cloud.ui}#/cloud")
    page.get_by_role("button", name="VGPU").click()
    expect(page.get_by_role("heading", name="3 trees with VGPU")).to_be_visible()
    assert page.url.endswith("#/cloud?class=VGPU")
    page.reload()
    expect(page.get_by_role("heading", name="3 trees with VGPU")).to_be_visible()


@look
def an_aggregate_shows_its_trees_alone(page, cloud):
    page.goto(f"{cloud.ui}#/cloud")
    page.get_by_role("link", name=numbered(AGGREGATE, 1)).click()
    # the second host and the pool
    expect(page.get_by_role("heading", name="2 trees of an aggregate")).to_be_visible()
    page.get_by_role("link", name="Show all trees").click()
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()


def test_the_line_of_health_leads_to_what_is_wrong(open_page, changing_cloud, screenshots):
    path = f"/resource_providers/{numbered(GPU, 6)}/inventories/VGPU"
    generation = changing_cloud.service.get(path).json["resource_provider_generation"]
    changing_cloud.put(path, {"total": 2, "resource_provider_generation": generation})
    traits = f"/resource_providers/{numbered(HOST, 2)}/traits"
    generation = changing_cloud.service.get(traits).json["resource_provider_generation"]
    disabled = {"traits": ["COMPUTE_STATUS_DISABLED"], "resource_provider_generation": generation}
    changing_cloud.put(traits, disabled)
    page = open_page(changing_cloud.ui)
    health = page.get_by_role("list", name="Health")
    expect(health.get_by_role("link", name="service: in order")).to_be_visible()
    trees = page.get_by_role("table", name="Trees").get_by_role("link")
    for link, name in (("over capacity: 1", "compute3"), ("disabled: 1", "compute2")):
        health.get_by_role("link", name=link).click()
        expect(trees).to_have_text([name])
        page.go_back()
    page.goto(f"{changing_cloud.ui}#/suspects?kind=over_capacity")
    rows = page.get_by_role("group", name="Suspects").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("3 of VGPU are allocated")
    screenshots(page, "suspects")


@look
def the_map_is_grouped_and_zooms(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/cloud?by=name")
    groups = page.locator(".map-parts > li")
    expect(groups).to_have_count(1)
    page.get_by_role("combobox", name="Group").select_option("By aggregate")
    # of the pool's trees none has processors
    expect(groups).to_have_count(2)
    page.locator(".map-parts").get_by_role("link", name=numbered(AGGREGATE, 2)).click()
    expect(groups).to_have_count(1)
    expect(groups).to_contain_text("2 trees")
    assert "by=aggregate" in page.url
    page.get_by_role("link", name="Show all groups").click()
    expect(groups).to_have_count(2)
    page.get_by_role("combobox", name="Group").select_option("By trait")
    page.get_by_label("Trait begins with").fill("CUSTOM_RACK_")
    page.keyboard.press("Enter")
    expect(groups).to_contain_text("CUSTOM_RACK_7")
    page.goto(f"{cloud.ui}#/cloud?by=aggregate&show=split&class=MEMORY_MB")
    expect(groups).to_have_count(2)
    screenshots(page.locator(".broad"), "map")


@look
def the_map_shows_how_many_of_a_flavor_fit(page, cloud):
    page.goto(f"{cloud.ui}#/cloud")
    page.get_by_role("combobox", name="Show").select_option("How many of a flavor fit")
    page.get_by_role("textbox", name="Flavor").fill("VCPU:4,MEMORY_MB:8192")
    page.keyboard.press("Enter")
    expect(page.locator("canvas")).to_have_attribute(
        "aria-label", re.compile("How many .* 3.trees")
    )
    page.locator("canvas").hover(position={"x": 40, "y": 10})
    expect(page.locator(".told")).to_have_text(re.compile(r"compute2\s+23 fit"))
    # a bar that is cut looks fuller than it is
    bar = page.locator(".hosts.measured .bar").first
    assert bar.evaluate("bar => bar.offsetWidth <= bar.closest('.row > span').clientWidth")


@look
def trees_are_sorted_and_filtered(page, cloud):
    page.goto(f"{cloud.ui}#/trees")
    trees = page.get_by_role("table", name="Trees").get_by_role("link")
    expect(trees).to_have_count(4)
    page.get_by_role("combobox", name="Sort by").select_option("used VCPU")
    expect(trees).to_have_text(["compute3", "compute2", "compute1", "nfs-pool"])
    page.get_by_label("Free at least").fill("VCPU:130")
    page.keyboard.press("Enter")
    expect(trees).to_have_text(["compute2", "compute1"])
    page.get_by_role("combobox", name="Aggregate").fill(numbered(AGGREGATE, 1))
    page.keyboard.press("Enter")
    expect(trees).to_have_text(["compute2"])
    page.reload()
    expect(trees).to_have_text(["compute2"])
    page.goto(f"{cloud.ui}#/trees?trait=CUSTOM_NVIDIA_A40&sort=free%20VCPU")
    expect(trees).to_have_text(["compute1", "compute2", "compute3"])


@look
def a_click_right_after_a_field_opens_the_tree(page, cloud):
    # the list is drawn anew while the link is pressed: the field is left
    page.goto(f"{cloud.ui}#/trees")
    trees = page.get_by_role("table", name="Trees").get_by_role("link")
    opened = page.get_by_role("heading", name="compute2", exact=True)
    for label, text, left in (
        ("Search by name or uuid of any provider", "compute2", 1),
        ("Trait", "CUSTOM_NVIDIA_A40", 3),
        ("Aggregate", numbered(AGGREGATE, 1), 2),
        ("Free at least", "VCPU:130", 2),
    ):
        page.goto(f"{cloud.ui}#/none")
        page.goto(f"{cloud.ui}#/trees")
        expect(trees, label).to_have_count(4)
        expect(opened, label).to_have_count(0)
        page.get_by_label(label, exact=True).fill(text)
        trees.filter(has_text="compute2").hover()
        page.mouse.down()
        expect(page.get_by_role("status").filter(has_text=f"{left} of 4"), label).to_be_visible()
        page.mouse.up()
        expect(opened, label).to_be_visible()
        expect(page.get_by_label(label, exact=True)).to_have_value(text)
        expect(trees, label).to_have_count(left)


@look
def a_click_right_after_a_pattern_shows_the_group(page, cloud):
    page.goto(f"{cloud.ui}#/cloud?by=name")
    page.get_by_label("Name is like").fill("compute*")
    page.locator(".map-parts").get_by_role("link", name="compute").click()
    expect(page.get_by_role("link", name="Show all groups")).to_be_visible()


@look
def who_holds_the_gpus_is_two_clicks_away(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/cloud")
    page.get_by_role("link", name="compute3").click()
    gpu = provider(page, "compute3_pci_0000_80_00_0")
    expect(gpu).to_contain_text("Held by 3 consumers")
    expect(gpu).to_contain_text("3 of 4 used")
    screenshots(page, "trees")


@look
def the_map_leads_to_its_trees(page, cloud):
    page.goto(f"{cloud.ui}#/cloud")
    area = page.locator("canvas")
    area.hover(position={"x": 40, "y": 10})
    expect(page.locator(".told")).to_have_text(re.compile(r"compute2\s+40 of 176 used, 22\s%"))
    area.click(position={"x": 40, "y": 10})
    expect(page.get_by_role("heading", name="compute2", exact=True)).to_be_visible()


@look
def trees_are_found_by_any_provider_of_theirs(page, cloud):
    page.goto(f"{cloud.ui}#/trees")
    names = page.get_by_role("table", name="Trees").get_by_role("link")
    names_and_uuids = ("compute2", "COMPUTE2_NUMA1", numbered(GPU, 4), numbered(HOST, 2))
    for text in (*names_and_uuids, numbered(HOST, 2).upper()):
        page.get_by_role("searchbox").fill("")
        expect(names, text).to_have_count(4)
        page.get_by_role("searchbox").fill(text)
        expect(page.get_by_text("1 of 4 trees"), text).to_be_visible()
        expect(names, text).to_have_text(["compute2"])


def test_a_shared_address_opens_the_same_tree(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/trees/{numbered(NUMA, 5)}")
    chosen = page.locator("article[aria-current]")
    expect(chosen.get_by_role("heading", level=2)).to_have_text("compute2_numa1")


@look
def an_unknown_tree_is_said_to_be_unknown(page, cloud):
    page.goto(f"{cloud.ui}#/trees/{numbered(HOST, 99)}")
    expect(page.get_by_text("There is no provider with this uuid any more")).to_be_visible()


@look
def shared_storage_links_trees(page, cloud):
    page.goto(f"{cloud.ui}#/trees/{numbered(HOST, 2)}")
    uses = page.locator(".shared").filter(has_text="This tree may also use")
    uses.get_by_role("link", name="nfs-pool").click()
    serves = page.locator(".shared").filter(has_text="Shared with 1 tree")
    expect(serves.get_by_role("link", name="compute2")).to_be_visible()


@look
def a_host_is_a_picture(page, cloud):
    page.goto(f"{cloud.ui}#/trees/{numbered(HOST, 3)}")
    picture = page.locator(".host")
    expect(picture.locator(".cells > li > .part")).to_have_text(["numa0", "numa1"])
    first = picture.locator(".cells > li").first
    expect(first.locator(".devices .part")).to_have_text(["pci_0000_80_00_0", "pci_0000_81_00_0"])
    # a segment for each holder, whose names come on demand
    device = first.locator(".devices details").first
    assert device.locator(".segment").count() == 3
    expect(picture.get_by_role("link")).to_have_count(0)
    device.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(device.get_by_role("link")).to_have_count(3)
    device.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="On 3 providers of 1 tree")).to_be_visible()


@look
def a_consumer_says_what_it_holds_where(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/consumer")
    page.get_by_label("Uuid of a server").fill(FIRST)
    page.get_by_role("button", name="Show what it holds").click()
    expect(page.get_by_role("heading", name="On 3 providers of 1 tree")).to_be_visible()
    row = page.get_by_role("row").filter(has_text="compute1_numa0")
    expect(row).to_contain_text("2 VCPU, 4 GiB (4 096) MEMORY_MB")
    expect(page.get_by_text("research")).to_be_visible()
    expect(row.get_by_role("img").first).to_have_attribute("aria-label", re.compile("held by it"))
    expect(page.get_by_text("Nothing has changed meanwhile.")).to_be_visible()
    screenshots(page, "consumer")
    page.get_by_role("link", name="compute1_numa0").click()
    expect(page.locator("article[aria-current]")).to_contain_text(FIRST)


@look
def a_consumer_without_anything_is_said_to_hold_nothing(page, cloud):
    page.goto(f"{cloud.ui}#/consumer/{numbered(SERVER, 999)}")
    expect(page.get_by_text("This consumer holds nothing")).to_be_visible()


@look
def a_name_is_said_to_be_no_uuid(page, cloud):
    for view in ("consumer", "trees"):
        said = page.get_by_text("“compute2” is no uuid.")
        page.goto(f"{cloud.ui}#/none")
        expect(said, view).to_have_count(0)
        page.goto(f"{cloud.ui}#/{view}/compute2")
        expect(said, view).to_be_visible()


@look
def a_name_in_the_address_leads_to_the_search(page, cloud):
    page.goto(f"{cloud.ui}#/trees/compute2")
    page.get_by_role("link", name="Search for this name").click()
    expect(page.get_by_text("1 of 4 trees")).to_be_visible()
    expect(page.get_by_role("columnheader", name="VCPU")).to_be_visible()


def test_changes_show_by_themselves(open_page, changing_cloud):
    page = open_page(f"{changing_cloud.ui}#/trees/{numbered(HOST, 1)}")
    gpu = provider(page, "compute1_pci_0000_81_00_0")
    expect(gpu).to_contain_text("0 of 4 used")
    body = held({numbered(GPU, 3): {"VGPU": 2}})
    changing_cloud.put(f"/allocations/{numbered(SERVER, 500)}", body)
    expect(gpu).to_contain_text("2 of 4 used")
    page.get_by_role("link", name="Cloud").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="VGPU"))
    expect(row).to_contain_text("8 · 33 %")
    # a consumer is followed
    page.goto(f"{changing_cloud.ui}#/consumer/{FIRST}")
    expect(page.get_by_role("heading", name="On 3 providers of 1 tree")).to_be_visible()
    page.get_by_role("link", name="compute1_numa0").focus()
    body = held({numbered(NUMA, 2): {"VCPU": 7}}) | {"consumer_generation": 1}
    changing_cloud.put(f"/allocations/{FIRST}", body)
    expect(page.get_by_role("heading", name="On 1 provider of 1 tree")).to_be_visible()
    assert page.evaluate("document.activeElement.textContent") == "compute1_numa0"
    story = page.get_by_role("group", name="What changed").get_by_role("row")
    expect(story.filter(has_text="VCPU")).to_contain_text("27")
    assert changing_cloud.service.delete(f"/allocations/{FIRST}").status_code == 204
    expect(page.get_by_text("This consumer holds nothing")).to_be_visible()
    expect(story.filter(has_text="VCPU").first).to_contain_text("70")


def test_a_tree_that_loses_a_provider_or_itself_shows_it(open_page, changing_cloud):
    page = open_page(f"{changing_cloud.ui}#/trees/{numbered(HOST, 2)}")
    expect(provider(page, "compute2_pci_0000_81_00_0")).to_be_visible()
    moved = numbered(GPU, 5)
    body = {"name": "moved-gpu", "parent_provider_uuid": numbered(NUMA, 2)}
    changing_cloud.put(f"/resource_providers/{moved}", body)
    expect(provider(page, "compute2_pci_0000_81_00_0")).to_have_count(0)
    page.get_by_role("searchbox").fill("moved-gpu")
    names = page.get_by_role("table", name="Trees").get_by_role("link")
    expect(names).to_have_text(["compute1"])
    root = numbered(POOL, 1)
    page.goto(f"{changing_cloud.ui}#/trees/{root}")
    expect(page.get_by_text("4 trees", exact=True)).to_be_visible()
    assert changing_cloud.service.delete(f"/resource_providers/{root}").status_code == 204
    expect(page.get_by_text("3 trees", exact=True)).to_be_visible()
    expect(page.get_by_text("There is no provider with this uuid any more")).to_be_visible()


def test_a_consumer_s_suspects_are_told(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/consumer/{FIRST}")
    listed = {"kind": "two_roots", "provider": None, "consumer": FIRST, "resource_class": None}
    listed |= {"detail": "See `audit`.", "first_seen": "2026-01-01T00:00:00Z"}
    others = listed | {"consumer": numbered(SERVER, 2), "detail": "of somebody else"}
    answer = {"suspects": [listed, others], "kinds": {}}
    page.route("**/suspects?*", lambda route: route.fulfill(json=answer))
    page.reload()
    expect(page.get_by_role("heading", name="Suspects about it")).to_be_visible()
    told = page.get_by_role("listitem").filter(has_text="instances on two hosts: See audit.")
    expect(told.locator("code")).to_have_text("audit")
    expect(page.get_by_text("of somebody else")).to_have_count(0)


@look
def why_names_what_would_help(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/why?resources=VCPU:4,VGPU:9&required=CUSTOM_NVIDIA_A40")
    expect(page.get_by_role("heading", name="It fits into none of 4 trees")).to_be_visible()
    step = page.locator(".funnel").get_by_role("listitem").filter(has_text="9 VGPU")
    expect(step).to_contain_text("3 → 0 left")
    screenshots(page, "why")
    page.get_by_role("link", name="VGPU 9 → 4").click()
    expect(page.get_by_role("heading", name="It fits into 3 trees of 4")).to_be_visible()
    assert "resources=VCPU:4,VGPU:4" in page.url.replace("%3A", ":").replace("%2C", ",")


@look
def why_is_asked_by_a_form(page, cloud):
    page.goto(f"{cloud.ui}#/why")
    page.get_by_label("Resource class", exact=True).first.fill("MEMORY_MB")
    page.get_by_label("Amount", exact=True).first.fill("999999")
    page.get_by_role("button", name="Add a resource class").click()
    page.get_by_label("Resource class", exact=True).nth(1).fill("VCPU")
    page.get_by_label("Amount", exact=True).nth(1).fill("1")
    page.get_by_label("Why not this provider?").fill("compute1")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="Why not compute1")).to_be_visible()
    expect(page.get_by_text("976.6 GiB").or_(page.get_by_text("977 GiB")).first).to_be_visible()


@look
def an_amount_is_told_in_the_unit_that_people_read(page, cloud):
    page.goto(f"{cloud.ui}#/capacity?resources=VCPU:1,MEMORY_MB:8192")
    amounts = page.get_by_label("Amount", exact=True)
    expect(page.locator(".size")).to_have_text(["", "8 GiB"])
    amounts.nth(1).fill("512")
    expect(page.locator(".size")).to_have_text(["", "512 MiB"])


def test_a_wrong_query_says_what_is_wrong(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/why?resources=NO_SUCH_CLASS:1", refused=[400])
    expect(page.get_by_role("alert")).to_contain_text("NO_SUCH_CLASS")


@look
def capacity_counts(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/capacity?resources=VCPU:4,MEMORY_MB:8192")
    expect(page.locator(".figure")).to_have_text("68")
    trees = page.get_by_role("group", name="By tree").get_by_role("row")
    rows = ["compute1MEMORY_MB27", "compute2MEMORY_MB23", "compute3MEMORY_MB18"]
    expect(trees).to_have_text(["TreeRuns out ofFits", *rows])
    screenshots(page, "capacity")


@look
def capacity_without_a_host(page, cloud):
    page.goto(f"{cloud.ui}#/capacity?resources=VCPU:4,MEMORY_MB:8192")
    page.get_by_label("As if these hosts were gone").fill("compute1")
    page.get_by_role("button", name="Count").click()
    expect(page.locator(".figure")).to_have_text("41")
    page.get_by_label("As if these hosts were gone").fill("nobody")
    page.get_by_role("button", name="Count").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no host nobody.")


def test_no_room_leads_to_why(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/capacity")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{small_cloud.ui}#/capacity?resources=VGPU:5")
    why = page.get_by_role("link", name="Why?")
    expect(why).to_be_visible()
    # what would help is looked for when somebody asks why
    assert not [url for url in asked if "explain" in url]
    why.click()
    expect(page.get_by_role("heading", name="It fits into none of 4 trees")).to_be_visible()


def test_a_position_that_is_gone_is_no_end(open_page, changing_cloud):
    page = open_page(changing_cloud.ui, refused=[410])
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()
    # what it asked for is answered 410 once, as after a restored database
    gone = {"status": 410, "json": {"errors": [{"status": 410, "code": "berth.position_gone"}]}}
    page.route("**/changes?*", lambda route: route.fulfill(**gone), times=1)
    root = numbered(POOL, 1)
    assert changing_cloud.service.delete(f"/resource_providers/{root}").status_code == 204
    expect(page.get_by_text("3 trees of 15 providers.")).to_be_visible()
    path = f"/resource_providers/{numbered(GPU, 2)}"
    changing_cloud.put(path, {"name": "renamed", "parent_provider_uuid": numbered(NUMA, 2)})
    page.get_by_role("link", name="Trees").click()
    page.get_by_role("searchbox").fill("renamed")
    expect(page.get_by_text("1 of 3 trees")).to_be_visible()


def test_an_empty_cloud_says_what_to_do(open_page, empty_cloud, screenshots):
    page = open_page(empty_cloud.ui)
    expect(page.get_by_text("Placement has no resource provider yet.")).to_be_visible()
    screenshots(page, "empty")


def test_more_than_there_is_stands_out(open_page, changing_cloud, screenshots):
    path = f"/resource_providers/{numbered(GPU, 6)}/inventories/VGPU"
    generation = changing_cloud.service.get(path).json["resource_provider_generation"]
    changing_cloud.put(path, {"total": 2, "resource_provider_generation": generation})
    page = open_page(f"{changing_cloud.ui}#/cloud?class=VGPU")
    said = page.get_by_text("1 tree has more in use than there is")
    expect(said).to_be_visible()
    # the tree has room, but one of its providers has not
    canvas = page.locator("canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile("1 over capacity"))
    fullest = page.get_by_role("table", name="Trees, the fullest first").get_by_role("row")
    expect(fullest.nth(1)).to_have_text("compute3over3")
    screenshots(page, "over")
    page.locator(".notice").get_by_role("link", name="compute3").click()
    expect(page.locator("li.over")).to_contain_text("3 of 2 used")


@look
def a_rehearsal_is_drawn(page, cloud, rehearsal, screenshots):
    page.goto(f"{cloud.ui}#/reshape")
    page.get_by_label("File of a rehearsal").set_input_files(rehearsal)
    expect(page.get_by_text("2 consumers move, and each keeps what it holds.")).to_be_visible()
    assert page.locator("path.move").count() == 4
    page.get_by_text("The host as a picture, before and after").click()
    # the cells are there after it alone
    expect(page.locator(".pair .cells")).to_have_count(1)
    expect(page.locator(".pair .cells > li")).to_have_count(2)
    # no figure runs over the border of its cell
    whole = "all => all.every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
    assert page.locator(".pair .gauge > summary").evaluate_all(whole)
    screenshots(page, "reshape", full_page=True)


@look
def another_file_is_refused(page, cloud, rehearsal, tmp_path):
    file = tmp_path / "other.json"
    page.goto(f"{cloud.ui}#/reshape")
    chosen, told = page.get_by_label("File of a rehearsal"), page.get_by_role("alert")
    for text in ("no JSON", "[]", '{"host": "x", "nodes": [{"node": "x"}]}', "{}"):
        file.write_text(text)
        chosen.set_input_files(file)
        expect(told, text).to_contain_text("migrate_compute_inventory --dry-run --json")
        chosen.set_input_files(rehearsal)
        expect(told, text).to_have_count(0)

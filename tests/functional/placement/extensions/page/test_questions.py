"""The form of a request: groups, names that are completed, and its three forms as text."""

import re

from tests.browsing import expect
from tests.functional.placement.extensions.page.clouds import AGGREGATE, GPU, SERVER, held, numbered
from tests.functional.placement.extensions.page.looks import Looks

UNNUMBERED = "resources=VCPU:4"
look = Looks()


def test_it_answers(request, open_page, small_cloud):
    """Each look of this file is in it."""
    look.part(0, 1, request, open_page(f"{small_cloud.ui}#/none"), small_cloud)


def asked(page):
    return page.evaluate("decodeURIComponent(location.hash)")


@look
def a_group_is_added_named_and_removed(page, cloud):
    page.goto(f"{cloud.ui}#/why?{UNNUMBERED}")
    page.get_by_role("button", name="Add a group").click()
    group = page.get_by_role("group", name="Resources of one provider")
    # the focus goes to what is new
    page.keyboard.type("VGPU")
    group.get_by_label("Amount", exact=True).fill("9")
    group.get_by_label("Name of the group").fill("_GPU")
    group.get_by_label("Traits").fill("CUSTOM_NVIDIA_A40")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="It fits into none of 4 trees")).to_be_visible()
    assert asked(page).endswith(
        f"?{UNNUMBERED}&resources_GPU=VGPU:9&required_GPU=CUSTOM_NVIDIA_A40"
    )
    page.reload()
    expect(group.get_by_label("Traits")).to_have_value("CUSTOM_NVIDIA_A40")
    # the name of a class is seen whole
    class_field = group.get_by_label("Resource class", exact=True)
    assert class_field.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert class_field.bounding_box()["width"] > 100
    page.get_by_role("button", name="Remove this group").click()
    assert page.evaluate("document.activeElement.textContent") == "Add a group"
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="It fits into 3 trees of 4")).to_be_visible()


@look
def names_are_completed_after_what_is_written(page, cloud):
    page.goto(f"{cloud.ui}#/why?{UNNUMBERED}")
    expect(page.locator("#classes option[value=VGPU]")).to_have_count(1)
    traits = page.get_by_label("Traits")
    traits.fill("HW_NUMA_ROOT,!nvidia")
    found = page.locator(f"#{traits.get_attribute('list')} option")
    expect(found).to_have_attribute("value", "HW_NUMA_ROOT,!CUSTOM_NVIDIA_A40")


@look
def a_command_that_is_pasted_fills_the_form(page, cloud):
    page.goto(f"{cloud.ui}#/why")
    page.get_by_text("Read or paste it as text").click()
    command = page.get_by_label("Command")
    command.fill(
        "openstack allocation candidate list --resource VCPU=4 --group 1 --resource VGPU=9"
    )
    command.blur()
    expect(page.get_by_label("Query", exact=True)).to_have_value(f"{UNNUMBERED}&resources1=VGPU:9")
    specs = page.get_by_label("Extra specs of a flavor")
    expect(specs).to_have_value("resources:VCPU=4\nresources1:VGPU=9")
    specs.fill("| properties | hw:numa_nodes='1', resources:VGPU='2' |")
    specs.blur()
    expect(command).to_have_value(re.compile("--resource VGPU=2$"))
    without = page.get_by_text("Left out of what was pasted: hw:numa_nodes. Placement doesn't know")
    expect(without).to_be_visible()
    command.fill("ls -l")
    command.blur()
    expect(page.get_by_role("alert")).to_have_text("Command: This command has no --resource.")
    expect(without).to_have_count(0)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="It fits into 3 trees of 4")).to_be_visible()


def test_no_room_leads_to_the_moves_that_make_it(open_page, changing_cloud):
    # no GPU has all of its four free
    full = {numbered(GPU, number): {"VGPU": 3} for number in (2, 3, 4, 5, 6, 7)}
    for number, (gpu, amounts) in enumerate(full.items()):
        if gpu in (numbered(GPU, 2), numbered(GPU, 4), numbered(GPU, 6)):
            amounts["VGPU"] = 1
        changing_cloud.put(f"/allocations/{numbered(SERVER, 600 + number)}", held({gpu: amounts}))
    page = open_page(f"{changing_cloud.ui}#/why?resources=VGPU:4")
    expect(page.get_by_role("heading", name="It fits into none of 4 trees")).to_be_visible()
    # the explanation has them
    expect(page.get_by_role("heading", name=re.compile("moves? makes? room"))).to_be_visible()
    expect(page.get_by_role("link", name="Find the fewest moves")).to_have_count(0)


@look
def no_room_leads_to_a_search_for_moves_where_none_is_known(page, cloud):
    # no GPU has five
    page.goto(f"{cloud.ui}#/why?resources=VGPU:5")
    page.get_by_role("link", name="Find the fewest moves").click()
    expect(page.get_by_role("heading", name="No moves make room")).to_be_visible()


def test_a_link_is_copied(open_page, small_cloud):
    page = open_page(
        f"{small_cloud.ui}#/why?{UNNUMBERED}", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


@look
def flavors_are_counted_beside_each_other(page, cloud, screenshots):
    page.goto(f"{cloud.ui}#/capacity?resources=VGPU:1")
    page.get_by_label("Beside it, a flavor a line").fill("large VCPU:64\nhuge VGPU:9")
    page.get_by_role("button", name="Count").click()
    rows = page.get_by_role("group", name="Flavors beside each other").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(rows.nth(2)).to_contain_text("large")
    expect(rows.last.get_by_role("link", name="huge")).to_have_attribute(
        "href", re.compile("#/why")
    )
    bars = page.get_by_role("list", name="How many fit into how many trees").get_by_role("listitem")
    # the pool has no GPU
    expect(bars.first).to_have_text(re.compile("none.*1.tree"))
    assert "beside=large+VCPU%3A64" in page.url
    screenshots(page, "flavors")


@look
def the_worst_fragmented_tree_stands_first(page, cloud):
    page.goto(f"{cloud.ui}#/cloud?class=MEMORY_MB")
    page.get_by_role("combobox", name="Show").select_option("Fragmentation")
    worst = page.get_by_role("table", name="Trees, the most fragmented first")
    expect(worst.get_by_role("link")).to_have_text(["compute3", "compute1", "compute2"])
    expect(worst.get_by_role("row").nth(1)).to_contain_text(
        re.compile("the largest free piece is .* of .* free")
    )
    page.get_by_role("combobox", name="Show").select_option("Used share")
    fullest = page.get_by_role("table", name="Trees, the fullest first")
    expect(fullest.get_by_role("link")).to_have_text(["compute3", "compute2", "compute1"])


@look
def a_group_leads_to_whether_it_can_be_lost(page, cloud):
    page.goto(f"{cloud.ui}#/cloud?by=aggregate&in={numbered(AGGREGATE, 2)}")
    page.get_by_role("link", name="Can they be lost?").click()
    expect(page.get_by_role("heading", name="Can it be absorbed?")).to_be_visible()
    expect(page.locator(".figure")).to_have_text("Yes")
    # not each of its hosts
    assert page.url.endswith(f"?each=these&sets={numbered(AGGREGATE, 2)}")


@look
def an_aggregate_without_trees_leads_to_no_loss(page, cloud):
    page.goto(f"{cloud.ui}#/cloud?aggregate={numbered(AGGREGATE, 99)}")
    expect(page.get_by_role("heading", name="0 trees of an aggregate")).to_be_visible()
    expect(page.get_by_role("link", name="Can they be lost?")).to_have_count(0)


@look
def a_trait_of_the_root_and_any_class_are_told(page, cloud):
    page.goto(f"{cloud.ui}#/why?resources=VCPU:4&required=HW_CPU_X86_AVX2")
    lacks = "HW_CPU_X86_AVX2: is not there, but on the root of the tree"
    expect(page.locator(".nearest").get_by_text(lacks)).to_have_count(3)
    # a class that isn't among the commonest comes in place of one
    page.goto(f"{cloud.ui}#/trees")
    expect(page.get_by_role("columnheader", name="VCPU")).to_be_visible()
    gpus = page.get_by_role("columnheader", name="VGPU")
    expect(gpus).to_have_count(0)
    page.get_by_role("combobox", name="Sort by").select_option("used VGPU")
    expect(gpus).to_be_visible()

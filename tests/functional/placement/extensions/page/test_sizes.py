"""Trees of any size: what is drawn is bounded, and the rest a click away (extensions.md 9)."""

import json

import pytest

from tests.browsing import expect
from tests.extent import examples
from tests.functional.placement.extensions.page import clouds
from tests.functional.placement.extensions.page.clouds import (
    AGGREGATE,
    HOST,
    NUMA,
    SERVER,
    numbered,
)
from tests.functional.placement.extensions.page.conftest import serving

#: a page with a few elements for each device or class would have tens of thousands
ELEMENTS = 9_000
CARDS, DEVICES, CLASSES = 50, examples(20, 60), 120


def large():
    """Return the body that makes a host with many devices, 120 classes and 500 aggregates."""
    root = numbered(HOST, 1)

    def provider(name, parent, **more):
        nothing = {"inventories": {}, "traits": [], "aggregates": []}
        return nothing | {"name": name, "parent_provider_uuid": parent, "generation": None} | more

    providers = {
        root: provider(
            "large",
            None,
            inventories={f"CUSTOM_C{n:03}": clouds.stock(2**31 - 1) for n in range(CLASSES)},
            aggregates=[numbered(AGGREGATE, n) for n in range(500)],
        )
    }
    for card in range(CARDS):
        parent = numbered(NUMA, card)
        providers[parent] = provider(f"card{card}", root)
        for device in range(DEVICES):
            uuid = numbered(clouds.GPU, DEVICES * card + device)
            stock = {"VGPU": clouds.stock(1)}
            providers[uuid] = provider(f"card{card}_device{device}", parent, inventories=stock)
    return {"providers": providers, "remove": {}, "allocations": {}, "create_names": True}


@pytest.fixture(scope="module")
def large_tree(tmp_path_factory):
    def fill(api):
        for number in range(CLASSES):
            api.put(f"/resource_classes/CUSTOM_C{number:03}", None)
        api.put(f"/berth/v1/provider_trees/{numbered(HOST, 1)}", large())
        for number in range(50):
            body = clouds.held({numbered(HOST, 1): {"CUSTOM_C001": 1}})
            api.put(f"/allocations/{numbered(SERVER, number)}", body)

    yield from serving(tmp_path_factory, fill)


@pytest.fixture(scope="module")
def deep_tree(tmp_path_factory):
    """Serve a tree of 40 providers, each below the one before."""

    def fill(api):
        providers = {
            numbered(NUMA, number): {
                "name": f"level{number}",
                "parent_provider_uuid": numbered(NUMA, number - 1) if number else None,
                "generation": None,
                "inventories": {"VCPU": clouds.stock(4)},
                "traits": [],
                "aggregates": [],
            }
            for number in range(40)
        }
        body = {"providers": providers, "remove": {}, "allocations": {}, "create_names": True}
        api.put(f"/berth/v1/provider_trees/{numbered(NUMA, 0)}", body)

    yield from serving(tmp_path_factory, fill)


def elements(page):
    return page.evaluate("document.querySelectorAll('*').length")


def test_a_part_is_drawn_and_the_rest_by_clicks(open_page, large_tree, screenshots):
    page = open_page(f"{large_tree.ui}#/trees/{numbered(HOST, 1)}")
    root = page.locator("article").first
    expect(root.locator(".stock > li")).to_have_count(41)
    expect(root.locator(".values > li")).to_have_count(21)
    expect(root.locator(".holders > li")).to_have_count(21)
    assert elements(page) < ELEMENTS
    screenshots(page, "large-tree", full_page=True)
    root.get_by_role("button", name="Show 40 of 80 more").click()
    expect(root.locator(".stock > li")).to_have_count(81)
    more = page.locator(".tree > .more > button").last
    before = page.locator("article").count()
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator("article").nth(before)).to_be_visible()
    # the focus goes to the first that came
    assert page.evaluate("document.activeElement.closest('article') !== null")
    assert elements(page) < 2 * ELEMENTS


def test_what_was_asked_for_is_always_drawn(open_page, large_tree):
    last = numbered(clouds.GPU, CARDS * DEVICES - 1)
    page = open_page(f"{large_tree.ui}#/trees/{last}")
    chosen = page.locator("article[aria-current]")
    expect(chosen).to_contain_text(f"card{CARDS - 1}_device{DEVICES - 1}")
    expect(chosen).to_be_in_viewport()
    assert elements(page) < ELEMENTS


def test_a_deep_tree_has_room(open_page, deep_tree, screenshots):
    page = open_page(f"{deep_tree.ui}#/trees/{numbered(NUMA, 39)}")
    expect(page.locator("article")).to_have_count(40)
    chosen = page.locator("article[aria-current]")
    expect(chosen).to_contain_text("below level38")
    for width in (360, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert chosen.bounding_box()["width"] > 200
        screenshots(page, f"deep-tree-{width}", full_page=True)


def reshaped(node, devices, consumers):
    """Return a node of a rehearsal that moves GPUs to their own providers."""

    def provider(name, parent, inventories):
        uuid = f"{node}-{name}"
        return {"uuid": uuid, "name": uuid, "parent_provider_uuid": parent, "generation": 1} | {
            "inventories": inventories,
            "used": {},
            "allocations": {},
        }

    root = f"{node}-root"
    cards = [provider(f"gpu{n}", root, {"VGPU": {"total": 1}}) for n in range(devices)]
    move = {"resource_class": "VGPU", "renamed_to": None, "amount": 1, "from": root}
    return {
        "node": node,
        "result": "would be migrated",
        "before": [provider("root", None, {"VGPU": {"total": devices}})],
        "after": [provider("root", None, {}), *cards],
        "moves": {
            f"{node}-server{n}": [move | {"to": f"{node}-gpu{n % devices}"}]
            for n in range(consumers)
        },
        "misfits": [],
    }


@pytest.mark.parametrize(
    ("nodes", "devices", "consumers"), [(1_500, 2, 2), (1, 5_000, 5_000), (2, 3, 20_000)]
)
def test_a_large_rehearsal_is_drawn_in_parts(
    open_page, empty_cloud, tmp_path, nodes, devices, consumers
):
    shown = [reshaped(f"node{number}", devices, consumers) for number in range(nodes)]
    # what is wrong stands first
    shown[-1]["misfits"] = ["too large"]
    file = tmp_path / "reshape.json"
    file.write_text(json.dumps({"host": "host", "dry_run": True, "nodes": shown}))
    page = open_page(f"{empty_cloud.ui}#/reshape")
    page.get_by_label("File of a rehearsal").set_input_files(file)
    expect(page.locator(".reshape").first).to_contain_text("It doesn't fit: too large")
    assert elements(page) < ELEMENTS
    before = elements(page)
    page.get_by_role("button", name="more").last.click()
    assert before < elements(page) < 2 * ELEMENTS

"""The page for everybody: with a keyboard alone, with a screen reader, dark, narrow and wide."""

import importlib.util
import json
from pathlib import Path

import pytest

from tests.browsing import SIZE, expect
from tests.extras import needed_library
from tests.functional.placement.extensions.page import approved, clouds
from tests.functional.placement.extensions.page.clouds import GPU, HOST, SERVER, numbered
from tests.functional.placement.extensions.page.conftest import serving
from tests.functional.placement.extensions.page.looks import Looks

#: each view with something to show, and what shows that it does
VIEWS = {
    "cloud": ("#/cloud", "By aggregate"),
    "trees": ("#/trees?sort=used VCPU", "Trees"),
    "suspects": ("#/suspects", "What may be wrong?"),
    "tree": (f"#/trees/{numbered(HOST, 3)}", "compute3_pci_0000_81_00_0"),
    "consumer": (f"#/consumer/{numbered(SERVER, 9)}", "On 3 providers of 1 tree"),
    "why": ("#/why?resources=VCPU:4,VGPU:9&required=CUSTOM_NVIDIA_A40", "Nearest to it"),
    "groups": (
        "#/why?resources=VCPU:4&resources_GPU=VGPU:9&resources1=VCPU:1&group_policy=none",
        "Nearest to it",
    ),
    "capacity": ("#/capacity?resources=VCPU:4,MEMORY_MB:8192&beside=gpu VGPU:1", "By tree"),
    "plans": (
        "#/plans/evacuate?hosts=compute3",
        "All 12\N{NO-BREAK SPACE}consumers have a new place",
    ),
    "survives": ("#/plans/survives?each=root", "Losses that can be absorbed"),
    "whatif": (
        "#/plans/whatif?query=resources=VGPU:1&if_ratios=VGPU=2.0",
        "How many fit now, and then",
    ),
    "reshape": ("#/reshape", "What will a reshape move?"),
}
#: what axe finds wrong; all that is in order isn't brought here, which is far more
AXE = """
  const wrong = async (where, rules) => {
    const { violations } = await axe.run(where, { ...rules, resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  };
"""
#: all but colours
WRONG = (
    f"async (colours) => {{{AXE}"
    + """
  const rules = Object.fromEntries(colours.map((rule) => [rule, { enabled: false }]));
  return await wrong(document, { rules });
}"""
)
#: Colours cost axe most. In a window, it judges the first text of those that look alike, and whose
#: elements, up to the page's, have the same names and classes, and look alike too.
WRONG_COLOURS = (
    f"async (colours) => {{{AXE}"
    + """
  const kinds = (globalThis.kinds ??= new Map());
  const judged = (globalThis.judged ??= new Set());
  const kindOf = new Map([[null, 0]]);
  const kind = (element) => {
    if (!kindOf.has(element)) {
      const { color, fill, backgroundColor, opacity, font } = getComputedStyle(element);
      const names = [kind(element.parentElement), element.localName, element.getAttribute("class")];
      const said = JSON.stringify([names, color, fill, backgroundColor, opacity, font]);
      if (!kinds.has(said)) kinds.set(said, kinds.size + 1);
      kindOf.set(element, kinds.get(said));
    }
    return kindOf.get(element);
  };
  const include = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    const which = kind(parentElement);
    // what isn't seen is not judged: what looks alike elsewhere still has to be
    if (!data.trim() || judged.has(which) || !parentElement.checkVisibility()) continue;
    judged.add(which);
    include.push(parentElement);
  }
  return include.length ? await wrong({ include }, { runOnly: colours }) : [];
}"""
)
COLOURS = ["color-contrast", "link-in-text-block"]
#: the first is that of the window
WIDTHS = (1440, 360, 768, 2560)
#: a name that would run, one that turns the writing round, and one without any place to break
HOSTILE = (
    "<script>document.title='broken'</script><img src=x onerror=alert(1)>",
    "\u202egnirts desrever \u2066isolated",
    "x" * 200,
)
look = Looks()


def test_odd_addresses_and_files_are_shown(request, open_page, small_cloud):
    """Each look of this file is in it."""
    look.part(0, 1, request, open_page(f"{small_cloud.ui}#/none"), small_cloud)


@pytest.fixture(scope="module")
def axe():
    """Return the text of axe-core, which finds what readers of screens can't use."""
    needed_library("axe_playwright_python", "browser")
    package = importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]
    return (Path(package) / "axe.min.js").read_text()


def go_to(page, cloud, view, rehearsal):
    place, shown = VIEWS[view]
    page.goto(cloud.ui + place)
    if view == "reshape":
        page.get_by_label("File of a rehearsal").set_input_files(rehearsal)
        shown = "two-sockets"
    expect(page.get_by_role("heading", name=shown, exact=True), view).to_be_visible()


def test_it_is_for_everybody(open_page, small_cloud, rehearsal, screenshots, axe):
    page = open_page(f"{small_cloud.ui}#/none")
    # the page's policy lets no script in; a devtools session may evaluate one
    page.evaluate(axe)
    for view in VIEWS:
        page.set_viewport_size(SIZE)
        page.emulate_media(color_scheme="light")
        go_to(page, small_cloud, view, rehearsal)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            approved.check(page, view, scheme)
            assert page.evaluate(WRONG_COLOURS, COLOURS) == [], (view, scheme)
            screenshots(page, f"{view}-{scheme}", full_page=True)
        assert page.evaluate(WRONG, COLOURS) == [], view
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == width, view
            # no table is cut
            if width == 360 and view in ("cloud", "trees", "tree"):
                tables = "[...document.querySelectorAll('.wide')]"
                cut = f"{tables}.filter(one => one.scrollWidth > one.clientWidth).length"
                assert page.evaluate(cut) == 0, view
            screenshots(page, f"{view}-{width}", full_page=True)


APPROVED = {"bars": ["used 20 23 rgb(1, 2, 3)"], "maps": [{"1 2 3": 77, "4 5 6": 23}]}


@pytest.mark.parametrize(
    ("kind", "now", "is_alike"),
    [
        ("bars", ["used 21 22 rgb(1, 2, 3)"], True),
        ("bars", ["used 20 25 rgb(1, 2, 3)"], False),
        ("bars", ["used 20 23 rgb(1, 2, 4)"], False),
        ("bars", ["lost 20 23 rgb(1, 2, 3)"], False),
        ("bars", ["used NaN 23 rgb(1, 2, 3)"], False),
        ("bars", [], False),
        ("bars", 2 * APPROVED["bars"], False),
        ("maps", [{"1 2 3": 75, "4 5 6": 25}], True),
        ("maps", [{"1 2 3": 70, "4 5 6": 30}], False),
        ("maps", [{"1 2 3": 77, "4 5 7": 23}], False),
        ("maps", [{"1 2 3": 77, "4 5 6": 21, "7 8 9": 2}], False),
    ],
)
def test_what_another_browser_may_draw_is_as_approved(kind, now, is_alike):
    painted = APPROVED | {kind: now}
    assert approved.settled(painted, APPROVED) == (APPROVED if is_alike else painted)


@pytest.fixture(scope="module")
def hostile_cloud(tmp_path_factory):
    def fill(api):
        for number, name in enumerate(HOSTILE, 1):
            body = clouds.host(number, "n")
            body["providers"][numbered(HOST, number)]["name"] = name
            for place, provider in enumerate(body["providers"].values()):
                provider["name"] = f"{number} {place}{name}"[:200] if place else name
            api.put(f"/berth/v1/provider_trees/{numbered(HOST, number)}", body)
            wanted = {numbered(GPU, 2 * number): {"VGPU": 1}}
            holder = clouds.held(wanted, name) | {"user_id": name}
            api.put(f"/allocations/{numbered(SERVER, number)}", holder)

    yield from serving(tmp_path_factory, fill)


#: where hostile names are shown, and the heading; None: the drawings of a tree
HOSTILE_PLACES = (
    ("#/cloud?class=VGPU", "By aggregate"),
    *((f"#/trees/{numbered(HOST, number)}", None) for number in (1, 2, 3)),
    *((f"#/consumer/{numbered(SERVER, number)}", "On 1 provider of 1 tree") for number in (1, 3)),
    ("#/why?resources=VGPU:9", "Nearest to it"),
    ("#/capacity?resources=VGPU:1", "By tree"),
    (f"#/plans/evacuate?hosts={numbered(HOST, 1)},{numbered(HOST, 3)}", "new place"),
    ("#/plans/survives?each=root", "Losses that can"),
)


def test_hostile_names_are_texts(open_page, hostile_cloud, screenshots):
    page = open_page(hostile_cloud.ui)
    for place, shown in HOSTILE_PLACES:
        page.goto(f"{hostile_cloud.ui}#/none")
        expect(page.get_by_role("heading", name="There is no such view")).to_be_visible()
        page.goto(hostile_cloud.ui + place)
        if shown is None:
            expect(page.locator("article"), place).to_have_count(5)
        else:
            expect(page.get_by_role("heading", name=shown), place).to_be_visible()
        assert page.locator("main script, main img").count() == 0, place
        assert page.title().endswith("· Placement"), place
        name = "".join(letter if letter.isalnum() else "_" for letter in place)
        for width in (360, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == width, place
            screenshots(page, f"hostile-{width}-{name}", full_page=True)


@look
def a_hostile_rehearsal_is_text(page, cloud, rehearsal, tmp_path):
    text = rehearsal.read_text().replace("two-sockets", json.dumps(HOSTILE[0])[1:-1])
    file = tmp_path / "hostile.json"
    file.write_text(text)
    page.goto(f"{cloud.ui}#/reshape")
    page.get_by_label("File of a rehearsal").set_input_files(file)
    expect(page.get_by_role("heading", name=HOSTILE[0])).to_be_visible()
    assert page.locator("main script, main img").count() == 0


@look
def any_address_shows_something(page, cloud):
    odd = ("cloud?class=__proto__", "trees?sort=__proto__")
    for place in ("#/trees/%zz", "#/trees//", *(f"#/{each}" for each in odd), "#"):
        page.goto(cloud.ui + place)
        expect(page.get_by_role("heading", name="There is no such view"), place).to_have_count(0)
        expect(page.locator("main h1"), place).to_be_visible()
        page.goto(f"{cloud.ui}#/none")
        expect(page.get_by_role("heading", name="There is no such view")).to_be_visible()


@look
def a_view_that_is_none_is_told(page, cloud):
    for place in ("#/<script>", "#/%zz", "#/constructor", "#/__proto__", "#/hasOwnProperty"):
        page.goto(f"{cloud.ui}#/trees")
        expect(page.get_by_text("4 trees")).to_be_visible()
        page.goto(cloud.ui + place)
        expect(page.get_by_role("heading", name="There is no such view"), place).to_be_visible()
        assert page.title() == "Placement"


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def test_everything_is_reached_by_keyboard(open_page, small_cloud):
    page = open_page(small_cloud.ui)
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    for name in ("Cloud", "Trees"):
        page.keyboard.press("Tab")
        assert focused(page) == name
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Trees", exact=True)).to_be_visible()
    # the focus goes to what is new
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    page.keyboard.type("compute")
    expect(page.get_by_text("3 of 4 trees")).to_be_visible()
    page.keyboard.press("ArrowDown")
    assert focused(page) == "compute1"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "compute2"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="compute2_numa0")).to_be_visible()
    assert focused(page) == "compute2"


@pytest.fixture(scope="module")
def many_hosts(tmp_path_factory):
    def fill(api):
        for number in range(1, 61):
            api.put(f"/berth/v1/provider_trees/{numbered(HOST, number)}", clouds.host(number))

    yield from serving(tmp_path_factory, fill)


def test_a_list_of_any_length_is_one_stop_of_the_keyboard(open_page, many_hosts):
    page = open_page(f"{many_hosts.ui}#/trees/{numbered(HOST, 3)}")
    expect(page.get_by_role("heading", name="compute3_numa0")).to_be_visible()
    # the tree may be there before the names of the list
    expect(page.get_by_role("link", name="compute1", exact=True)).to_be_visible()
    page.get_by_role("searchbox").focus()
    page.keyboard.press("ArrowDown")
    # where the reader is
    assert focused(page) == "compute3"
    for key, name in {
        "PageDown": None,
        "End": "compute60",
        "ArrowDown": "compute60",
        "ArrowUp": "compute59",
        "Home": "compute1",
        "ArrowDown ": "compute2",
    }.items():
        page.keyboard.press(key.strip())
        assert name is None or focused(page) == name
    page.keyboard.press("Tab")
    # behind the list
    assert focused(page).startswith("DISK_GB")
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "compute2"


def test_keys_lead_from_square_to_square(open_page, many_hosts):
    page = open_page(f"{many_hosts.ui}#/cloud?by=name&like=compute*")
    maps = page.get_by_role("listbox")
    expect(maps).to_have_count(60)
    page.goto(f"{many_hosts.ui}#/cloud?by=name&like=compute1*&class=VGPU")
    # compute1 and compute10 to 19, each a group; the others are the rest
    expect(maps).to_have_count(12)
    page.get_by_role("link", name="compute1", exact=True).first.focus()
    page.keyboard.press("Tab")
    at = page.locator("canvas:focus [role=option]")
    expect(at).to_have_text("compute1: 0 of 8 used, 0\N{NO-BREAK SPACE}%")
    expect(page.locator(".told")).to_contain_text("compute1")
    for key, name in {
        # from map to map, and within the rest
        "ArrowRight": "compute10",
        "PageDown": "compute11",
        "ArrowUp": "compute10",
        "ArrowLeft": "compute1",
    }.items():
        page.keyboard.press(key)
        expect(at).to_contain_text(f"{name}:")
    maps.last.focus()
    for key, name in {"Home": "compute2", "ArrowRight": "compute3", "End": "compute60"}.items():
        page.keyboard.press(key)
        expect(at).to_contain_text(f"{name}:")
    page.keyboard.press("ArrowRight")
    expect(at).to_contain_text("compute60:")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="compute60_numa0")).to_be_visible()

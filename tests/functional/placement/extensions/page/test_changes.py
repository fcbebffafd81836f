"""Others act while somebody reads: changes, and a service that doesn't answer as it should."""

import itertools
import json
import time

from tests.browsing import expect, wait_until
from tests.extent import examples
from tests.functional.placement.extensions.page import clouds
from tests.functional.placement.extensions.page.clouds import (
    GPU,
    HOST,
    NUMA,
    POOL,
    SERVER,
    numbered,
)
from tests.patience import PATIENCE

GONE = {"errors": [{"status": 410, "detail": "Read all again.", "code": "berth.position_gone"}]}


def trees_link(page, name):
    return page.get_by_role("table", name="Trees").get_by_role("link", name=name, exact=True)


def claim(cloud, number, gpu):
    body = clouds.held({numbered(GPU, gpu): {"VGPU": 1}})
    cloud.put(f"/allocations/{numbered(SERVER, number)}", body)


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def fill(route, status, body):
    route.fulfill(status=status, body=json.dumps(body), content_type="application/json")


#: lets a page tell when nothing is left that it asked and wasn't answered yet
COUNTING = """{
    const ask = window.fetch;
    let underWay = 0;
    const waiting = [];
    window.fetch = async (...request) => {
      underWay += 1;
      try {
        const answer = await ask(...request);
        await answer.clone().arrayBuffer();
        return answer;
      } finally {
        underWay -= 1;
        if (!underWay) waiting.splice(0).forEach((done) => done());
      }
    };
    window.allAnswered = () => new Promise((done) => {
      underWay ? waiting.push(() => done(true)) : done(true);
    });
    0;
}"""


class Clock:
    """The clock of a page. It stands while an answer is under way.

    A page rests ten times as long as an answer took. If the clock went on, an answer on a busy
    machine would take minutes of it, and the page would rest for hours.
    """

    def __init__(self, page):
        self._page = page
        page.clock.install()
        page.evaluate(COUNTING)
        page.add_init_script(COUNTING)

    def turn(self):
        """Let six seconds pass, and wait for the answers to what was asked in them."""
        self._page.clock.run_for(6000)
        self._page.wait_for_function("allAnswered()")

    def turn_until(self, happened):
        """Let turns pass until something has happened: a page rests for two minutes at most."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end
            self.turn()


class Absence:
    """A service that answers 503 from a moment on, at the addresses of a pattern.

    Make it before the page asks there. What was asked before the moment has been answered when
    `begin` returns, so that it can't show what happens later.
    """

    def __init__(self, page, pattern):
        self._page, self._pattern = page, pattern
        self._begun = False
        self._under_way = set()
        page.route(pattern, self._answer)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._end)

    def _answer(self, route):
        if self._begun:
            fill(route, 503, {"errors": [{"detail": "The database answers nothing."}]})
        else:
            self._under_way.add(route.request)
            route.continue_()

    def _end(self, request):
        self._under_way.discard(request)

    def begin(self):
        self._begun = True
        wait_until(self._page, lambda: not self._under_way)

    def end(self):
        self._page.unroute(self._pattern)


def test_a_provider_that_moves_is_found_in_its_new_tree(open_page, changing_cloud):
    device, name = numbered(GPU, 2), "compute1_pci_0000_80_00_0"
    page = open_page(f"{changing_cloud.ui}#/trees/{device}?q={name}")
    expect(trees_link(page, "compute1")).to_have_attribute("aria-current", "true")
    body = {"name": name, "parent_provider_uuid": numbered(NUMA, 5)}
    changing_cloud.put(f"/resource_providers/{device}", body)
    expect(trees_link(page, "compute2")).to_have_attribute("aria-current", "true")
    expect(page.get_by_text("1 of 4 trees")).to_be_visible()
    expect(page.get_by_role("heading", name="compute2_numa1", exact=True)).to_be_visible()
    expect(page.locator("article[aria-current]")).to_contain_text(name)
    page.get_by_role("searchbox").fill("")
    expect(trees_link(page, "compute1")).to_be_visible()


def test_the_focus_stays_while_the_cloud_changes(open_page, changing_cloud):
    page = open_page(changing_cloud.ui)
    page.get_by_role("button", name="VGPU").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="3 trees with VGPU")).to_be_visible()
    assert focused(page) == "VGPU"
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="VGPU"))
    page.locator("canvas").hover(position={"x": 10, "y": 10})
    told = page.locator(".told")
    expect(told).to_contain_text("compute1 1 of 8 used")
    claim(changing_cloud, 500, 3)
    expect(row).to_contain_text("7 · 29 %")
    assert focused(page) == "VGPU"
    # so does what the mouse points at
    expect(told).to_contain_text("compute1 2 of 8 used")
    # it follows a tree in a list
    fullest = page.get_by_role("table", name="Trees, the fullest first")
    expect(fullest.get_by_role("link").first).to_have_text("compute3")
    fullest.get_by_role("link", name="compute1").focus()
    body = clouds.held({numbered(GPU, 2): {"VGPU": 3}, numbered(GPU, 3): {"VGPU": 3}})
    changing_cloud.put(f"/allocations/{numbered(SERVER, 501)}", body)
    expect(fullest.get_by_role("link").first).to_have_text("compute1")
    assert focused(page) == "compute1"
    # and stays in a tree
    page.goto(f"{changing_cloud.ui}#/trees/{numbered(HOST, 1)}")
    page.get_by_role("link", name=numbered(SERVER, 1)).first.focus()
    assert changing_cloud.service.delete(f"/allocations/{numbered(SERVER, 500)}").status_code == 204
    expect(page.get_by_text("3 of 4 used")).to_be_visible()
    assert focused(page) == numbered(SERVER, 1)


def test_what_was_unfolded_stays_with_its_provider(open_page, changing_cloud):
    root = numbered(HOST, 1)
    body = clouds.held({root: {"DISK_GB": 1}})
    for number in range(25):
        changing_cloud.put(f"/allocations/{numbered(SERVER, 700 + number)}", body)
    page = open_page(f"{changing_cloud.ui}#/trees/{root}")
    page.get_by_role("button", name="more", exact=False).click()
    last = page.get_by_role("link", name=numbered(SERVER, 724))
    last.focus()
    # a holder that sorts before all others
    changing_cloud.put(f"/allocations/{numbered('0', 1)}", body)
    expect(page.get_by_role("link", name=numbered("0", 1))).to_be_visible()
    expect(last).to_be_visible()
    assert focused(page) == numbered(SERVER, 724)
    assert changing_cloud.service.delete(f"/allocations/{numbered(SERVER, 724)}").status_code == 204
    expect(last).to_have_count(0)
    # the focus stays in the same provider
    assert page.evaluate("document.activeElement.closest('article').dataset.key") == root


def test_a_tree_that_did_not_change_is_not_drawn_again(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape")
    held, reads = [], []

    def note(answer):
        if "/resource_providers?required=" in answer.url:
            reads.append(1)

    def wait_for(count):
        wait_until(page, lambda: len(reads) >= count)

    page.on("response", note)
    page.route("**/provider_trees?fields=*", lambda route: held.append(route))
    page.goto(f"{small_cloud.ui}#/trees/{numbered(HOST, 1)}")
    card = page.locator("article").first
    expect(card).to_be_visible()
    wait_for(1)
    card.evaluate("one => getSelection().selectAllChildren(one.querySelector('h2'))")
    # it is read once more, because it may have changed while all trees were read
    held[0].continue_()
    wait_for(2)
    expect(page.get_by_text("4 trees")).to_be_visible()
    assert page.evaluate("getSelection().toString()") == "compute1"


def test_the_last_hour_is_a_line(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape", alone=True)
    clock = Clock(page)
    page.goto(small_cloud.ui)
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="MEMORY_MB"))
    line = row.get_by_role("img", name="now 24")
    expect(row).to_be_visible()
    # where it slept, no timer of the page fires more than once
    page.clock.fast_forward("05:00")
    clock.turn_until(lambda: line.count() == 1)


def test_what_was_copied_and_what_is_asked_outlive_a_change(open_page, changing_cloud):
    page = open_page(f"{changing_cloud.ui}#/trees/{numbered(HOST, 1)}")
    page.evaluate(
        """() => { navigator.clipboard.writeText = () => new Promise((done) => {
            window.done = done;
        }); }"""
    )
    page.get_by_role("button", name=numbered(GPU, 3)).click()
    claim(changing_cloud, 500, 3)
    expect(page.get_by_text("1 of 4 used").nth(1)).to_be_visible()
    page.evaluate("window.done()")
    expect(page.get_by_role("button", name=f"{numbered(GPU, 3)} copied")).to_be_visible()
    # an explanation follows the cloud
    page.goto(f"{changing_cloud.ui}#/why?resources=VGPU:4")
    fits = page.get_by_role("heading", name="It fits into")
    expect(fits).to_have_text("It fits into 2\N{NO-BREAK SPACE}trees of 4")
    page.get_by_label("Amount", exact=True).fill("3")
    claim(changing_cloud, 501, 5)
    expect(fits).to_have_text("It fits into 1\N{NO-BREAK SPACE}tree of 4")
    # what somebody is about to ask stays
    expect(page.get_by_label("Amount", exact=True)).to_have_value("3")
    assert page.evaluate("document.activeElement.value") == "3"


def test_a_tree_stays_while_the_service_is_away(open_page, changing_cloud):
    page = open_page(f"{changing_cloud.ui}#/reshape", refused=[503])
    absence = Absence(page, "**/provider_trees?uuid=*allocations*")
    page.goto(f"{changing_cloud.ui}#/trees/{numbered(HOST, 1)}")
    gpu = page.locator("article").filter(
        has=page.get_by_role("heading", name="compute1_pci_0000_81_00_0")
    )
    expect(page.get_by_role("status").first).to_have_text("Live")
    expect(gpu).to_contain_text("0 of 4 used")
    absence.begin()
    with page.expect_response(lambda answer: answer.status == 503):
        claim(changing_cloud, 500, 3)
    expect(gpu).to_contain_text("0 of 4 used")
    absence.end()
    # without another change, and without a click
    expect(gpu).to_contain_text("1 of 4 used")


def test_a_question_needs_no_trees(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape", alone=True)
    page.clock.install()
    reads = []
    page.route("**/provider_trees?*", lambda route: (reads.append(1), route.continue_()))
    page.goto(f"{small_cloud.ui}#/why?resources=VGPU:4")
    expect(page.get_by_role("status").first).to_have_text("Live")
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + PATIENCE)
    page.wait_for_load_state("networkidle")
    assert reads == []
    # the time stands: the trees don't wait for the next round
    page.get_by_role("link", name="Cloud").click()
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()
    assert reads == [1]


def test_where_changes_can_not_be_told_answers_are_asked_for_ever_more_rarely(
    open_page, small_cloud
):
    page = open_page(f"{small_cloud.ui}#/reshape", refused=[410], alone=True)
    clock = Clock(page)
    asked = []
    page.route("**/changes*", lambda route: fill(route, 410, GONE))
    page.route("**/explain?*", lambda route: (asked.append(1), route.continue_()))
    page.goto(f"{small_cloud.ui}#/why?resources=VGPU:4")
    expect(page.get_by_role("status").first).to_have_text("Live")
    for _ in range(40):
        clock.turn()
    assert len(asked) <= 12
    clock.turn_until(lambda: len(asked) >= 3)


def test_a_count_follows_the_cloud(open_page, changing_cloud):
    page = open_page(f"{changing_cloud.ui}#/reshape", refused=[503])
    absence = Absence(page, "**/capacity")
    page.goto(f"{changing_cloud.ui}#/capacity?resources=VGPU:4")
    expect(page.locator(".figure")).to_have_text("3")
    page.get_by_role("link", name="compute1", exact=True).focus()
    absence.begin()
    with page.expect_response(lambda answer: answer.status == 503):
        claim(changing_cloud, 500, 5)
    # what was counted stays while the service is away
    expect(page.locator(".figure")).to_have_text("3")
    absence.end()
    expect(page.locator(".figure")).to_have_text("2")
    assert focused(page) == "compute1"


def test_a_count_that_is_refused_later_is_told(open_page, changing_cloud):
    address = "#/capacity?resources=VCPU:1&without=nfs-pool"
    page = open_page(changing_cloud.ui + address)
    expect(page.locator(".figure")).to_be_visible()
    path = f"/resource_providers/{numbered(POOL, 1)}"
    assert changing_cloud.service.delete(path).status_code == 204
    expect(page.get_by_role("alert")).to_contain_text("There is no host nfs-pool.")


def test_where_no_position_lasts_all_is_read_ever_more_rarely(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape", refused=[410], alone=True)
    clock = Clock(page)
    reads = []
    page.route("**/changes?*", lambda route: fill(route, 410, GONE))
    page.route("**/provider_trees?*", lambda route: (reads.append(1), route.continue_()))
    page.get_by_role("link", name="Cloud").click()
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()
    for _ in range(20):
        clock.turn()
    # it stays usable, and two minutes are a few reads
    expect(page.get_by_text("4 trees of 16 providers.")).to_be_visible()
    assert len(reads) <= 8
    clock.turn_until(lambda: len(reads) >= 2)


def test_nothing_piles_up_over_many_changes(open_page, changing_cloud):
    page = open_page(f"{changing_cloud.ui}#/trees/{numbered(HOST, 1)}", alone=True)
    expect(page.get_by_role("heading", name="compute1_numa0")).to_be_visible()
    numbers = page.context.new_cdp_session(page)
    numbers.send("Performance.enable")
    clock = Clock(page)
    asked = []
    body = {"position": "next", "providers": [numbered(GPU, 2)], "complete": True}
    page.route("**/changes?*", lambda route: (asked.append(1), fill(route, 200, body)))

    def counted(rounds):
        wanted = len(asked) + rounds
        clock.turn_until(lambda: len(asked) >= wanted)
        numbers.send("HeapProfiler.collectGarbage")
        metrics = numbers.send("Performance.getMetrics")["metrics"]
        return {each["name"]: each["value"] for each in metrics}

    def grown(rounds):
        before, after = counted(0), counted(rounds)
        return [after[kind] - before[kind] for kind in ("JSEventListeners", "Nodes")]

    # What piles up grows by one or more for each change, in every stretch. A late answer that
    # draws a part of the page, or elements that Chromium frees later, grow in one of them only.
    rounds = examples(6, 100)
    stretches = (grown(rounds) for _ in range(6))
    assert any(max(growth) < rounds / 2 for growth in stretches)


def test_a_lying_session_is_told(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/trees")
    lies = ["null", "[]", "<html>", '{"auth": 5}', '{"auth": "x", "keystone": 5}']
    told = page.locator("[role=alert]:not([data-told])")
    page.route("**/session.json", lambda route: route.fulfill(status=200, body=lies[0]))
    page.reload()
    while len(lies) > 1:
        expect(told, lies[0]).to_be_visible()
        told.evaluate("alert => { alert.dataset.told = true; }")
        del lies[0]
        page.get_by_role("button", name="Try again").click()
    expect(told, lies[0]).to_be_visible()
    page.unroute("**/session.json")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("4 trees")).to_be_visible()


def test_whoever_is_quicker_than_the_service_arrives(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape")
    waiting = []
    page.route("**/session.json", lambda route: waiting.append(route))
    page.reload()
    page.get_by_role("link", name="Trees").click()
    wait_until(page, lambda: waiting)
    waiting[0].continue_()
    expect(page.get_by_text("4 trees")).to_be_visible()


def test_an_answer_that_lacks_everything_is_told(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape")
    answers = (None, [], {}, {"trees": [None], "consumers": {"x": None}})
    places = (
        "why?resources=VCPU:1",
        f"trees/{numbered(HOST, 1)}",
        f"consumer/{numbered(SERVER, 1)}",
    )
    for answer, place in itertools.product(answers, places):
        case = f"{answer} at {place}"
        for asked in ("**/explain?*", "**/provider_trees?*", "**/allocations/query"):
            page.route(asked, lambda route: fill(route, 200, answer))  # noqa: B023
        page.goto(f"{small_cloud.ui}#/{place}")
        expect(page.get_by_role("alert").first, case).to_contain_text("lacks what this page needs")
        page.unroute_all()
        page.goto(f"{small_cloud.ui}#/reshape")
        expect(page.get_by_role("alert"), case).to_have_count(0)


def test_nobody_is_sent_elsewhere_with_the_token(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape", refused=["ERR_FAILED"])
    elsewhere = {"Location": small_cloud.url.replace("127.0.0.1", "localhost")}
    page.route("**/changes*", lambda route: route.fulfill(status=307, headers=elsewhere))
    page.route("**/explain?*", lambda route: route.fulfill(status=307, headers=elsewhere))
    page.goto(f"{small_cloud.ui}#/why?resources=VCPU:1")
    # the test ends with an error if another origin was asked
    expect(page.get_by_role("alert")).to_contain_text("The service can't be reached.")


def test_an_answer_that_ends_early_can_be_asked_for_again(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/why")
    page.route("**/explain?*", lambda route: route.fulfill(status=200, body='{"trees": {"to'))
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_contain_text("The answer isn't JSON.")
    page.unroute("**/explain?*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="It fits into 3 trees of 4")).to_be_visible()


def test_capacity_says_why_it_knows_no_names(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/reshape", refused=[403])
    page.route(
        "**/provider_trees?*",
        lambda route: fill(route, 403, {"errors": [{"detail": "berth:provider_trees:show"}]}),
    )
    page.goto(f"{small_cloud.ui}#/capacity?resources=VCPU:1&without=compute1")
    expect(page.get_by_role("alert")).to_contain_text("berth:provider_trees:show")
    page.unroute("**/provider_trees?*")
    # whoever comes back is asked for again
    page.get_by_role("link", name="Trees").click()
    expect(page.get_by_text("4 trees")).to_be_visible()


def test_a_map_of_nothing_is_empty(open_page, small_cloud):
    page = open_page(f"{small_cloud.ui}#/cloud")
    expect(page.locator("canvas")).to_be_visible()
    page.goto(f"{small_cloud.ui}#/cloud?aggregate={numbered('9', 1)}")
    expect(page.get_by_role("heading", name="0 trees of an aggregate")).to_be_visible()
    expect(page.locator("canvas")).to_be_hidden()
    page.goto(f"{small_cloud.ui}#/cloud")
    expect(page.locator("canvas")).to_be_visible()

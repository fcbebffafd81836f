"""Commands for an operator's second day that are killed: nothing is half done, the next completes.

`BERTH_TEST_MANAGE_KILLS` says how many are killed in each test on each database.
"""

import contextlib
import random
import signal
import time

import pytest
import sqlalchemy as sa

from compute.maintenance.devices import RELEASED_DEVICES
from compute.maintenance.journal import entries
from tests.functional.compute.maintenance.adopted import NEW, OLD, RACK, STOCK, build
from tests.functional.compute.maintenance.killable import KILLS, Command
from tests.functional.compute.maintenance.test_killed import holdings

NAMES = {OLD: "first", NEW: "second"}
CARDS = 8
#: some end before they are killed
MOST_STARTS = 20 * KILLS
CARD = {"CUSTOM_CARD": {"total": 1, "max_unit": 1, "reserved": 1}}

pytestmark = pytest.mark.usefixtures("forking")


@pytest.fixture
def outsider(site):
    with site.placement() as outsider:
        yield outsider


@pytest.fixture
def database(site):
    engine = sa.create_engine(site.url.replace("mysql:", "mysql+pymysql:"))
    with contextlib.closing(engine.connect()) as connection:
        yield connection
    engine.dispose()


def killed(command, source, lines, seconds):
    """Kill a command after so many lines and seconds at most; whether it was still at work."""
    command.wait_for_lines(source.randrange(lines))
    time.sleep(source.uniform(0, seconds))
    command.kill()
    return command.end() == -signal.SIGKILL


@pytest.mark.thorough
@pytest.mark.spread_over_databases
def test_devices_are_given_back_whole_with_an_entry_in_the_journal(site, outsider, tmp_path):
    source, died, halves = random.Random(), 0, 0
    root = outsider.provider("host1")
    cards = [
        outsider.provider(f"host1_{number}", root, CARD, ["HW_PCI_ONE_TIME_USE"])
        for number in range(CARDS)
    ]
    for started in range(MOST_STARTS):
        if died == KILLS:
            break
        journal = tmp_path / f"journal-{started}"
        arguments = ["devices", "--force", "--journal", str(journal), "--release", *cards]
        if not killed(Command(site, *arguments), source, CARDS + 1, 0.03):
            assert Command(site, "devices", "--undo", str(journal)).end() == 0
            continue
        died += 1
        stocks = {card: outsider.inventory(card)["CUSTOM_CARD"] for card in cards}
        freed = {card for card, stock in stocks.items() if not stock["reserved"]}
        halves += 0 < len(freed) < CARDS
        assert all(stock["total"] == stock["max_unit"] == 1 for stock in stocks.values())
        if freed:
            noted = {entry["device"] for entry in entries(journal, RELEASED_DEVICES)}
            assert freed <= noted
        assert Command(site, *arguments).end() == 0
        assert all(not outsider.inventory(card)["CUSTOM_CARD"]["reserved"] for card in cards)
        # from what is left of two runs, all of it is back as it was
        assert Command(site, "devices", "--undo", str(journal)).end() == 0
        assert all(outsider.inventory(card)["CUSTOM_CARD"]["reserved"] for card in cards)
        print(f"{died} killed, {halves} of them between two devices", flush=True)
    assert died == KILLS


@pytest.mark.thorough
@pytest.mark.spread_over_databases
def test_an_adopted_host_has_all_of_its_consumers_under_one_of_its_uuids(site, outsider, database):
    source, died, moments = random.Random(), 0, {}
    host = build(outsider)
    expected = {
        host["a"]: {None: {"VCPU": 2, "MEMORY_MB": 1024}, host["pool"]: {"DISK_GB": 5}},
        host["b"]: {
            None: {"VCPU": 4},
            host["cell"]: {"CUSTOM_CELL": 1},
            host["deep"]: {"VGPU": 1},
        },
        host["moving"]: {None: {"VCPU": 1}},
    }
    goal = NEW
    for _ in range(MOST_STARTS):
        if died == KILLS:
            break
        arguments = ["adopt_provider", "--name", "host1", "--uuid", goal]
        if killed(Command(site, *arguments), source, 8, 0.03):
            died += 1
            there = " and ".join(name for uuid, name in NAMES.items() if outsider.exists(uuid))
            moment = f"{there}, held of {NAMES[root_of(expected, holdings(database))]}"
            database.rollback()
            moments[moment] = moments.get(moment, 0) + 1
            print(f"{died} killed; {moments}", flush=True)
        assert Command(site, *arguments).end() == 0
        assert root_of(expected, holdings(database)) == goal
        database.rollback()
        (gone,) = {OLD, NEW} - {goal}
        assert not outsider.exists(gone)
        shown = outsider.shown(goal)
        assert (shown["name"], shown["parent_provider_uuid"]) == ("host1", None)
        assert outsider.shown(host["cell"])["parent_provider_uuid"] == goal
        assert outsider.totals(goal) == {name: record["total"] for name, record in STOCK.items()}
        assert (outsider.traits(goal), outsider.aggregates(goal)) == ({"CUSTOM_GOLD"}, {RACK})
        goal = gone
    assert died == KILLS


def root_of(expected, found):
    """Return the root of which all consumers hold what they held at first, and nothing else."""
    roots = set()
    for consumer, parts in expected.items():
        held = dict(found[consumer])
        (root,) = {OLD, NEW} & held.keys()
        roots.add(root)
        assert held == {root if uuid is None else uuid: part for uuid, part in parts.items()}
    (root,) = roots
    return root


@pytest.mark.thorough
@pytest.mark.spread_over_databases
def test_a_killed_plan_has_written_nothing(site, outsider):
    source, died = random.Random(), 0
    host = outsider.provider("host1", None, STOCK)
    outsider.provider("host2", None, STOCK)
    for _ in range(5):
        outsider.allocate({host: {"VCPU": 1}})
    before = site.rows()
    for _ in range(MOST_STARTS):
        if died == KILLS:
            break
        died += killed(Command(site, "drain", "--host", "host1", "--plan"), source, 1, 0.6)
        assert site.rows() == before
    assert died == KILLS
    assert Command(site, "drain", "--host", "host1", "--plan").end() == 0

"""Commands that are killed at each of their writes, which a proxy counts: the next run completes.

Once the write has not arrived, once it has, and nobody was told. An ordinary run kills at some.
"""

import pytest

from compute.maintenance.devices import RELEASED_DEVICES
from compute.maintenance.journal import entries
from tests.functional.compute.maintenance.adopted import NEW, OLD
from tests.functional.compute.maintenance.counted_kills import killing_at
from tests.functional.compute.maintenance.second_actors import CARD, Cloud
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.usefixtures("forking")

#: of the cloud in which all act
DRIVER = "fake.FakeNUMAReshapeDriver"
#: as many writes as a command here makes, and one more
MOST_WRITES = 8
#: command of the cloud in which all act → how many writes it makes there
WRITES = {"adopt": 6, "migrate": 1, "heal": 2, "heal --force": 1, "audit --delete": 2}
WRITES |= {"release": 1, "sync": 1}


def adopted(site, outsider):
    outsider.provider("host1", None, {"VCPU": {"total": 16, "allocation_ratio": 2.0}}, uuid=OLD)
    guests = [outsider.allocate({OLD: {"VCPU": 8}}) for _ in range(3)]
    lowered = {"total": 8, "reserved": 2, "allocation_ratio": 3.0}
    outsider.set_inventory(OLD, {"VCPU": lowered})

    def check():
        found = outsider.inventory(NEW)
        assert found.keys() == {"VCPU"}
        assert {name: found["VCPU"][name] for name in lowered} == lowered
        assert all(outsider.allocations(guest) == {NEW: {"VCPU": 8}} for guest in guests)
        assert not outsider.exists(OLD)

    return ("adopt_provider", "--name", "host1", "--uuid", NEW), {0}, check


def audited(site, outsider):
    site.remember_a_guest()
    root = site.start_service_once(MediumFakeDriver)
    kept = site.guest()
    outsider.allocate({root: {"VCPU": 1}}, kept)
    leftovers = [outsider.allocate({root: {"VCPU": 1}}) for _ in range(3)]
    journal = site.folder / "journal"

    def check():
        assert outsider.allocations(kept) == {root: {"VCPU": 1}}
        assert all(outsider.allocations(one) == {} for one in leftovers)
        assert {entry["consumer"] for entry in entries(journal)} == {*leftovers}

    return ("audit", "--delete", "--journal", str(journal)), {0, 4}, check


def released(site, outsider):
    root = outsider.provider("host1")
    card = {CARD: {"total": 1, "max_unit": 1, "reserved": 1}}
    cards = [
        outsider.provider(f"host1_{number}", root, card, ["HW_PCI_ONE_TIME_USE"])
        for number in range(3)
    ]
    journal = site.folder / "journal"

    def check():
        assert [outsider.inventory(one)[CARD]["reserved"] for one in cards] == [0] * 3
        assert {entry["device"] for entry in entries(journal, RELEASED_DEVICES)} == {*cards}
        # from what is left of two runs, all of it is back as it was
        assert site.run("devices", "--undo", str(journal)).code == 0
        assert [outsider.inventory(one)[CARD]["reserved"] for one in cards] == [1] * 3

    return ("devices", "--force", "--journal", str(journal), "--release", *cards), {0}, check


def moments(numbers, some):
    """Yield number of a write, and whether it arrives; all but some are for thorough runs."""
    for number in numbers:
        for arrives in (False, True):
            marks = () if (number, arrives) in some else pytest.mark.thorough
            name = f"{number}-{'arrived' if arrives else 'lost'}"
            yield pytest.param(number, arrives, marks=marks, id=name)


def kills_of_scenes():
    """Yield scene, number of a write, and whether it arrives; an ordinary run has one of each."""
    for scene, one in ((adopted, (2, True)), (audited, (0, True)), (released, (1, True))):
        for moment in moments(range(MOST_WRITES), {one}):
            name = f"{moment.id}-{scene.__name__}"
            yield pytest.param(scene, *moment.values, marks=moment.marks, id=name)


@pytest.mark.parametrize(("scene", "number", "arrives"), list(kills_of_scenes()))
def test_the_next_run_completes_what_was_killed(sqlite_site, scene, number, arrives):
    with killing_at(sqlite_site) as killing, sqlite_site.placement() as outsider:
        words, codes, check = scene(sqlite_site, outsider)
        if not killing.at(number, *words, arrives=arrives):
            # it has fewer writes
            assert number >= 3
            check()
            return
        assert sqlite_site.run(*words).code in codes
        check()


def kills():
    """Yield command, number of its write, and whether it arrives.

    An ordinary run kills a healing whose last write hasn't arrived.
    """
    for name, count in WRITES.items():
        for moment in moments(range(count), {(1, False)} if name == "heal" else ()):
            yield pytest.param(name, *moment.values, marks=moment.marks, id=f"{name}-{moment.id}")


@pytest.mark.parametrize(("name", "number", "arrives"), list(kills()))
def test_all_is_mended_after_a_kill_and_an_agent_and_a_scheduler(
    sqlite_site, name, number, arrives
):
    with sqlite_site.placement() as outsider:
        cloud = cloud_before(name, sqlite_site, outsider)
        with killing_at(sqlite_site, DRIVER) as killing:
            assert killing.at(number, *of_service(cloud.commands[name]), arrives=arrives)
            cloud.check_room()
            cloud.check_lives()
            for other in ("agent", "scheduler", *cloud.commands):
                cloud.act(other)
                cloud.check_room()
            cloud.check_mended()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["adopt", "heal"])
def test_the_counted_writes_are_all_there_are(sqlite_site, name):
    with sqlite_site.placement() as outsider:
        cloud = cloud_before(name, sqlite_site, outsider)
        with killing_at(sqlite_site, DRIVER) as killing:
            assert not killing.at(WRITES[name], *cloud.commands[name])


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(8))
def test_a_plan_that_is_killed_at_a_request_has_written_nothing(sqlite_site, number):
    with sqlite_site.placement() as outsider:
        cloud = cloud_before("heal", sqlite_site, outsider)
        with killing_at(sqlite_site, DRIVER) as killing:
            before = sqlite_site.rows()
            assert killing.at(number, *cloud.readers["drain"], reads=True)
            assert sqlite_site.rows() == before
            assert cloud.act("drain") in (0, 3)


def cloud_before(name, site, outsider):
    """Return the cloud in which all act, with all mended that comes before the command."""
    cloud = Cloud(site, outsider)
    for one in cloud.commands:
        if one == name:
            break
        cloud.act(one)
    return cloud


def of_service(words):
    """Return the words of a command that uses the service; one of them does so if told to."""
    return (*words, "--http") if words[0] == "migrate_compute_inventory" else words

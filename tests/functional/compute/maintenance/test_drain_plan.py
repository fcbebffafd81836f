"""The plan that empties a host: first what ends that it is over capacity."""

import pytest

from compute.cli.access import placement_access
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.http_service import described, serving

pytestmark = pytest.mark.spread_over_databases("sqlite")

HOSTILE = "h\x1b[31möst\n"
POOL = "11111111-0000-4000-8000-000000000001"


#: the trait of hosts that nova-compute reports
OWNER = ["OWNER_NOVA"]


def stock(vcpu, memory=65536, reserved=0):
    return {
        "VCPU": {"total": vcpu, "reserved": reserved},
        "MEMORY_MB": {"total": memory},
    }


@pytest.fixture
def outsider(site):
    with site.placement() as outsider:
        yield outsider


@pytest.fixture
def full(outsider):
    """Give name → uuid; `host1` uses 14 of 10 VCPU: guests a (2), b (4), c (8)."""
    found = {"host1": outsider.provider("host1", inventory=stock(16))}
    for name, vcpu in (("a", 2), ("b", 4), ("c", 8)):
        found[name] = outsider.allocate({found["host1"]: {"VCPU": vcpu, "MEMORY_MB": 1024}})
    outsider.set_inventory(found["host1"], stock(10))
    return found


def in_order(found):
    """[(consumer, name of the new host)]"""
    return [(move["consumer"], move["to"]["name"]) for move in found["moves"]]


def test_the_move_that_ends_the_excess_comes_first(site, outsider, full):
    outsider.provider("host2", inventory=stock(20))

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert found.code == 0
    (excess,) = found.json["over_capacity"]
    assert (excess["resource_class"], excess["used"], excess["capacity"]) == ("VCPU", 14, 10)
    assert in_order(found.json) == [
        (full["b"], "host2"),
        (full["c"], "host2"),
        (full["a"], "host2"),
    ]
    assert found.json["mended_after"] == 1
    assert [move["over_capacity_after"] for move in found.json["moves"]] == [0, 0, 0]


def test_the_plan_is_told_for_people(site, outsider, full):
    host2 = outsider.provider("host2", inventory=stock(20), traits=OWNER)
    host3 = outsider.provider("host3", inventory=stock(5), traits=OWNER)
    site.guest(uuid=full["b"])

    ended = site.run("drain", "--host", full["host1"], "--plan", "--over-capacity")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"host1 ({full['host1']}) is over capacity:",
        "  host1: 14 VCPU used of 10, 4 too many",
        "Moves that can be made in this order:",
        f"  1. {full['b']} (instance on host1): 1024 MEMORY_MB, 4 VCPU",
        f"     to host2 ({host2}); 1 other host would do",
        "  After this move nothing is over capacity.",
    ]
    assert host3 not in ended.out


def test_moves_of_the_plan_take_room_from_those_after_them(site, outsider, full):
    outsider.provider("host2", inventory=stock(8))
    outsider.provider("host3", inventory=stock(4))

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert found.code == 3
    assert in_order(found.json) == [(full["b"], "host3"), (full["c"], "host2")]
    (unfit,) = found.json["unfit"]
    assert (unfit["consumer"], unfit["reason"]) == (
        full["a"],
        "the moves before it in this plan take the room",
    )


def test_every_move_can_be_made_in_the_order_of_the_plan(site, outsider, full):
    """What the plan says is written move by move: placement refuses none of it."""
    for number in range(2, 6):
        outsider.provider(f"host{number}", inventory=stock(5 if number < 5 else 9))

    found = site.run("drain", "--host", "host1", "--plan", "--json").json

    assert len(found["moves"]) == 3
    for move in found["moves"]:
        outsider.allocate(
            {uuid: part["resources"] for uuid, part in move["allocations"].items()},
            move["consumer"],
        )
    assert site.run("drain", "--host", "host1", "--plan").out == (
        f"Nothing of host1 ({full['host1']}) is over capacity.\nNobody holds anything there.\n"
    )


def test_a_host_that_is_over_capacity_takes_nothing_more(site, outsider, full):
    """It is over capacity in memory only; the processors that are asked for it would have."""
    other = outsider.provider("host2", inventory=stock(64) | {"DISK_GB": {"total": 100}})
    outsider.allocate({other: {"DISK_GB": 90}})
    outsider.set_inventory(other, stock(64) | {"DISK_GB": {"total": 50}})

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert (found.code, found.json["moves"]) == (3, [])
    assert {one["reason"] for one in found.json["unfit"]} == {
        "only hosts that are over capacity themselves have room for it"
    }


def test_a_disabled_host_takes_nothing_new(site, outsider, full):
    outsider.provider("host2", inventory=stock(64), traits=["COMPUTE_STATUS_DISABLED"])

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert (found.code, found.json["moves"]) == (3, [])


def test_who_fits_nowhere_is_told_why(site, outsider, full):
    outsider.provider("host2", inventory=stock(3))

    ended = site.run("drain", "--host", "host1", "--plan", "--over-capacity")

    assert (ended.code, ended.err) == (3, "")
    assert "No moves that are possible now end what is over capacity." in ended.out
    assert "2 trees: " in ended.out
    assert "short of VCPU 4 (nearest: host2 has 3)" in ended.out


def test_small_moves_mend_when_large_ones_find_no_place(site, outsider):
    host = outsider.provider("host1", inventory=stock(16))
    small = {outsider.allocate({host: {"VCPU": 2}}) for _ in range(3)}
    large = outsider.allocate({host: {"VCPU": 8}})
    outsider.set_inventory(host, stock(10))
    outsider.provider("host2", inventory=stock(4))

    found = site.run("drain", "--host", "host1", "--plan", "--over-capacity", "--json")

    assert (found.code, found.json["mended_after"]) == (0, 2)
    assert {consumer for consumer, _ in in_order(found.json)} < small
    assert large in [one["consumer"] for one in found.json["unfit"]] or not found.json["unfit"]


def test_a_migration_in_progress_stays(site, outsider, full):
    outsider.provider("host2", inventory=stock(64))
    outsider.allocate(
        {full["host1"]: {"VCPU": 4, "MEMORY_MB": 1024}}, full["b"], consumer_type="MIGRATION"
    )

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert found.code == 3
    assert [one["consumer"] for one in found.json["staying"]] == [full["b"]]
    assert found.json["mended_after"] == 1
    assert in_order(found.json)[0][0] == full["c"]


def test_cells_and_shared_storage_move_with_their_consumer(site, outsider):
    def host(name):
        root = outsider.provider(name, aggregates=[POOL])
        return root, [
            outsider.provider(f"{name}_numa{number}", root, stock(4)) for number in (0, 1)
        ]

    _, (first, second) = host("host1")
    pool = outsider.provider(
        "pool",
        inventory={"DISK_GB": {"total": 100}},
        traits=["MISC_SHARES_VIA_AGGREGATE"],
        aggregates=[POOL],
    )
    there, cells = host("host2")
    guest = outsider.allocate({first: {"VCPU": 3}, second: {"VCPU": 2}, pool: {"DISK_GB": 10}})
    outsider.set_inventory(first, stock(2))

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert found.code == 0
    (move,) = found.json["moves"]
    assert (move["consumer"], move["to"]["uuid"]) == (guest, there)
    held = {uuid: part["resources"] for uuid, part in move["allocations"].items()}
    assert held.pop(pool) == {"DISK_GB": 10}
    assert sorted(held) == sorted(cells)


def test_a_device_for_one_use_is_not_over_capacity(site, outsider):
    root = outsider.provider("host1", inventory=stock(8))
    card = {"CUSTOM_CARD": {"total": 1}}
    device = outsider.provider("host1_card", root, card, ["HW_PCI_ONE_TIME_USE"])
    outsider.allocate({root: {"VCPU": 1}, device: {"CUSTOM_CARD": 1}})
    outsider.set_inventory(device, {"CUSTOM_CARD": {"total": 1, "reserved": 1}})

    found = site.run("drain", "--host", "host1", "--plan", "--over-capacity", "--json")

    assert (found.code, found.json["over_capacity"], found.json["moves"]) == (0, [], [])


@pytest.mark.parametrize("first", ["0", "f"])
def test_more_candidates_than_the_limit_are_asked_for_if_the_first_are_taken(
    site, outsider, full, first
):
    """The largest host is the first of all candidates, or the last."""
    site.configure(more="[scheduler]\nmax_placement_results = 1\n")
    outsider.provider("host5", inventory=stock(8), uuid=f"{first * 8}-0000-4000-8000-000000000005")
    for number in range(2, 5):
        uuid = f"{number}{'a' * 7}-0000-4000-8000-00000000000{number}"
        outsider.provider(f"host{number}", inventory=stock(4), uuid=uuid)

    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert (found.code, len(found.json["moves"])) == (0, 3)


@pytest.fixture
def on_the_database_itself(monkeypatch):
    """Have commands that only read use no copy of SQLite, which hides what others do meanwhile."""
    opened = placement_access.opened
    monkeypatch.setattr(
        placement_access,
        "opened",
        lambda conf, arguments, way, read_only=False: opened(conf, arguments, way),
    )


@pytest.mark.usefixtures("on_the_database_itself")
def test_a_consumer_that_leaves_meanwhile_is_left_out(site, outsider, full, monkeypatch):
    outsider.provider("host2", inventory=stock(20))
    get, left = Transport.get, [full["b"]]

    def meet(client, url, *args, **kwargs):
        if url == f"/allocations/{full['b']}" and left:
            outsider.call("DELETE", f"/allocations/{left.pop()}")
        return get(client, url, *args, **kwargs)

    monkeypatch.setattr(Transport, "get", meet)
    found = site.run("drain", "--host", "host1", "--plan", "--json")

    assert (found.code, found.json["over_capacity"]) == (0, [])
    assert full["b"] not in found.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--host", "host1"), 127), (("--plan", "--host", "nowhere"), 2)],
    ids=["no plan", "no host"],
)
def test_what_cannot_be_planned_is_told(site, full, arguments, code):
    ended = site.run("drain", *arguments)

    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)


def test_nothing_is_written_and_a_service_without_extensions_plans_the_same(
    site, outsider, full, monkeypatch
):
    outsider.provider(HOSTILE, inventory=stock(20))
    before = site.rows()
    by_database = site.run("drain", "--host", "host1", "--plan")
    assert "\x1b" not in by_database.out
    monkeypatch.setenv("OS_BERTH__EXTENSIONS", "false")
    with serving(site.url, roles=["admin", "service"]) as url:
        site.configure(more=described(url))
        assert site.run("drain", "--host", "host1", "--plan", "--http") == by_database
    assert site.rows() == before


def test_a_placement_of_an_older_release_plans_the_same(site, outsider, full, monkeypatch):
    """Wallaby's knows the microversions up to 1.36."""
    outsider.provider("host2", inventory=stock(20), traits=OWNER)
    site.guest(uuid=full["b"])
    before = site.run("drain", "--host", "host1", "--plan")
    get = Transport.get

    def get_of_wallaby(client, url, version=None, global_request_id=None):
        known = version is None or int(version.removeprefix("1.")) <= 36
        return get(client, url, version if known else "1.99", global_request_id)

    monkeypatch.setattr(Transport, "get", get_of_wallaby)
    assert before.code == 0
    assert site.run("drain", "--host", "host1", "--plan") == before


def test_a_host_that_is_drained_is_not_over_capacity(sqlite_site):
    with sqlite_site.placement() as outsider:
        root = outsider.provider("host1", None, {"VCPU": {"total": 8}})
        outsider.provider("host2", None, {"VCPU": {"total": 8}})
        outsider.allocate({root: {"VCPU": 2}})
        outsider.set_inventory(root, {"VCPU": {"total": 8, "reserved": 8}})
    ended = sqlite_site.run("drain", "--host", "host1", "--plan", "--json")
    assert (ended.code, ended.json["drained"], ended.json["over_capacity"]) == (0, True, [])
    assert len(ended.json["moves"]) == 1
    told = sqlite_site.run("drain", "--host", "host1", "--plan", "--over-capacity")
    assert (told.code, told.out) == (0, f"host1 ({root}) is drained: all of it is reserved.\n")

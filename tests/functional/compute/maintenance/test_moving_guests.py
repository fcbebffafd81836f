"""Guests that move ask as their flavors say: evacuable, make_room, survives, drain --plan."""

import pytest

from compute.records.instance import Flavor
from compute.report.wire.transport import Transport
from tests.offenders import assert_each

OWNER = ["OWNER_NOVA"]
SHARE = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}
COMMANDS = (
    ("evacuable", "host1"),
    ("survives", "--lost", "host1"),
    ("make_room", "--query", "resources=VCPU:1"),
    ("drain", "--host", "host1", "--plan"),
)


def stock(**classes):
    return {
        name: {"total": n} for name, n in ({"MEMORY_MB": 4096, "DISK_GB": 50} | classes).items()
    }


@pytest.fixture
def outsider(sqlite_site):
    with sqlite_site.placement() as outsider:
        outsider.host = outsider.provider("host1", inventory=stock(VCPU=16, PCPU=16), traits=OWNER)
        yield outsider


@pytest.fixture
def guest(sqlite_site, outsider):
    """Return a function that records a guest with these extra specs; it holds what it is given."""

    def made(held=SHARE, task=None, **specs):
        named = {name.replace("__", ":"): value for name, value in specs.items()}
        flavor = Flavor(2, 512, 1, extra_specs=named)
        uuid = sqlite_site.guest(flavor=flavor, task_state=task)
        outsider.allocate({outsider.host: held}, uuid)
        return uuid

    return made


def homes(site):
    """Return the uuids of the hosts that guests of host1 go to."""
    ended = site.run("evacuable", "host1", "--moves", "-f", "json")
    assert ended.err == ""
    return {move["root"] for move in ended.json["moves"].values()}


def test_evacuable_goes_where_the_traits_are_that_the_flavor_requires(sqlite_site, outsider, guest):
    uuid = guest(trait__CUSTOM_GOLD="required")
    outsider.provider("plain", inventory=stock(VCPU=64), traits=OWNER)
    golden = outsider.provider("golden", inventory=stock(VCPU=4), traits=["CUSTOM_GOLD", *OWNER])

    assert homes(sqlite_site) == {golden}
    outsider.allocate({golden: {"VCPU": 4}})
    ended = sqlite_site.run("evacuable", "host1")
    assert (ended.code, ended.err) == (3, "")
    assert f"{uuid} (instance on host1)\n    0 of 3 trees" in ended.out
    assert "CUSTOM_GOLD" in ended.out
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_evacuable_takes_groups_of_a_flavor_from_one_provider_each(sqlite_site, outsider, guest):
    guest(resources1__VCPU="2", resources2__MEMORY_MB="512", group_policy="isolate")
    outsider.provider("flat", inventory=stock(VCPU=64), traits=OWNER)
    cells = outsider.provider("cells", inventory={"DISK_GB": {"total": 9}}, traits=OWNER)
    for number in (0, 1):
        outsider.provider(
            f"cell{number}", cells, {"VCPU": {"total": 2}, "MEMORY_MB": {"total": 512}}
        )
    assert homes(sqlite_site) == {cells}


def test_a_guest_asks_for_the_kind_of_processors_that_it_has(sqlite_site, outsider, guest):
    """Nova asks twice for dedicated ones; a question has one request of each guest."""
    specs = {"hw__cpu_policy": "dedicated", "trait__CUSTOM_GOLD": "required"}
    guest({"PCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}, **specs)
    gold = ["CUSTOM_GOLD", *OWNER]
    outsider.provider("plain", inventory=stock(PCPU=4), traits=OWNER)
    own = outsider.provider("own", inventory=stock(PCPU=2), traits=gold)
    shared = outsider.provider("shared", inventory=stock(VCPU=2), traits=gold)

    assert homes(sqlite_site) == {own}
    guest(**specs)
    assert homes(sqlite_site) == {own, shared}
    ended = sqlite_site.run("evacuable", "host1")
    assert "2 guests have dedicated processors" in ended.out.replace("\n", " ")


@pytest.mark.parametrize("words", COMMANDS[:2])
def test_what_a_guest_holds_beside_its_flavor_is_asked_for(sqlite_site, outsider, guest, words):
    card = outsider.provider("card", outsider.host, {"CUSTOM_CARD": {"total": 1}})
    uuid = guest()
    outsider.allocate({outsider.host: SHARE, card: {"CUSTOM_CARD": 1}}, uuid)
    other = outsider.provider("other", inventory=stock(VCPU=64), traits=OWNER)
    assert sqlite_site.run(*words).code == 3

    outsider.provider("its card", other, {"CUSTOM_CARD": {"total": 1}})
    assert sqlite_site.run(*words).code == 0


def test_a_move_to_make_room_leaves_no_card_behind(sqlite_site, outsider, guest):
    """The other host has the processors that the guest asks for, and no card."""
    card = outsider.provider("card", outsider.host, {"CUSTOM_CARD": {"total": 1}})
    uuid = guest()
    outsider.allocate({outsider.host: SHARE, card: {"CUSTOM_CARD": 1}}, uuid)
    outsider.provider("other", inventory=stock(VCPU=4), traits=OWNER)

    ended = sqlite_site.run("make_room", "--query", "resources=VCPU:16", "-f", "json")

    assert (ended.code, ended.json["verdict"]) == (3, "impossible")


def test_a_guest_that_is_worked_on_asks_for_what_it_holds(sqlite_site, outsider, guest):
    """Its flavor may be the one that it has before, or after, a resize."""
    guest({"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}, task="resize_prep")
    other = outsider.provider("other", inventory=stock(VCPU=1))
    assert homes(sqlite_site) == {other}


#: extra specs of which placement would refuse the request
REFUSED = {
    "no trait": {"trait__CUSTOM_GONE": "required"},
    "no name": {"trait__custom gone": "required"},
    "no class": {"resources__CUSTOM_GONE": "1"},
    "half a class": {"resources1__CUSTOM_": "1"},
    "trait alone": {"trait1__HW_CPU_X86_AVX": "required"},
    "conflict": {
        "trait__HW_CPU_HYPERTHREADING": "forbidden",
        "hw__cpu_thread_policy": "require",
    },
    "no policy": {"resources1__VCPU": "1", "resources2__VCPU": "1"},
    "too much": {"resources__VCPU": "99999999999"},
    "too long": {f"resources{'x' * 60}{number}__VCPU": "1" for number in range(1000)}
    | {"group_policy": "none"},
}


def test_a_guest_that_placement_would_refuse_spoils_nothing(sqlite_site, outsider, guest):
    """It asks for what it holds; a guest beside it still asks as its flavor says."""
    held = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}
    for specs in REFUSED.values():
        guest(held, **specs)
    guest(trait__CUSTOM_GOLD="required")
    outsider.provider("golden", inventory=stock(VCPU=2), traits=["CUSTOM_GOLD", *OWNER])
    outsider.provider("plain", inventory=stock(VCPU=len(REFUSED)), traits=OWNER)

    def check(*words):
        ended = sqlite_site.run(*words)
        assert (ended.code, ended.err) == (0, "")
        if words[0] != "drain":
            told = f"What {len(REFUSED)} guests ask for isn't certain"
            assert told in ended.out.replace("\n", " ")

    assert_each({words[0]: words for words in COMMANDS}, check)


def test_a_placement_without_plans_is_told_before_guests_are_looked_at(
    sqlite_site, guest, monkeypatch
):
    """It would be asked for one guest after the other, and thousands may be on hosts."""
    guest()
    monkeypatch.setenv("OS_BERTH__EXTENSIONS", "false")
    asked = []
    get = Transport.get

    def noting(client, url, *args, **kwargs):
        asked.append(url)
        return get(client, url, *args, **kwargs)

    monkeypatch.setattr(Transport, "get", noting)
    for words in COMMANDS[:3]:
        ended = sqlite_site.run(*words)
        assert (ended.code, "Placement doesn't offer this" in ended.err) == (1, True)
        assert [url for url in asked if "/allocations" in url] == []

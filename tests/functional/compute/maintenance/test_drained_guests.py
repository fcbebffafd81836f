"""A plan that drains a host asks for guests of the records as nova's scheduler will ask."""

import pytest

from compute.records.instance import Flavor
from tests.functional.compute.maintenance.test_moving_guests import OWNER, SHARE, stock


@pytest.fixture
def outsider(sqlite_site):
    with sqlite_site.placement() as outsider:
        outsider.host = outsider.provider("host1", inventory=stock(VCPU=16), traits=OWNER)
        yield outsider


@pytest.fixture
def guest(sqlite_site, outsider):
    """Return a function that records a guest with these extra specs; it holds what it is given."""

    def made(held=SHARE, **specs):
        named = {name.replace("__", ":"): value for name, value in specs.items()}
        uuid = sqlite_site.guest(flavor=Flavor(2, 512, 1, extra_specs=named))
        return outsider.allocate({outsider.host: held}, uuid)

    return made


def targets(site):
    """[(name of the new host, how many others would do)] of each move"""
    ended = site.run("drain", "--host", "host1", "--plan", "--json").json
    return [(move["to"]["name"], len(move["others"])) for move in ended["moves"]]


def test_they_go_where_the_traits_are_that_the_flavor_requires(sqlite_site, outsider, guest):
    guest(trait__CUSTOM_GOLD="required")
    outsider.provider("plain", inventory=stock(VCPU=64), traits=OWNER)
    outsider.provider("golden", inventory=stock(VCPU=4), traits=["CUSTOM_GOLD", *OWNER])
    assert targets(sqlite_site) == [("golden", 0)]


def test_a_host_that_has_no_compute_service_takes_none(sqlite_site, outsider, guest):
    guest()
    outsider.provider("storage", inventory=stock(VCPU=64))
    assert targets(sqlite_site) == []


def test_pinned_ones_go_to_hosts_with_pcpu_and_to_those_without(sqlite_site, outsider, guest):
    guest(hw__cpu_policy="dedicated")
    outsider.provider("with", inventory=stock(PCPU=4), traits=OWNER)
    outsider.provider("without", inventory=stock(VCPU=4), traits=OWNER)
    ((_, others),) = targets(sqlite_site)
    assert others == 1


def test_groups_of_a_flavor_come_from_one_provider_each(sqlite_site, outsider, guest):
    guest(SHARE, resources1__VCPU="2", resources2__MEMORY_MB="512", group_policy="isolate")
    outsider.provider("flat", inventory=stock(VCPU=64), traits=OWNER)
    root = outsider.provider("cells", inventory={"DISK_GB": {"total": 9}}, traits=OWNER)
    for number in (0, 1):
        outsider.provider(
            f"cell{number}", root, {"VCPU": {"total": 2}, "MEMORY_MB": {"total": 512}}
        )
    assert targets(sqlite_site) == [("cells", 0)]


def test_what_they_hold_beside_their_flavor_is_asked_for_too(sqlite_site, outsider, guest):
    card = outsider.provider("card", outsider.host, {"CUSTOM_CARD": {"total": 1}})
    uuid = guest()
    outsider.allocate({outsider.host: SHARE, card: {"CUSTOM_CARD": 1}}, uuid)
    outsider.provider("plain", inventory=stock(VCPU=64), traits=OWNER)
    other = outsider.provider("carded", inventory=stock(VCPU=4), traits=OWNER)
    outsider.provider("its card", other, {"CUSTOM_CARD": {"total": 1}})
    assert targets(sqlite_site) == [("carded", 0)]


def test_one_whose_flavor_nova_would_refuse_is_asked_for_with_what_it_holds(
    sqlite_site, outsider, guest
):
    guest(hw__tpm_version="3")
    outsider.provider("plain", inventory=stock(VCPU=4))
    assert targets(sqlite_site) == [("plain", 0)]

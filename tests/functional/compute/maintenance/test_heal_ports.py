"""`heal_allocations` of instances whose ports ask for bandwidth (compute.md §7.2)."""

from uuid import uuid4

import pytest

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.report import SchedulerReportClient
from tests.functional.compute.maintenance.network import Network, serving
from tests.functional.compute.maintenance.site import HOST
from virt.fake import MediumFakeDriver

BANDWIDTH = "NET_BW_EGR_KILOBIT_PER_SEC"
FIRST, SECOND = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))
ASKED = {"resources": {BANDWIDTH: 1000}, "required": ["CUSTOM_PHYSNET_A"]}


class Scene:
    """A host with one card, an instance with a port, and a network service."""

    def __init__(self, site, network):
        self.site = site
        self.network = network
        self.root = site.started(MediumFakeDriver)
        self.card = self.add_card("card")
        self.instance = self.add_instance(Flavor(vcpus=1))
        network.port(FIRST, self.instance, ASKED)

    def add_card(self, name):
        with self.site.placement() as outsider:
            return outsider.provider(
                name, self.root, {BANDWIDTH: {"total": 5000}}, ["CUSTOM_PHYSNET_A"]
            )

    def add_instance(self, flavor):
        instance = Instance(
            str(uuid4()), host=HOST, node=HOST, project_id="p", user_id="u", flavor=flavor
        )
        with self.site.cell() as cell:
            cell.instances.create(instance)
        return instance.uuid

    def held(self):
        with self.site.placement() as outsider:
            return outsider.allocations(self.instance)

    def takes_all_meanwhile(self, method, port, body):
        """Refuse nothing; but when a port is written, the host loses its processors."""
        if method == "PUT" and not self.network.updates:
            with self.site.placement() as outsider:
                outsider.set_inventory(self.root, {"MEMORY_MB": {"total": 1}})
        return False

    def run(self, *flags):
        return self.site.run("heal_allocations", "--database", *flags)


@pytest.fixture
def scene(sqlite_site):
    network = Network()
    with serving(network) as described:
        scene = Scene(sqlite_site, network)
        sqlite_site.configure(more=described)
        yield scene


def test_what_a_port_asks_for_is_placed_and_the_port_says_where(scene):
    ended = scene.run()
    assert (ended.code, ended.err) == (0, "")
    assert scene.held() == {scene.root: {"VCPU": 1}, scene.card: {BANDWIDTH: 1000}}
    assert scene.network.profile(FIRST) == {"kept": "as it was", "allocation": scene.card}


def test_a_port_with_groups_says_for_each_where(scene):
    group = str(uuid4())
    scene.network.ports[FIRST]["resource_request"] = {
        "request_groups": [{"id": group, **ASKED}],
        "same_subtree": [group],
    }
    assert scene.run().code == 0
    assert scene.network.profile(FIRST)["allocation"] == {group: scene.card}


def test_what_is_there_is_added_to(scene):
    with scene.site.placement() as outsider:
        outsider.allocate({scene.root: {"VCPU": 3}}, consumer=scene.instance)
    assert scene.run().code == 0
    assert scene.held() == {scene.root: {"VCPU": 3}, scene.card: {BANDWIDTH: 1000}}


def test_what_a_killed_run_told_the_port_and_did_not_write_is_written(scene):
    with scene.site.placement() as outsider:
        outsider.allocate({scene.root: {"VCPU": 3}}, consumer=scene.instance)
    scene.network.profile(FIRST)["allocation"] = scene.card
    assert scene.run("--dry-run").code == 4
    assert scene.run().code == 0
    assert scene.held() == {scene.root: {"VCPU": 3}, scene.card: {BANDWIDTH: 1000}}
    assert scene.run().code == 4


def test_a_port_of_another_host_while_the_instance_moves_is_left_alone(scene):
    scene.run()
    scene.network.profile(FIRST)["allocation"] = str(uuid4())
    assert scene.run().code == 4
    assert scene.held() == {scene.root: {"VCPU": 1}, scene.card: {BANDWIDTH: 1000}}


class TestAllocationsThatAreLost:
    """Somebody removed them; the port still says where it got its own."""

    @pytest.fixture
    def lost(self, scene):
        scene.run()
        scene.network.updates.clear()
        with scene.site.placement() as outsider:
            outsider.call("DELETE", f"/allocations/{scene.instance}")
        return scene

    def test_come_back_with_the_port_s_where_it_had_them(self, lost):
        # now there would be two ways to place it
        lost.add_card("other card")
        assert lost.run().code == 0
        assert lost.held() == {lost.root: {"VCPU": 1}, lost.card: {BANDWIDTH: 1000}}
        assert lost.network.updates == []

    def test_come_back_with_those_of_a_port_with_groups(self, lost):
        group = str(uuid4())
        lost.network.ports[FIRST]["resource_request"] = {"request_groups": [{"id": group, **ASKED}]}
        lost.network.profile(FIRST)["allocation"] = {group: lost.card}
        assert lost.run().code == 0
        assert lost.held() == {lost.root: {"VCPU": 1}, lost.card: {BANDWIDTH: 1000}}

    def test_are_placed_anew_if_the_port_s_were_of_another_host(self, lost):
        lost.network.profile(FIRST)["allocation"] = str(uuid4())
        assert lost.run().code == 0
        assert lost.held() == {lost.root: {"VCPU": 1}, lost.card: {BANDWIDTH: 1000}}
        assert lost.network.profile(FIRST)["allocation"] == lost.card

    def test_leave_the_port_as_it_was_if_placement_refuses(self, lost):
        before = lost.network.profile(FIRST)["allocation"] = str(uuid4())
        lost.network.refuse = lost.takes_all_meanwhile
        assert (lost.run().code, lost.held()) == (3, {})
        assert lost.network.profile(FIRST)["allocation"] == before

    def test_are_3_if_the_node_s_tree_can_not_be_read(self, lost, monkeypatch):
        def refuse(*args):
            raise exceptions.ResourceProviderRetrievalFailed(uuid=lost.root)

        monkeypatch.setattr(SchedulerReportClient, "get_providers_in_tree", refuse)
        assert (lost.run().code, lost.held()) == (3, {})

    def test_leave_the_port_s_out_if_told_so(self, lost):
        assert lost.run("--skip-port-allocations").code == 0
        assert lost.held() == {lost.root: {"VCPU": 1}}


def test_by_force_the_flavor_s_replace_all_but_the_port_s(scene):
    scene.run()
    with scene.site.placement() as outsider:
        held = {scene.root: {"VCPU": 7}, scene.card: {BANDWIDTH: 1000}}
        outsider.allocate(held, consumer=scene.instance)
    assert scene.run("--instance", scene.instance, "--force").code == 0
    assert scene.held() == {scene.root: {"VCPU": 1}, scene.card: {BANDWIDTH: 1000}}


def test_a_second_run_changes_nothing(scene):
    scene.run()
    scene.network.updates.clear()
    assert (scene.run().code, scene.network.updates) == (4, [])


def test_ports_can_be_left_out(scene):
    assert scene.run("--skip-port-allocations").code == 0
    assert scene.held() == {scene.root: {"VCPU": 1}}
    assert scene.network.updates == []


def test_a_dry_run_tells_and_leaves_the_ports(scene):
    ended = scene.run("--dry-run")
    assert (ended.code, f'"{BANDWIDTH}": 1000' in ended.out) == (4, True)
    assert (scene.held(), scene.network.updates) == ({}, [])


@pytest.mark.parametrize("candidates", [0, 2])
def test_where_there_is_not_just_one_way_it_is_3(scene, candidates):
    if candidates:
        scene.add_card("other card")
    else:
        scene.network.ports[FIRST]["resource_request"] = {"resources": {BANDWIDTH: 9000}}
    ended = scene.run()
    assert (ended.code, f"there are {candidates} candidates" in ended.err) == (3, True)
    assert (scene.held(), scene.network.updates) == ({}, [])


def test_ports_that_can_not_be_read_are_5(scene):
    scene.network.refuse = lambda method, port, body: method == "GET"
    ended = scene.run()
    assert (ended.code, "Unable to query ports" in ended.err) == (5, True)
    assert scene.held() == {}


def test_a_port_that_can_not_be_updated_is_6_and_the_others_are_set_back(scene):
    scene.network.port(SECOND, scene.instance, ASKED)
    scene.network.refuse = lambda method, port, body: (method, port) == ("PUT", SECOND)
    ended = scene.run()
    assert (ended.code, scene.held()) == (6, {})
    assert scene.network.profile(FIRST) == {"kept": "as it was"}


def test_ports_are_set_back_if_placement_refuses(scene):
    scene.network.refuse = scene.takes_all_meanwhile
    ended = scene.run("--instance", scene.instance)
    assert (ended.code, scene.network.updates) == (3, [FIRST, FIRST])
    assert scene.network.profile(FIRST) == {"kept": "as it was"}


def test_ports_that_can_not_be_set_back_are_7(scene):

    def refuse(method, port, body):
        return scene.takes_all_meanwhile(method, port, body) or bool(scene.network.updates)

    scene.network.refuse = refuse
    ended = scene.run("--instance", scene.instance)
    assert (ended.code, FIRST in ended.err) == (7, True)


def test_a_network_service_that_is_configured_badly_is_127(sqlite_site):
    sqlite_site.started(MediumFakeDriver)
    sqlite_site.configure(more="[neutron]\nauth_type = unheard-of\n")
    ended = sqlite_site.run("heal_allocations")
    assert (ended.code, "Group [neutron]" in ended.err) == (127, True)

"""Hosts with several nodes: what one node does never waits for another (compute.md §5.6)."""

import threading
from uuid import uuid4

import pytest
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.records.instance import Flavor, Instance
from compute.report.wire.context import admin_context
from tests.patience import PATIENCE
from virt.fake import FakeMultiNodeDriver

SHARES = "MISC_SHARES_VIA_AGGREGATE"


class ManyNodesDriver(FakeMultiNodeDriver):
    """Twelve nodes."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf, [f"{conf.host}-{n:02}" for n in range(12)])


@pytest.fixture
def many(host):
    host.start(ManyNodesDriver)
    host.uuids = {
        node.hypervisor_hostname: node.uuid for node in host.cell.compute_nodes.by_host(host.name)
    }
    return host


def test_all_nodes_are_updated_some_of_them_at_the_same_time(many, outsider):
    assert many.outcome.updated == sorted(many.uuids)
    assert all(outsider.totals(uuid)["VCPU"] == 10 for uuid in many.uuids.values())


def test_an_idle_update_of_all_nodes_sends_nothing(many):
    many.adapter.requests.clear()
    many.update()
    many.update()
    assert many.adapter.requests == []


def test_a_claim_on_one_node_does_not_wait_for_anothers_update(many):
    first, second, *_ = sorted(many.uuids)
    blocked, go_on = threading.Event(), threading.Event()

    def block(method, url):
        if method == "PUT" and many.uuids[first] in url:
            blocked.set()
            assert go_on.wait(PATIENCE)

    many.driver.vcpus = 20
    many.adapter.before = block
    rt = many.manager.rt
    update = threading.Thread(target=rt.update_available_resource, args=[admin_context(), first])
    update.start()
    try:
        assert blocked.wait(PATIENCE)
        instance = Instance(flavor=Flavor(vcpus=1))
        rt.instance_claim(
            admin_context(), instance, second, {"elsewhere": {"resources": {"VCPU": 1}}}
        )
        still_blocked = update.is_alive()
    finally:
        go_on.set()
        update.join()
    assert (still_blocked, instance.node) == (True, second)


def test_nothing_is_lost_when_others_make_the_client_forget_everything(many, outsider):
    client = many.manager.reportclient
    stop = threading.Event()

    def forget():
        while not stop.wait(0.001):
            client.clear_provider_cache(init=True)

    forgetting = threading.Thread(target=forget)
    many.driver.vcpus = 20
    # It is forgotten all the while, so an update that tried for a minute would gain nothing.
    many.conf.set_override("conflict_retry_time", 0, "berth")
    forgetting.start()
    try:
        outcome = many.update()
    finally:
        stop.set()
        forgetting.join()
    worth_a_retry = (exceptions.ResourceProviderUpdateConflict,)
    assert all(isinstance(failure, worth_a_retry) for failure in outcome.failures.values())
    assert many.update().failures == {}
    assert {outsider.totals(uuid)["VCPU"] for uuid in many.uuids.values()} == {20}


def test_nodes_that_share_a_provider_are_updated_side_by_side(many, outsider):
    aggregate = str(uuid4())
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 100}}, traits=[SHARES], aggregates=[aggregate]
    )
    for uuid in many.uuids.values():
        outsider.set_aggregates(uuid, [aggregate])
    many.manager.reset()
    outcome = many.update()
    trees = [node.tree for node in many.manager.rt._nodes.all()]
    assert outcome.failures == {}
    assert all(tree.data(pool).inventory["DISK_GB"]["total"] == 100 for tree in trees)


def test_after_a_fatal_failure_no_node_is_begun_but_those_under_way(many):
    begun = []

    def need(tree, nodename, **kwargs):
        begun.append(nodename)
        raise exceptions.ReshapeNeeded()

    many.driver.update_provider_tree = need
    many.conf.set_override("parallel_node_updates", 2, group="berth")
    with pytest.raises(exceptions.ReshapeNeeded):
        many.update()
    assert 1 <= len(begun) <= 2


def test_a_node_whose_providers_could_not_be_deleted_is_deleted_by_the_next_update(many, outsider):
    gone = sorted(many.uuids)[0]
    many.driver.drop_node(gone, deleted=True)

    def lost(method, url):
        if method == "DELETE":
            raise ConnectFailure("gone")

    many.adapter.before = lost
    many.update()
    before = outsider.exists(many.uuids[gone])
    many.adapter.before = None
    many.update()
    assert (before, outsider.exists(many.uuids[gone])) == (True, False)
    assert many.cell.compute_nodes.by_host_and_node(many.name, gone) is None


def test_deleting_the_service_deletes_all_its_nodes_and_their_allocations(many, outsider):
    consumers = [outsider.allocate({uuid: {"VCPU": 1}}) for uuid in many.uuids.values()]
    many.manager.delete_service(admin_context())
    assert not any(outsider.exists(uuid) for uuid in many.uuids.values())
    assert all(outsider.allocations(consumer) == {} for consumer in consumers)
    assert many.cell.services.by_host(many.name) is None
    assert many.cell.compute_nodes.by_host(many.name) == []

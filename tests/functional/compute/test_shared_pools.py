"""Writers who meet at a provider that their nodes share: each one's change gets to placement.

Nodes of one service, whose updates run side by side and remember placement together, services of
other hosts, and others. Whoever is late reads the pool again and writes what is missing.
"""

import contextlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
import requests

from compute import config, exceptions
from compute.report.wire.context import admin_context
from compute.resource_tracker.reporting.patience import ATTEMPTS
from tests.functional.compute.compute_host import ComputeHost, FreshPairDriver, nodes_uuid
from tests.patience import PATIENCE

SHARES = "MISC_SHARES_VIA_AGGREGATE"


class PoolDriver(FreshPairDriver):
    """Has each node that was told to give the pool something of its own: `gives` says what.

    `met` is called with the node's name after the node edited its tree.
    """

    gives = None
    pool = None

    def met(self, nodename):
        """Wait for nobody."""

    def update_provider_tree(self, tree, nodename, allocations=None):
        super().update_provider_tree(tree, nodename, allocations)
        if self.gives is not None and tree.exists(self.pool):
            self.gives(tree, self.pool, nodename)
        self.met(nodename)


def gives_traits(tree, pool, nodename):
    tree.add_traits(pool, trait_of(nodename))


def gives_inventory(tree, pool, nodename):
    inventory = tree.data(pool).inventory
    tree.update_inventory(pool, {**inventory, trait_of(nodename): {"total": 3}})


def gives_aggregates(tree, pool, nodename):
    tree.add_aggregates(pool, aggregate_of(nodename))


class AnotherPoolDriver(PoolDriver):
    """Has one node, whose name begins with another letter."""

    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf)
        self._set_nodes([f"z-{conf.host}"])


def trait_of(nodename):
    return f"CUSTOM_OF_{nodename[0].upper()}"


def aggregate_of(nodename):
    return f"{ord(nodename[0]):08x}-1111-4111-8111-111111111111"


def all_of(outsider, pool):
    """Return the names of everything the pool has."""
    return {*outsider.traits(pool), *outsider.totals(pool), *outsider.aggregates(pool)}


def names_of(gives, nodename):
    return aggregate_of(nodename) if gives is gives_aggregates else trait_of(nodename)


def by_node(host):
    return sorted(host.driver.get_available_nodes())


ALL_KINDS = pytest.mark.parametrize("gives", [gives_traits, gives_inventory, gives_aggregates])


@pytest.fixture
def pair(host, outsider):
    """Return a host whose two nodes have read a pool that both share."""
    host.start(PoolDriver)
    host.aggregate = str(uuid4())
    for name in by_node(host):
        outsider.set_aggregates(nodes_uuid(host, name), [host.aggregate])
    host.pool = outsider.provider(
        inventory={"DISK_GB": {"total": 500}}, traits=[SHARES], aggregates=[host.aggregate]
    )
    host.manager.reset()
    host.update()
    host.driver.pool = host.pool
    return host


def meet(hosts, names):
    """Have these nodes edit what they read before one of them writes."""
    everybody = threading.Barrier(len(names))
    waiting = set(names)

    def met(nodename):
        if nodename in waiting:
            waiting.discard(nodename)
            everybody.wait(PATIENCE)

    for host in hosts:
        host.driver.met = met


@ALL_KINDS
def test_what_two_nodes_give_a_pool_at_the_same_moment_is_all_there(pair, outsider, gives):
    pair.driver.gives = gives
    meet([pair], by_node(pair))
    before = all_of(outsider, pair.pool)
    assert pair.update().failures == {}
    theirs = {names_of(gives, name) for name in by_node(pair)}
    assert all_of(outsider, pair.pool) == before | theirs


@ALL_KINDS
def test_what_another_writer_outran_is_written_by_the_same_update(pair, outsider, gives):
    """The other writer's value stays."""
    name = by_node(pair)[0]
    pair.driver.gives = gives

    def met(nodename):
        pair.driver.met = lambda nodename: None
        outsider.set_traits(pair.pool, [SHARES, "CUSTOM_THEIRS"])

    pair.driver.met = met
    before = all_of(outsider, pair.pool)
    pair.manager.rt.update_available_resource(admin_context(), name)
    assert all_of(outsider, pair.pool) == before | {"CUSTOM_THEIRS", names_of(gives, name)}


@ALL_KINDS
def test_what_services_of_two_hosts_give_a_pool_at_the_same_moment_is_all_there(
    pair, outsider, new_adapter, tmp_path, gives
):
    conf = config.load(
        files=[],
        environ={},
        overrides={
            (None, "host"): f"host-{uuid4()}",
            (None, "state_path"): str(tmp_path / "another"),
            ("berth", "whole_trees"): pair.conf.berth.whole_trees,
        },
    )
    another = ComputeHost(conf, new_adapter)
    with contextlib.closing(another.cell):
        another.start(AnotherPoolDriver)
        name = f"z-{conf.host}"
        outsider.set_aggregates(nodes_uuid(another, name), [pair.aggregate])
        another.manager.reset()
        another.update()
        pair.conf.set_override("parallel_node_updates", 1, group="berth")
        pair.driver.gives = another.driver.gives = gives
        another.driver.pool = pair.pool
        before = all_of(outsider, pair.pool)
        first = by_node(pair)[0]
        meet([pair, another], [first, name])
        with ThreadPoolExecutor(2) as threads:
            outcomes = [threads.submit(host.update) for host in (pair, another)]
        assert [outcome.result().failures for outcome in outcomes] == [{}, {}]
        theirs = {names_of(gives, node) for node in (*by_node(pair), name)}
        assert all_of(outsider, pair.pool) == before | theirs


def test_a_pool_that_others_change_all_the_while_is_given_up_and_told(pair, outsider):
    pair.conf.set_override("conflict_retry_time", 0, "berth")
    name = by_node(pair)[0]
    pair.driver.gives = gives_traits
    others = (f"CUSTOM_THEIRS_{number}" for number in itertools.count())
    pair.driver.met = lambda nodename: outsider.set_traits(pair.pool, [SHARES, next(others)])
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        pair.manager.rt.update_available_resource(admin_context(), name)
    assert next(others) == f"CUSTOM_THEIRS_{ATTEMPTS}"
    assert outsider.traits(pair.pool) == {SHARES, f"CUSTOM_THEIRS_{ATTEMPTS - 1}"}


def test_a_pool_that_is_deleted_meanwhile_isnt_made_again(pair, outsider):
    name = by_node(pair)[0]
    pair.driver.gives = gives_traits

    def met(nodename):
        pair.driver.met = lambda nodename: None
        outsider.call("DELETE", f"/resource_providers/{pair.pool}")

    pair.driver.met = met
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        pair.manager.rt.update_available_resource(admin_context(), name)
    assert pair.update().failures == {}
    assert not outsider.exists(pair.pool)
    pair.adapter.requests.clear()
    assert (pair.update().failures, pair.adapter.requests) == ({}, [])


def test_a_pool_that_one_nodes_failure_made_forgotten_is_read_again_for_the_other(pair, outsider):
    first, second = by_node(pair)
    pair.driver.gives = gives_traits
    failed = requests.Response()
    failed.status_code, failed._content = 500, b"{}"
    pair.adapter.before = lambda method, url: (
        failed if method == "PUT" and pair.pool in url else None
    )
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        pair.manager.rt.update_available_resource(admin_context(), first)
    pair.adapter.before = None
    pair.manager.rt.update_available_resource(admin_context(), second)
    assert outsider.traits(pair.pool) == {SHARES, trait_of(second)}

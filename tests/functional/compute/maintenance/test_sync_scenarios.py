"""`sync_aggregates`, scenario M13 of compute.md §9.5, on each kind of database."""

from uuid import uuid4

import pytest

from compute.records.aggregate import Aggregate, HostMapping
from compute.records.compute_node import ComputeNode
from tests.functional.compute.maintenance.site import HOST
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.spread_over_databases


@pytest.fixture
def root(site):
    """Return the provider of the host's node; the host is in a cell, its service ran once."""
    uuid = site.started(MediumFakeDriver)
    with site.cell() as cell:
        cell.host_mappings.create(HostMapping(HOST, str(uuid4())))
    return uuid


def aggregate(site, *hosts):
    uuid = str(uuid4())
    with site.cell() as cell:
        cell.aggregates.create(Aggregate(uuid, f"of {' and '.join(hosts)}", hosts=list(hosts)))
    return uuid


def known_host(site, host, *nodes):
    with site.cell() as cell:
        cell.host_mappings.create(HostMapping(host, str(uuid4())))
        for nodename in nodes:
            cell.compute_nodes.create(ComputeNode(str(uuid4()), host, nodename))


def members_of(site, provider):
    with site.placement() as outsider:
        return outsider.aggregates(provider)


class TestM13:
    def test_m13_a_host_s_provider_gets_into_both_its_aggregates(self, site, root):
        wanted = {aggregate(site, HOST), aggregate(site, HOST)}
        assert site.run("sync_aggregates").code == 0
        assert members_of(site, root) == wanted

    def test_m13_an_unmapped_host_is_4_and_the_others_are_done(self, site, root):
        uuid = aggregate(site, "host2", HOST)
        ended = site.run("sync_aggregates")
        assert (ended.code, members_of(site, root)) == (4, {uuid})
        assert "Host host2 has no mapping." in ended.err

    def test_m13_a_host_without_a_node_is_5(self, site, root):
        known_host(site, "host2")
        aggregate(site, "host2")
        assert site.run("sync_aggregates").code == 5

    def test_m13_a_node_without_a_provider_is_6_which_counts_more(self, site, root):
        known_host(site, "host2", "node2")
        aggregate(site, "host3", "host2")
        ended = site.run("sync_aggregates")
        assert (ended.code, ended.err.count("\n")) == (6, 2)

    def test_m13_a_host_with_several_nodes_is_1_and_ends_it(self, site, root):
        known_host(site, "host2", "node1", "node2")
        aggregate(site, "host2", HOST)
        assert site.run("sync_aggregates").code == 1
        assert members_of(site, root) == set()


def test_memberships_that_are_there_stay_and_cost_no_write(site, root):
    other = str(uuid4())
    with site.placement() as outsider:
        outsider.set_aggregates(root, [other])
    mine = aggregate(site, HOST)
    site.run("sync_aggregates")
    before = site.everything()
    assert site.run("sync_aggregates", "--verbose").code == 0
    assert members_of(site, root) == {other, mine}
    assert site.everything() == before

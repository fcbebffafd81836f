"""`audit --delete` beside others: what this host's records don't prove to be its own stays."""

import pytest

from compute.maintenance.audit import deletion
from compute.maintenance.audit.deletion import Deletion
from compute.records.instance import BUILDING, SHELVED_OFFLOADED
from tests.functional.compute.maintenance.site import HOST
from tests.functional.compute.maintenance.two_hosts import (
    CPU,
    DISK,
    NEIGHBOUR,
    SHARES,
    Hosts,
    hosts,
    made,
    neighbours,
    two_hosts,
)
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver

__all__ = ["hosts", "made", "neighbours"]


class TestAPoolOfTwoHosts:
    @pytest.mark.spread_over_databases
    def test_what_the_other_host_s_records_know_is_reported_and_stays(self, site):
        hosts = two_hosts(site)
        consumer = hosts.guest(hosts.other)
        hosts.allocate({hosts.other_root: CPU, hosts.pool: DISK}, consumer)
        assert site.run("audit", "--delete", "--verbose").out == "Processed 0 allocations.\n"
        ended = site.run("audit", "--delete", "--all")
        assert ended.code == 0
        assert f"consumer UUID {consumer} on Resource Provider {hosts.pool} are left" in ended.out
        assert "other hosts may hold of a sharing provider" in ended.out
        assert hosts.held(consumer) == {hosts.other_root: CPU, hosts.pool: DISK}

    def test_the_other_host_finds_the_same_of_this_one(self, hosts, neighbours):
        before = hosts.mine.everything()
        assert hosts.other.run("audit", "--delete").code == 0
        assert hosts.mine.everything() == before

    def test_it_is_deleted_where_the_provider_is_named(self, hosts, neighbours):
        ended = hosts.mine.run("audit", "--delete", "--resource_provider", hosts.pool)
        assert (ended.code, hosts.held(neighbours)) == (4, {hosts.other_root: CPU})

    def test_what_lives_somewhere_by_the_records_is_not_even_then(self, hosts, neighbours):
        (guest,) = {*hosts.mine.everything()[1]} - {neighbours}
        hosts.mine.run("audit", "--delete", "--resource_provider", hosts.pool)
        assert hosts.held(guest) == {hosts.root: CPU, hosts.pool: DISK}

    def test_all_that_a_deleted_instance_of_this_host_held_is_deleted(self, hosts, neighbours):
        gone = hosts.guest(hosts.mine, deleted=True)
        hosts.allocate({hosts.root: CPU, hosts.pool: DISK}, gone)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.out.count("Deleted"), hosts.held(gone)) == (2, {})
        assert hosts.held(neighbours) == {hosts.other_root: CPU, hosts.pool: DISK}

    def test_one_that_lives_on_at_the_other_host_keeps_what_isn_t_ours(self, hosts):
        moved = hosts.guest(hosts.mine, deleted=True)
        hosts.guest(hosts.other, uuid=moved)
        hosts.allocate({hosts.root: CPU, hosts.other_root: CPU, hosts.pool: DISK}, moved)
        assert hosts.mine.run("audit", "--delete").code == 4
        assert hosts.held(moved) == {hosts.other_root: CPU, hosts.pool: DISK}

    def test_also_where_the_other_host_s_root_shares_its_disk(self, hosts):
        with hosts.mine.placement() as outsider:
            outsider.set_traits(hosts.other_root, outsider.traits(hosts.other_root) | {SHARES})
        moved = hosts.guest(hosts.mine, deleted=True)
        held = {hosts.other_root: CPU, hosts.pool: DISK}
        hosts.allocate(held, moved)
        assert hosts.mine.run("audit", "--delete").code == 0
        assert hosts.held(moved) == held


def test_of_a_child_of_this_host_that_shares_others_keep_theirs(hosts):
    with hosts.mine.placement() as outsider:
        child = outsider.provider(None, hosts.root, {"DISK_GB": {"total": 500}}, [SHARES])
    consumer = hosts.allocate({hosts.other_root: CPU, child: DISK})
    assert hosts.mine.run("audit", "--delete").code == 0
    assert hosts.held(consumer) == {hosts.other_root: CPU, child: DISK}


def test_a_provider_that_begins_to_share_while_it_is_looked_at_is_left(hosts, monkeypatch):
    with hosts.mine.placement() as outsider:
        child = outsider.provider(None, hosts.root, {"DISK_GB": {"total": 500}})
    consumer = hosts.allocate({child: DISK})
    delete = Deletion.delete

    def shared_meanwhile(self, orphan, named):
        with hosts.mine.placement() as outsider:
            outsider.set_traits(child, [SHARES])
        return delete(self, orphan, named)

    monkeypatch.setattr(Deletion, "delete", shared_meanwhile)
    assert hosts.mine.run("audit", "--delete").code == 0
    assert hosts.held(consumer) == {child: DISK}


class TestRecordsThatKnowNoInstance:
    """They are no evidence. The host's service has run, or there is no state path at all."""

    @pytest.fixture(params=["empty", "missing"])
    def site(self, request, sqlite_site):
        other = sqlite_site.neighbour(NEIGHBOUR)
        if request.param == "empty":
            other.started(MediumFakeDriver)
        else:
            other.state.rmdir()
        return other

    @pytest.fixture
    def consumer(self, site, hosts):
        return hosts.allocate({hosts.root: CPU, hosts.pool: DISK})

    @pytest.fixture
    def hosts(self, sqlite_site, site):
        hosts = Hosts.__new__(Hosts)
        hosts.mine = sqlite_site
        hosts.root = sqlite_site.started(MediumFakeDriver)
        with sqlite_site.placement() as outsider:
            hosts.pool = outsider.provider("pool", None, {"DISK_GB": {"total": 500}}, [SHARES])
        return hosts

    @pytest.mark.parametrize("named", [False, True])
    def test_to_delete_is_refused_with_5(self, hosts, site, consumer, named):
        before = sorted(site.folder.rglob("*"))
        more = ("--resource_provider", hosts.pool) if named else ()
        ended = site.run("audit", "--delete", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
        assert f"the records in {site.state} know no instance at all" in ended.err
        assert hosts.held(consumer) == {hosts.root: CPU, hosts.pool: DISK}
        assert sorted(site.folder.rglob("*")) == before

    def test_nothing_is_offered_for_deletion(self, hosts, site, consumer):
        ended = site.run("audit", "--all")
        assert (ended.code, "can be deleted" in ended.out) == (0, False)
        assert ended.out.count(consumer) == 2

    def test_nor_in_json(self, hosts, site, consumer):
        found = site.run("audit", "--json", "--all").json["allocations"]
        assert [each["deletable"] for each in found] == [False, False]

    def test_without_a_node_there_is_nothing_to_look_at(self, hosts, site, consumer, request):
        ended = site.run("audit")
        if "missing" in request.node.name:
            assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
            assert f"the records in {site.state} know no node of {site.host}" in ended.err
        else:
            assert (ended.code, ended.out, ended.err) == (0, "", "")


@pytest.mark.parametrize("named", [False, True])
def test_to_delete_with_the_state_path_of_another_host_is_refused(hosts, neighbours, named):
    """Its records know instances, but nothing of this host."""
    leftover = hosts.allocate({hosts.root: CPU})
    hosts.mine.file.write_text(hosts.mine.file.read_text().replace(*_states(hosts)))
    more = ("--resource_provider", hosts.root) if named else ()
    ended = hosts.mine.run("audit", "--delete", *more)
    assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
    assert "Is it this host's state_path?" in ended.err
    assert hosts.held(leftover) == {hosts.root: CPU}
    if named:
        assert hosts.mine.run("audit", "--delete", *more, "--force").code == 4
        assert hosts.held(leftover) == {}


def test_what_is_refused_waits_for_no_grace(hosts, neighbours, monkeypatch):
    hosts.allocate({hosts.root: CPU})
    hosts.mine.file.write_text(hosts.mine.file.read_text().replace(*_states(hosts)))
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    named = ("--resource_provider", hosts.root)
    ended = hosts.mine.run("audit", "--delete", *named, "--grace", "600")
    assert (ended.code, slept) == (5, [])
    assert "Is it this host's state_path?" in ended.err


def _states(hosts):
    return f"state_path = {hosts.mine.state}\n", f"state_path = {hosts.other.state}\n"


class TestWhoIsOnTheWay:
    """The scheduler allocated for them; no host is recorded yet."""

    def test_they_are_no_orphans(self, hosts):
        def check(vm_state, task_state):
            coming = hosts.guest(
                hosts.mine, host=None, node=None, vm_state=vm_state, task_state=task_state
            )
            hosts.allocate({hosts.root: CPU}, coming)
            ended = hosts.mine.run("audit", "--delete")
            held = hosts.held(coming)
            hosts.allocate({}, coming)
            assert (ended.code, held) == (0, {hosts.root: CPU})

        states = [
            (BUILDING, None),
            (BUILDING, "spawning"),
            (SHELVED_OFFLOADED, "unshelving"),
            (SHELVED_OFFLOADED, "spawning"),
            ("error", "scheduling"),
        ]
        assert_each({str(each): each for each in states}, check)

    def test_one_that_is_offloaded_and_stays_so_is(self, hosts):
        offloaded = hosts.guest(hosts.mine, host=None, node=None, vm_state=SHELVED_OFFLOADED)
        hosts.allocate({hosts.root: CPU}, offloaded)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, "the instance is on no host" in ended.out) == (4, True)

    @pytest.mark.parametrize("fields", [{"task_state": "unshelving"}, {"host": HOST, "node": HOST}])
    def test_one_that_comes_between_looking_and_deleting_isn_t(self, hosts, monkeypatch, fields):
        offloaded = hosts.guest(hosts.mine, host=None, node=None, vm_state=SHELVED_OFFLOADED)
        hosts.allocate({hosts.root: CPU}, offloaded)
        read = deletion.read_consumer

        def came_meanwhile(*args):
            hosts.change(offloaded, **fields)
            return read(*args)

        monkeypatch.setattr(deletion, "read_consumer", came_meanwhile)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, ended.out) == (0, "")
        assert hosts.held(offloaded) == {hosts.root: CPU}

    def test_nor_one_whose_record_is_made_meanwhile(self, hosts, monkeypatch):
        starting = hosts.allocate({hosts.root: CPU})
        read = deletion.read_consumer

        def made_meanwhile(*args):
            hosts.guest(hosts.mine, uuid=starting, host=None, node=None, vm_state=BUILDING)
            return read(*args)

        monkeypatch.setattr(deletion, "read_consumer", made_meanwhile)
        assert hosts.mine.run("audit", "--delete").code == 0
        assert hosts.held(starting) == {hosts.root: CPU}


@pytest.mark.parametrize("named", [False, True])
def test_a_consumer_that_is_no_instance_is_told_with_its_type_and_stays(hosts, named):
    lease = hosts.allocate({hosts.root: CPU}, consumer_type="BLAZAR_LEASE")
    more = ("--resource_provider", hosts.root) if named else ("--all",)
    ended = hosts.mine.run("audit", "--delete", *more)
    assert (ended.code, hosts.held(lease)) == (0, {hosts.root: CPU})
    assert "kind unknown, type BLAZAR_LEASE, " in ended.out


def test_a_node_that_another_host_took_over_is_not_ours(hosts):
    with hosts.mine.cell() as cell:
        node = cell.compute_nodes.by_uuid(hosts.root)
        node.host = NEIGHBOUR
        cell.compute_nodes.save(node)
    consumer = hosts.allocate({hosts.root: CPU})
    ended = hosts.mine.run("audit", "--delete")
    assert (ended.code, "know no node of" in ended.err) == (5, True)
    assert hosts.mine.run("audit", "--delete", "--all").code == 0
    assert hosts.held(consumer) == {hosts.root: CPU}

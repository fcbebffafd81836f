"""What the tracker's audit takes from consumers, and what it leaves (compute.md §4.9, §4.10)."""

import logging
from uuid import uuid4

import pytest

from compute.records.instance import SHELVED_OFFLOADED, Instance
from compute.records.migration import ERROR, Migration
from compute.report.consumers import consumer as consumers
from compute.resource_tracker.allocations import consumer_audit

SHARES = "MISC_SHARES_VIA_AGGREGATE"
CPU = {"VCPU": 1, "MEMORY_MB": 512}
DISK = {"DISK_GB": 5}


def an_instance(on, **fields):
    instance = Instance(**fields)
    on.cell.instances.create(instance)
    return instance


@pytest.fixture
def running(host):
    """Return a started host that writes allocations itself, and has had a guest."""
    host.conf.set_override("allocation_writer", "tracker", group="compute")
    an_instance(host, host=host.name, node=host.name, deleted=True)
    host.start()
    return host


@pytest.fixture
def other_root(outsider):
    """Return the provider of another host's node."""
    return outsider.provider(inventory={"VCPU": {"total": 8}, "MEMORY_MB": {"total": 8192}})


@pytest.fixture
def sharing_child(running, outsider):
    """Return a child of the host's root that shares its disk with other hosts."""
    return outsider.provider(None, running.uuid, {"DISK_GB": {"total": 500}}, [SHARES])


@pytest.fixture
def pool(running, outsider):
    """Return a pool that shares with the host."""
    aggregate = str(uuid4())
    outsider.set_aggregates(running.uuid, [aggregate])
    return outsider.provider(None, None, {"DISK_GB": {"total": 500}}, [SHARES], [aggregate])


def look(host):
    """One periodic run that knows of what is new in placement."""
    host.manager.reset()
    host.update()


def told_of(consumer, caplog):
    """Return what the tracker logged of a consumer; placement logs in the same process."""
    own = [r for r in caplog.records if r.name.startswith("compute.")]
    return [r for r in own if consumer in r.getMessage()]


class TestAConsumerOfAnotherHost:
    @pytest.fixture
    def consumer(self, outsider, other_root, sharing_child):
        return outsider.allocate({other_root: CPU, sharing_child: DISK})

    def test_keeps_all_whose_disk_is_on_our_sharing_child(
        self, running, outsider, consumer, other_root, sharing_child
    ):
        look(running)
        assert outsider.allocations(consumer) == {other_root: CPU, sharing_child: DISK}

    def test_also_where_the_child_shares_since_the_tracker_read_it(
        self, running, outsider, other_root
    ):
        child = outsider.provider(None, running.uuid, {"DISK_GB": {"total": 500}})
        look(running)
        consumer = outsider.allocate({other_root: CPU, child: DISK})
        outsider.set_traits(child, [SHARES])
        running.update()
        assert outsider.allocations(consumer) == {other_root: CPU, child: DISK}

    def test_is_told_once(self, running, consumer, caplog):
        with caplog.at_level(logging.INFO):
            for _ in range(3):
                look(running)
        told = told_of(consumer, caplog)
        assert [r.levelname for r in told] == ["INFO"]
        assert "other hosts may hold of a sharing provider" in told[0].getMessage()

    def test_is_told_again_when_it_comes_again(
        self, running, outsider, consumer, sharing_child, caplog
    ):
        with caplog.at_level(logging.INFO):
            look(running)
            outsider.call("DELETE", f"/allocations/{consumer}")
            look(running)
            outsider.allocate({sharing_child: DISK}, consumer)
            look(running)
        assert len(told_of(consumer, caplog)) == 2


def test_a_consumer_that_is_no_instance_stays_and_is_told_once(running, outsider, caplog):
    lease = outsider.allocate({running.uuid: CPU}, consumer_type="BLAZAR_LEASE")
    with caplog.at_level(logging.INFO):
        running.update()
        running.update()
    assert outsider.allocations(lease) == {running.uuid: CPU}
    told = told_of(lease, caplog)
    assert [r.getMessage().endswith("its consumer type is BLAZAR_LEASE") for r in told] == [True]


def test_of_an_unknown_consumer_only_what_this_host_alone_gives_out_is_taken(
    running, outsider, pool, other_root
):
    consumer = outsider.allocate({running.uuid: CPU, other_root: CPU, pool: DISK})
    look(running)
    assert outsider.allocations(consumer) == {other_root: CPU, pool: DISK}


@pytest.mark.parametrize("consumer_type", ["INSTANCE", None])
def test_it_keeps_its_type_and_stays_without_one(running, outsider, other_root, consumer_type):
    consumer = outsider.allocate({running.uuid: CPU, other_root: CPU}, consumer_type=consumer_type)
    running.update()
    body = outsider.call("GET", f"/allocations/{consumer}")
    assert list(body["allocations"]) == [other_root]
    assert body["consumer_type"] == (consumer_type or "unknown")


class TestADeletedInstanceOfThisHost:
    @pytest.fixture
    def gone(self, running):
        return an_instance(running, host=running.name, node=running.name, deleted=True).uuid

    def test_loses_its_share_of_the_pool_too(self, running, outsider, pool, gone):
        outsider.allocate({running.uuid: CPU, pool: DISK}, gone)
        look(running)
        assert outsider.allocations(gone) == {}

    def test_keeps_what_it_holds_elsewhere(self, running, outsider, pool, other_root, gone):
        outsider.allocate({running.uuid: CPU, other_root: CPU, pool: DISK}, gone)
        look(running)
        assert outsider.allocations(gone) == {other_root: CPU, pool: DISK}

    def test_does_so_whoever_writes_allocations(self, running, outsider, gone):
        running.conf.set_override("allocation_writer", "scheduler", group="compute")
        outsider.allocate({running.uuid: CPU}, gone)
        running.start()
        assert outsider.allocations(gone) == {}


@pytest.mark.parametrize("task_state", ["unshelving", "spawning"])
def test_an_instance_that_is_unshelved_here_keeps_what_it_was_given(running, outsider, task_state):
    coming = an_instance(running, vm_state=SHELVED_OFFLOADED, task_state=task_state)
    outsider.allocate({running.uuid: CPU}, coming.uuid)
    running.update()
    assert outsider.allocations(coming.uuid) == {running.uuid: CPU}


def test_an_instance_elsewhere_whose_only_move_failed_loses_its_part(running, outsider, other_root):
    moved = an_instance(running, host="other", node="other", vm_state="active")
    running.cell.migrations.create(
        Migration(moved.uuid, status=ERROR, source_compute=running.name, source_node=running.name)
    )
    outsider.allocate({running.uuid: CPU, other_root: CPU}, moved.uuid)
    running.update()
    assert outsider.allocations(moved.uuid) == {other_root: CPU}


def test_records_that_know_no_instance_take_nothing(host, outsider):
    host.conf.set_override("allocation_writer", "tracker", group="compute")
    host.start()
    live = outsider.allocate({host.uuid: CPU})
    host.update()
    assert outsider.allocations(live) == {host.uuid: CPU}


def silent():
    raise NotImplementedError


def broken():
    raise OSError("no hypervisor answers")


@pytest.fixture(params=["manages none", silent, broken])
def unlisted(request, running, monkeypatch):
    """Return the host, whose driver can't say which guests it has."""
    if request.param == "manages none":
        running.driver.manages_instances = False
    else:
        monkeypatch.setattr(running.driver, "list_instance_uuids", request.param)
    return running


class TestADriverThatCanTListItsGuests:
    def test_takes_nothing_that_isn_t_recorded(self, unlisted, outsider, caplog):
        live = outsider.allocate({unlisted.uuid: CPU})
        with caplog.at_level(logging.INFO):
            unlisted.update()
            unlisted.adapter.requests.clear()
            unlisted.update()
        assert outsider.allocations(live) == {unlisted.uuid: CPU}
        assert len(told_of(live, caplog)) == 1
        assert f"/allocations/{live}" not in [sent[1] for sent in unlisted.adapter.requests]

    def test_nor_what_the_records_have_elsewhere(self, unlisted, outsider):
        moved = an_instance(unlisted, host="other", node="other", vm_state="active").uuid
        outsider.allocate({unlisted.uuid: CPU}, moved)
        unlisted.update()
        assert outsider.allocations(moved) == {unlisted.uuid: CPU}

    def test_takes_what_is_recorded_as_deleted(self, unlisted, outsider):
        gone = an_instance(unlisted, host=unlisted.name, node=unlisted.name, deleted=True).uuid
        outsider.allocate({unlisted.uuid: CPU}, gone)
        unlisted.update()
        assert outsider.allocations(gone) == {}


class TestAGuestThatTheHypervisorHas:
    """The records were restored from an older copy, and then a new guest came."""

    @pytest.fixture(params=["unrecorded", "elsewhere", "deleted"])
    def guest(self, request, running, outsider, monkeypatch):
        uuid = str(uuid4())
        if request.param == "elsewhere":
            an_instance(running, uuid=uuid, host="other", node="other", vm_state="active")
        elif request.param == "deleted":
            an_instance(running, uuid=uuid, host=running.name, node=running.name, deleted=True)
        monkeypatch.setattr(running.driver, "list_instance_uuids", lambda: [uuid])
        return outsider.allocate({running.uuid: CPU}, uuid)

    def test_keeps_what_it_holds_until_it_ends_and_a_warning_tells(
        self, running, outsider, guest, caplog, monkeypatch
    ):
        with caplog.at_level(logging.WARNING):
            running.update()
            running.update()
        assert outsider.allocations(guest) == {running.uuid: CPU}
        told = told_of(guest, caplog)
        assert [r.levelname for r in told] == ["WARNING"]
        assert "running here" in told[0].getMessage()
        monkeypatch.setattr(running.driver, "list_instance_uuids", list)
        running.update()
        assert outsider.allocations(guest) == {}

    def test_also_where_the_tracker_wrote_it(self, running, outsider, guest):
        running.cell.own_allocations.add(guest, running.uuid)
        has_it = {"list_instance_uuids": lambda: [guest]}
        running.start(prepare=lambda host: vars(host.driver).update(has_it))
        running.update()
        assert outsider.allocations(guest) == {running.uuid: CPU}


class TestBetweenLookingAndRemoving:
    @pytest.fixture
    def meanwhile(self, monkeypatch):
        """Has something happen just before the consumer is read once more."""

        def happens(do):
            def read(*args):
                do()
                return consumers.read_consumer(*args)

            monkeypatch.setattr(consumer_audit, "read_consumer", read)

        return happens

    def test_an_instance_that_gets_its_record_is_spared(self, running, outsider, meanwhile):
        starting = outsider.allocate({running.uuid: CPU})
        meanwhile(lambda: an_instance(running, uuid=starting))
        running.update()
        assert outsider.allocations(starting) == {running.uuid: CPU}

    def test_what_changes_while_it_is_judged_stays(self, running, outsider, monkeypatch):
        consumer = outsider.allocate({running.uuid: CPU})
        write = consumers.write_consumer

        def changed(*args):
            outsider.allocate({running.uuid: {"VCPU": 3}}, consumer)
            write(*args)

        monkeypatch.setattr(consumer_audit, "write_consumer", changed)
        running.update()
        assert outsider.allocations(consumer) == {running.uuid: {"VCPU": 3}}

    def test_what_is_gone_meanwhile_is_no_failure(self, running, outsider, meanwhile, caplog):
        consumer = outsider.allocate({running.uuid: CPU})
        meanwhile(lambda: outsider.call("DELETE", f"/allocations/{consumer}"))
        with caplog.at_level(logging.WARNING):
            running.update()
        assert caplog.records == []

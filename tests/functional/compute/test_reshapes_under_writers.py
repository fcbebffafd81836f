"""Reshapes get through while others write to the same providers (compute.md §4.6, §3.9.3)."""

import itertools
import threading
import time
from functools import partial
from uuid import uuid4

import pytest

from compute import config
from compute.report.wire.context import admin_context
from tests.functional.compute.compute_host import ComputeHost, NestingDriver
from tests.patience import PATIENCE
from virt.fake import FakeSharedStorageDriver, MediumFakeDriver

SHARES = "MISC_SHARES_VIA_AGGREGATE"


@pytest.fixture
def new_host(tmp_path, new_adapter):
    hosts = []

    def new():
        name = f"host-{uuid4()}"
        overrides = {
            (None, "host"): name,
            (None, "state_path"): str(tmp_path / name),
            ("compute", "provider_config_location"): str(tmp_path / "none"),
            ("berth", "conflict_retry_time"): PATIENCE,
        }
        conf = config.load(files=[], environ={}, overrides=overrides)
        hosts.append(ComputeHost(conf, new_adapter))
        return hosts[-1]

    yield new
    for host in hosts:
        host.cell.close()


class Writers:
    """Threads that do their work again and again.

    Each rests ten times as long as its work took, so that they leave a reshape as much time between
    two of their writes on any machine.
    """

    def __init__(self, *works):
        self._over = threading.Event()
        self.failures = []
        self._threads = [threading.Thread(target=self._write, args=(work,)) for work in works]

    def _write(self, work):
        rest = 0
        while not self._over.wait(rest):
            began = time.monotonic()
            try:
                work()
            except AssertionError as conflict:
                # A writer may lose as well; it comes again.
                if "409" not in str(conflict) and "onflict" not in str(conflict):
                    self.failures.append(conflict)
                    return
            rest = 10 * (time.monotonic() - began)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure):
        self._over.set()
        for thread in self._threads:
            thread.join()


def test_a_reshape_gets_through_under_two_writers_that_change_its_providers(host, outsider):
    host.start()
    guests = [outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 64}}) for _ in range(3)]
    root = host.uuid
    theirs = str(uuid4())
    traits = iter(range(10**9))

    def allocate():
        outsider.allocate({root: {"DISK_GB": 1 + next(traits) % 5}}, theirs)

    def retrait():
        now = outsider.traits(root) - {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"}
        more = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"][next(traits) % 2]
        outsider.set_traits(root, {*now, more})

    host.conf.set_override("conflict_retry_time", PATIENCE, "berth")
    with Writers(allocate, retrait) as writers:
        host.start(NestingDriver)
    assert writers.failures == []
    assert outsider.totals(root).keys() == {"DISK_GB"}
    for guest in guests:
        held = [*outsider.allocations(guest).values()]
        assert sorted(map(str, held)) == ["{'MEMORY_MB': 64}", "{'VCPU': 1}"]


@pytest.mark.parametrize("is_drivers_own", [True, False], ids=["drivers' own", "operator's"])
def test_eight_hosts_that_share_a_pool_reshape_at_the_same_time(new_host, outsider, is_drivers_own):
    hosts = [new_host() for _ in range(8)]
    pool, aggregate, name = str(uuid4()), str(uuid4()), f"ssp-{uuid4()}"

    class Sharing(FakeSharedStorageDriver):
        def __init__(self, virtapi, conf, shared=True):
            super().__init__(virtapi, conf, shared)
            self.pool_uuid, self.aggregate_uuid, self.pool_name = pool, aggregate, name

    if not is_drivers_own:
        outsider.provider(
            name,
            uuid=pool,
            inventory={"DISK_GB": {"total": 500, "max_unit": 500}},
            traits=[SHARES, "STORAGE_DISK_SSD"],
            aggregates=[aggregate],
        )
    guests = {}
    for host in hosts:
        host.start(partial(Sharing, shared=False))
        guests[host.name] = [
            outsider.allocate({host.uuid: {"VCPU": 1, "DISK_GB": 10}}) for _ in range(2)
        ]
    begin = threading.Barrier(len(hosts))
    ended = {}

    def reshape(host):
        begin.wait()
        try:
            host.start(Sharing)
            ended[host.name] = "reshaped"
        except Exception as failure:
            ended[host.name] = repr(failure)

    threads = [threading.Thread(target=reshape, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == dict.fromkeys([host.name for host in hosts], "reshaped")
    for host in hosts:
        assert "DISK_GB" not in outsider.totals(host.uuid)
        for guest in guests[host.name]:
            assert outsider.allocations(guest) == {host.uuid: {"VCPU": 1}, pool: {"DISK_GB": 10}}
    assert outsider.totals(pool) == {"DISK_GB": 500}


@pytest.mark.one_by_one
def test_a_sharing_provider_that_doesnt_change_is_no_part_of_the_reshape(host, outsider):
    host.start()
    aggregate = str(uuid4())
    outsider.set_aggregates(host.uuid, [aggregate])
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 500}}, traits=[SHARES], aggregates=[aggregate]
    )
    guest = outsider.allocate({host.uuid: {"VCPU": 1}, pool: {"DISK_GB": 7}})

    def prepare(host):
        def before(method, url):
            if url == "/reshaper":
                outsider.allocate({pool: {"DISK_GB": 1}})

        host.adapter.before = before

    host.start(NestingDriver, prepare=prepare)
    assert host.reshapes() == 1
    assert outsider.allocations(guest)[pool] == {"DISK_GB": 7}
    assert "VCPU" not in outsider.totals(host.uuid)


@pytest.mark.one_by_one
def test_another_try_reads_only_what_has_changed(host, outsider):
    host.start()
    guests = [outsider.allocate({host.uuid: {"VCPU": 1}}) for _ in range(4)]
    card = outsider.provider(parent=host.uuid, inventory={"VGPU": {"total": 1}})
    marks = []

    def prepare(host):
        def before(method, url):
            if url == "/reshaper":
                marks.append(len(host.adapter.requests))
                if len(marks) == 1:
                    outsider.allocate({host.uuid: {"VCPU": 2}}, guests[0])
                if len(marks) == 2:
                    outsider.call("DELETE", f"/allocations/{guests[1]}")

        host.adapter.before = before

    host.start(NestingDriver, prepare=prepare)
    assert host.reshapes() == 3
    read = [
        [url for method, url, _ in host.adapter.requests[start:end] if method == "GET"]
        for start, end in itertools.pairwise(marks)
    ]
    for urls, changed in zip(read, ([guests[0]], []), strict=True):
        assert [one for one in urls if one.startswith("/allocations/")] == [
            f"/allocations/{guest}" for guest in changed
        ]
        assert f"/resource_providers/{card}/inventories" not in urls
    assert [one for one in read[0] if one.endswith("/inventories")] == [
        f"/resource_providers/{host.uuid}/inventories"
    ]
    assert {*outsider.allocations(guests[0])} == {*outsider.allocations(guests[2])}
    assert sum(part["VCPU"] for part in outsider.allocations(guests[0]).values()) == 2
    assert outsider.allocations(guests[1]) == {}


@pytest.mark.one_by_one
def test_nothing_recollected_outlives_the_update_or_a_reset(host, outsider):
    host.start()
    outsider.allocate({host.uuid: {"VCPU": 1}})
    client = host.start(NestingDriver).reportclient
    assert not client.cache.recollection.knows_consumers
    assert client.cache.gathered == {}
    client.get_provider_subtree_and_ensure_root(admin_context(), host.uuid)
    client.get_allocations_for_provider_tree(admin_context(), host.name)
    client.cache.forget_after_conflict()
    assert client.cache.recollection.knows_consumers
    client.clear_provider_cache()
    assert not client.cache.recollection.knows_consumers
    host.start(MediumFakeDriver)


@pytest.mark.one_by_one
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_consumer_that_was_made_anew_meanwhile_is_read_again(host, outsider, where):
    """Its generation may be the same as before: each consumer's begins at 1."""
    host.start()
    root, others = host.uuid, [outsider.provider(inventory={"VGPU": {"total": 9}}) for _ in "ab"]
    guest = outsider.allocate({root: {"VCPU": 1}, others[0]: {"VGPU": 1}})
    now = {
        "here": {root: {"VCPU": 2}, others[0]: {"VGPU": 1}},
        "elsewhere": {root: {"VCPU": 1}, others[1]: {"VGPU": 1}},
    }[where]
    tries = []

    def prepare(host):
        def before(method, url):
            if url == "/reshaper":
                tries.append(url)
                if len(tries) == 1:
                    outsider.call("DELETE", f"/allocations/{guest}")
                    outsider.allocate(now, guest)

        host.adapter.before = before

    host.start(NestingDriver, prepare=prepare)
    held = outsider.allocations(guest)
    (vcpus,) = (part["VCPU"] for part in held.values() if "VCPU" in part)
    assert vcpus == now[root]["VCPU"]
    assert {uuid: part for uuid, part in held.items() if "VGPU" in part} == {
        uuid: part for uuid, part in now.items() if "VGPU" in part
    }

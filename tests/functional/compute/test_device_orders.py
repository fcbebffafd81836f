"""A claim takes the devices that were allocated to it, and no others (compute.md §4.10, §4.11)."""

import pytest

from compute import exceptions
from compute.records.migration import LIVE_MIGRATION, Migration
from tests.functional.compute.device_hosts import (
    CARD,
    CARD_CLASS,
    CLASS,
    CONTEXT,
    WRITERS,
    DeviceHost,
    addresses,
    device,
    functions,
)

FIRST, SECOND = "0000:81:00.0", "0000:82:00.0"
GPU = {"resource_class": "gpu"}


@pytest.fixture(
    params=[
        "auto",
        *(pytest.param(one, marks=pytest.mark.thorough) for one in WRITERS if one != "auto"),
    ]
)
def writer(request):
    return request.param


@pytest.fixture
def two(host, outsider, writer):
    return DeviceHost(host, outsider, writer, [device(81), device(82, traits="fast")])


def test_a41_each_guest_gets_the_device_that_the_scheduler_gave_it(two, outsider):
    first, second = two.guest(GPU), two.guest(GPU)
    given = two.scheduled(first.uuid, SECOND)
    two.scheduled(second.uuid, FIRST)
    assert two.claim(first, given) == [SECOND]
    assert two.claim(second) == [FIRST], "the allocations in placement are orders, too"
    two.update()
    assert (two.held(first.uuid), two.held(second.uuid)) == ({SECOND: 1}, {FIRST: 1})
    assert [outsider.totals(two.provider(one)) for one in (FIRST, SECOND)] == [{CLASS: 1}] * 2


def test_a_device_that_is_given_without_a_request_is_the_guest_s(two):
    guest = two.guest()
    assert two.claim(guest, two.scheduled(guest.uuid, SECOND)) == [SECOND]


def test_a42_the_first_device_stays_for_whom_the_scheduler_gives_it_later(two):
    first, second = two.guest(GPU), two.guest(GPU)
    given = two.scheduled(first.uuid, SECOND)
    assert two.claim(first, given) == [SECOND]
    later = two.scheduled(second.uuid, FIRST)
    assert two.claim(second, later) == [FIRST]


def test_a43_a_device_that_somebody_has_is_refused_and_the_error_tells_who(two, outsider):
    owner, other = two.guest(GPU), two.guest(GPU)
    two.claim(owner, two.scheduled(owner.uuid, FIRST))
    # as after another scheduler, or an agent that raised the total
    outsider.set_inventory(two.provider(FIRST), {CLASS: {"total": 2}})
    given = two.scheduled(other.uuid, FIRST)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match=f"{FIRST}.*{owner.uuid}"):
        two.claim(other, given)
    assert two.held(owner.uuid) == {FIRST: 1}
    assert two.rt.tracked_instances == {owner.uuid}
    outsider.call("DELETE", f"/allocations/{other.uuid}")
    two.start()
    assert outsider.totals(two.provider(FIRST)) == {CLASS: 1}


def test_a44_without_orders_what_is_allocated_to_others_is_not_taken(two):
    scheduled, guest, third = two.guest(GPU), two.guest(GPU), two.guest(GPU)
    two.scheduled(scheduled.uuid, FIRST)
    assert two.claim(guest, two.scheduled(guest.uuid)) == [SECOND]
    assert two.held(guest.uuid) == {SECOND: 1}
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="pci"):
        two.claim(third, two.scheduled(third.uuid))
    assert two.claim(scheduled) == [FIRST]


def test_a45_a_guest_gets_a_device_with_the_traits_that_it_requests(two):
    fast = {"resource_class": "CUSTOM_GPU", "traits": "fast"}
    guest, other = two.guest(fast), two.guest(fast)
    assert two.claim(guest, two.scheduled(guest.uuid)) == [SECOND]
    given = two.scheduled(other.uuid, FIRST)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match=FIRST):
        two.claim(other, given)
    assert two.held(other.uuid) == {FIRST: 1}


def test_a46_an_operators_reservation_stays_and_is_respected(two):
    two.reserve(FIRST, 1)
    guest = two.guest(GPU)
    assert two.claim(guest, two.scheduled(guest.uuid)) == [SECOND]
    two.devices[0] = device(81, traits="new")
    two.update()
    two.start()
    assert [two.record(one)["reserved"] for one in (FIRST, SECOND)] == [1, 0]


def test_a47_functions_of_a_card_are_taken_as_many_as_were_given(host, outsider, writer):
    card = DeviceHost(host, outsider, writer, [*functions(3), device(81)])
    function = {"resource_class": CARD_CLASS}
    guest, other, third = card.guest(function, function), card.guest(function), card.guest(function)
    given = card.scheduled(guest.uuid, CARD, amount=2, resource_class=CARD_CLASS)
    card.scheduled(other.uuid, CARD, resource_class=CARD_CLASS)
    got = card.claim(guest, given)
    assert len(set(got)) == 2
    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        card.claim(third, card.scheduled(third.uuid))
    assert not set(card.claim(other)).intersection(got)


def test_a_function_that_is_gone_stays_allocated_beside_one_that_is_there(host, outsider, writer):
    card = DeviceHost(host, outsider, writer, functions(2))
    wanted = {"resource_class": CARD_CLASS}
    guest = card.guest(wanted, wanted)
    given = card.scheduled(guest.uuid, CARD, amount=2, resource_class=CARD_CLASS)
    assert len(card.claim(guest, given)) == 2
    provider = card.provider(CARD)
    card.devices = card.devices[:1]
    card.update()
    assert outsider.allocations(guest.uuid)[provider] == {CARD_CLASS: 2}


def test_more_than_a_provider_has_is_told_as_such(two, outsider):
    outsider.set_inventory(two.provider(FIRST), {CLASS: {"total": 2}})
    guest = two.guest(GPU, GPU)
    given = two.scheduled(guest.uuid, FIRST, amount=2)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match=r"2 of .*, it has 1"):
        two.claim(guest, given)


@pytest.mark.parametrize(
    ("status", "cause"), [(503, "doesn't tell .*: 503"), (404, "too few are free")]
)
def test_a_placement_that_does_not_tell_is_no_device_that_is_gone(two, monkeypatch, status, cause):
    guest = two.guest(GPU)
    given, get = two.scheduled(guest.uuid), two.rt.reportclient.get

    def no_inventories(url, *args, **kwargs):
        answer = get(url, *args, **kwargs)
        if url.endswith("/inventories"):
            answer.status_code = status
        return answer

    monkeypatch.setattr(two.rt.reportclient, "get", no_inventories)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match=cause):
        two.claim(guest, given)


def test_a48_a_device_that_vanished_is_refused_to_whom_it_was_given(two):
    guest = two.guest(GPU)
    given = two.scheduled(guest.uuid, FIRST)
    two.devices = two.devices[1:]
    two.update()
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match=f"{FIRST.upper()}.*gone"):
        two.claim(guest, given)
    assert two.held(guest.uuid) == {FIRST: 1}


def test_a49_a_guest_that_requests_two_gets_no_other_than_the_one_given(two):
    guest = two.guest(GPU, GPU)
    given = two.scheduled(guest.uuid, FIRST)
    with pytest.raises(exceptions.ComputeResourcesUnavailable, match="pci"):
        two.claim(guest, given)
    assert two.held(guest.uuid) == {FIRST: 1}


class TestOneTimeUse:
    """Devices that are for one guest, and then have to be wiped."""

    @pytest.fixture
    def once(self, host, outsider, writer):
        tags = {"one_time_use": "yes"}
        return DeviceHost(host, outsider, writer, [device(81, **tags), device(82, **tags)])

    def reserved(self, on):
        return [on.record(one)["reserved"] for one in (FIRST, SECOND)]

    def test_a_claim_reserves_the_device_before_the_guest_can_start(self, once):
        guest = once.guest(GPU)
        once.claim(guest, once.scheduled(guest.uuid))
        assert self.reserved(once) == [1, 0]
        once.delete(guest)
        assert self.reserved(once) == [1, 0]
        after = once.guest(GPU)
        assert once.claim(after, once.scheduled(after.uuid)) == [SECOND]
        assert self.reserved(once) == [1, 1]

    # where the scheduler writes, a guest without allocations gets none
    @pytest.mark.parametrize("writer", WRITERS, indirect=True)
    def test_a_claim_without_allocations_reserves_it_too(self, once):
        guest = once.guest(GPU)
        assert once.claim(guest) == [FIRST]
        assert self.reserved(once) == [1, 0]
        once.delete(guest)
        once.update()
        assert self.reserved(once) == [1, 0]

    def test_an_order_reserves_only_the_device_that_was_given(self, once):
        guest = once.guest(GPU)
        assert once.claim(guest, once.scheduled(guest.uuid, SECOND)) == [SECOND]
        once.update()
        assert self.reserved(once) == [0, 1]

    def test_an_order_holds_if_an_update_reserved_the_device_before(self, once):
        guest = once.guest(GPU)
        given = once.scheduled(guest.uuid, SECOND)
        once.update()
        assert once.claim(guest, given) == [SECOND]
        assert self.reserved(once) == [0, 1]

    def test_with_all_used_up_a_claim_is_refused_until_somebody_wipes_one(self, once):
        for guest in (once.guest(GPU), once.guest(GPU)):
            once.claim(guest, once.scheduled(guest.uuid))
            once.delete(guest)
        refused = once.guest(GPU)
        given = once.scheduled(refused.uuid)
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match="pci"):
            once.claim(refused, given)
        once.reserve(SECOND, 0)
        again = once.guest(GPU)
        assert once.claim(again, once.scheduled(again.uuid)) == [SECOND]
        assert self.reserved(once) == [1, 1]

    def test_who_ran_before_they_were_reported_has_his_reserved_by_one_update(self, once):
        guest = once.guest(
            vm_state="active", host=once.name, node=once.name, pci_devices=once.devices[1:]
        )
        once.scheduled(guest.uuid)
        once.update()
        assert (once.held(guest.uuid), self.reserved(once)) == ({SECOND: 1}, [0, 1])

    @pytest.mark.parametrize("ends", ["confirm", "revert", "abort"])
    def test_a_resize_on_its_host_burns_the_old_and_the_new_device(self, once, outsider, ends):
        guest = once.guest(GPU)
        once.claim(guest, once.scheduled(guest.uuid))
        migration = once.resize(guest)
        assert once.rt.reportclient.move_allocations(CONTEXT, guest.uuid, migration.uuid)
        given = once.scheduled(guest.uuid, SECOND)
        claim = once.rt.resize_claim(CONTEXT, guest, guest.flavor, once.name, migration, given)
        assert self.reserved(once) == [1, 1]
        once.update()
        assert (once.held(migration.uuid), once.held(guest.uuid)) == ({FIRST: 1}, {SECOND: 1})
        if ends == "confirm":
            once.rt.drop_move_claim_at_source(CONTEXT, guest, migration)
            outsider.call("DELETE", f"/allocations/{migration.uuid}")
        else:
            if ends == "revert":
                once.rt.drop_move_claim_at_dest(CONTEXT, guest, migration)
            else:
                claim.abort()
            assert once.rt.reportclient.move_allocations(CONTEXT, migration.uuid, guest.uuid)
            guest.vm_state, guest.task_state = "active", None
            once.host.cell.instances.save(guest)
        once.update()
        assert once.held(guest.uuid) == {(SECOND if ends == "confirm" else FIRST): 1}
        assert self.reserved(once) == [1, 1]

    def test_two_ports_get_two_devices(self, once):
        guest = once.guest()
        once.claim(guest, once.scheduled(guest.uuid))
        request = type("Asked", (), {"instance_uuid": guest.uuid, "requests": [{"count": 1}]})
        claimed = [once.rt.claim_pci_devices(CONTEXT, request, None) for _ in range(3)]
        assert [addresses(devices) for devices in claimed] == [[FIRST], [SECOND], []]
        once.rt.allocate_pci_devices_for_instance(CONTEXT, guest)
        once.update()
        assert once.held(guest.uuid) == {FIRST: 1, SECOND: 1}

    def test_a_port_that_is_attached_has_its_device_reserved_at_once(self, once):
        guest = once.guest()
        once.claim(guest, once.scheduled(guest.uuid))
        request = type("Asked", (), {"instance_uuid": guest.uuid, "requests": [{"count": 1}]})
        claimed = once.rt.claim_pci_devices(CONTEXT, request, None)
        assert (addresses(claimed), self.reserved(once)) == ([FIRST], [1, 0])
        once.update()
        assert once.held(guest.uuid) == {FIRST: 1}
        once.rt.unclaim_pci_devices(CONTEXT, claimed[0], guest)
        once.update()
        assert (once.held(guest.uuid), self.reserved(once)) == ({}, [1, 0])


class TestOthersWhoWrite:
    """What others do between two steps of the tracker."""

    def test_what_the_scheduler_adds_before_a_port_is_attached_is_an_order(self, two):
        guest = two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid, FIRST))
        two.scheduled(guest.uuid, FIRST, SECOND)
        request = type("Asked", (), {"instance_uuid": guest.uuid, "requests": [{"count": 1}]})
        assert addresses(two.rt.claim_pci_devices(CONTEXT, request, None)) == [SECOND]
        two.update()
        assert two.held(guest.uuid) == {FIRST: 1, SECOND: 1}

    def test_an_order_for_a_move_stays_though_the_tracker_once_gave_that_device(
        self, host, outsider
    ):
        two = DeviceHost(host, outsider, "scheduler", [device(81), device(82)])
        guest = two.guest()
        two.claim(guest, two.scheduled(guest.uuid))
        request = type("Asked", (), {"instance_uuid": guest.uuid, "requests": [{"count": 1}]})
        (port,) = two.rt.claim_pci_devices(CONTEXT, request, None)
        two.rt.unclaim_pci_devices(CONTEXT, port, guest)
        migration = two.resize(guest)
        outsider.call("DELETE", f"/allocations/{guest.uuid}")
        outsider.allocate({host.uuid: {"VCPU": 1}}, migration.uuid)
        two.scheduled(guest.uuid, FIRST)
        two.update()
        assert two.held(guest.uuid) == {FIRST: 1}

    def test_an_allocation_of_another_device_than_the_guest_has_is_only_told(
        self, host, outsider, caplog
    ):
        two = DeviceHost(host, outsider, "scheduler", [device(81), device(82)])
        guest = two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid, FIRST))
        two.scheduled(guest.uuid, SECOND)
        for _ in range(2):
            two.update()
        assert two.held(guest.uuid) == {SECOND: 1}
        told = [line for line in caplog.messages if guest.uuid in line and SECOND in line.lower()]
        assert len(told) == 1

    @pytest.mark.parametrize("writer", ["tracker", "auto"])
    def test_a_tracker_that_writes_all_or_wrote_it_corrects_it(self, host, outsider, writer):
        two = DeviceHost(host, outsider, writer, [device(81), device(82)])
        guest = two.guest(GPU)
        two.claim(guest, None if writer == "auto" else two.scheduled(guest.uuid, FIRST))
        two.scheduled(guest.uuid, SECOND)
        two.update()
        assert two.held(guest.uuid) == {FIRST: 1}

    def test_a_guest_whose_device_went_to_another_in_placement_does_not_raise_the_total(
        self, two, outsider
    ):
        guest, other = two.guest(GPU), two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid, FIRST))
        outsider.allocate({two.host.uuid: {"VCPU": 1}}, guest.uuid)
        given = two.scheduled(other.uuid, FIRST)
        two.update()
        assert outsider.totals(two.provider(FIRST)) == {CLASS: 1}
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match=guest.uuid):
            two.claim(other, given)

    def test_a_device_that_is_taken_between_choice_and_write_fails_the_claim(self, two, outsider):
        guest, other = two.guest(GPU), two.guest(GPU)
        given = two.scheduled(guest.uuid)
        client, came = two.rt.reportclient, []
        put = client.put_allocations

        def after_the_scheduler(*args, **kwargs):
            if not came:
                came.append(two.scheduled(other.uuid, FIRST))
            return put(*args, **kwargs)

        client.put_allocations = after_the_scheduler
        with pytest.raises(exceptions.ComputeResourcesUnavailable):
            two.claim(guest, given)
        assert (two.held(other.uuid), two.held(guest.uuid)) == ({FIRST: 1}, {})
        assert two.claim(other) == [FIRST]


class TestMoves:
    """Every claim of a move takes what was allocated, too."""

    CLAIMS = ("resize_claim", "rebuild_claim", "live_migration_claim")

    def claimed(self, on, instance, claim, given):
        if claim == "resize_claim":
            made = on.rt.resize_claim(CONTEXT, instance, instance.flavor, on.name, None, given)
        elif claim == "rebuild_claim":
            made = on.rt.rebuild_claim(CONTEXT, instance, on.name, given)
        else:
            migration = Migration(instance.uuid, migration_type=LIVE_MIGRATION)
            made = on.rt.live_migration_claim(CONTEXT, instance, on.name, migration, None, given)
        return made, addresses(instance.migration_context.new_pci_devices)

    @pytest.mark.parametrize("claim", CLAIMS)
    @pytest.mark.parametrize("are_given", [True, False])
    def test_the_claim_takes_what_was_allocated(self, two, claim, are_given):
        states = {"resize_claim": "resize_prep", "live_migration_claim": "migrating"}
        guest = two.guest(
            GPU,
            host="elsewhere",
            node="elsewhere",
            vm_state="active",
            task_state=states.get(claim, "rebuilding"),
        )
        given = two.scheduled(guest.uuid, SECOND)
        _, got = self.claimed(two, guest, claim, given if are_given else None)
        assert got == [SECOND]
        two.update()
        assert two.held(guest.uuid) == {SECOND: 1}

    def test_a_resize_on_its_host_takes_the_new_device_that_was_given(self, two, outsider):
        guest = two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid, FIRST))
        migration = two.resize(guest)
        outsider.call("DELETE", f"/allocations/{guest.uuid}")
        two.scheduled(migration.uuid, FIRST)
        given = two.scheduled(guest.uuid, SECOND)
        two.rt.resize_claim(CONTEXT, guest, guest.flavor, two.name, migration, given)
        assert addresses(guest.migration_context.new_pci_devices) == [SECOND]
        two.update()
        assert (two.held(migration.uuid), two.held(guest.uuid)) == ({FIRST: 1}, {SECOND: 1})

    def test_a_caller_may_give_only_what_is_not_a_device(self, two):
        guest = two.guest(GPU)
        given = two.scheduled(guest.uuid, SECOND)
        del given[two.provider(SECOND)]
        assert two.claim(guest, given) == [SECOND]

    def test_a_resize_on_its_host_without_orders_takes_another_device(self, two):
        guest = two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid))
        migration = two.resize(guest)
        two.rt.resize_claim(CONTEXT, guest, guest.flavor, two.name, migration, None)
        assert addresses(guest.migration_context.new_pci_devices) == [SECOND]
        two.update()
        assert two.held(guest.uuid) == {FIRST: 1, SECOND: 1}

    def test_a_guest_that_is_unshelved_takes_what_was_allocated(self, two):
        guest = two.guest(GPU, vm_state="shelved_offloaded", task_state="spawning")
        two.scheduled(guest.uuid, SECOND)
        assert two.claim(guest) == [SECOND]

    def test_a_guest_that_is_rebuilt_on_its_host_keeps_its_device(self, two):
        guest = two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid, SECOND))
        guest.vm_state, guest.task_state = "active", "rebuilding"
        two.host.cell.instances.save(guest)
        two.rt.rebuild_claim(CONTEXT, guest, two.name, None)
        assert addresses(guest.migration_context.new_pci_devices) == [SECOND]
        two.update()
        assert two.held(guest.uuid) == {SECOND: 1}


class TestNamedResources:
    """Resources with names, such as PMEM namespaces."""

    @pytest.fixture
    def named(self, two):
        two.names = ("ns_0", "ns_1")
        two.start()
        return two

    def allocated(self, on, guest, amount):
        on.outsider.allocate({on.host.uuid: {"VCPU": 1, "CUSTOM_PMEM": amount}}, guest.uuid)

    def test_those_in_placement_are_orders(self, named):
        guest = named.guest()
        self.allocated(named, guest, 1)
        named.claim(guest)
        assert [one.identifier for one in guest.resources] == ["ns_0"]

    def test_too_few_are_refused_and_the_error_tells_who_has_them(self, named, outsider):
        owner, other = named.guest(), named.guest()
        self.allocated(named, owner, 2)
        named.claim(owner)
        given = {named.host.uuid: {"resources": {"CUSTOM_PMEM": 1}}}
        with pytest.raises(exceptions.ComputeResourcesUnavailable, match=owner.uuid):
            named.claim(other, given)

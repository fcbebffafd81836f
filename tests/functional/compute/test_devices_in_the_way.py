"""Devices that rule each other out, are claimed again, or come back (compute.md §4.11)."""

import pytest

from compute import exceptions
from tests.functional.compute.device_hosts import (
    CARD,
    CARD_CLASS,
    CONTEXT,
    DeviceHost,
    device,
    functions,
)

FIRST, SECOND = "0000:81:00.0", "0000:82:00.0"
GPU = {"resource_class": "gpu"}
WHOLE, FUNCTION = {"dev_type": "type-PF"}, {"dev_type": "type-VF"}
REFUSED = exceptions.ComputeResourcesUnavailable


@pytest.fixture
def writer(request):
    return request.param


@pytest.fixture
def two(host, outsider, writer):
    return DeviceHost(host, outsider, writer, [device(81), device(82)])


class TestCardsAndFunctions:
    """A network card is given away whole, or by its functions."""

    WHOLE_CARD = {
        "address": CARD,
        "dev_type": "type-PF",
        "vendor_id": "8086",
        "product_id": "1",
        "parent_addr": None,
        "physical_network": "physnet1",
    }

    @pytest.fixture
    def card(self, host, outsider, writer):
        listed = [self.WHOLE_CARD, *functions(2, physical_network="physnet1")]
        return DeviceHost(host, outsider, writer, listed)

    def counts(self, on):
        pools = on.rt.compute_nodes[on.name].pci_device_pools
        return {pool["dev_type"]: pool["count"] for pool in pools}

    def test_with_a_function_taken_the_card_is_not_free(self, card):
        guest, other, third = card.guest(FUNCTION), card.guest(WHOLE), card.guest(FUNCTION)
        card.claim(guest)
        assert self.counts(card) == {"type-PF": 0, "type-VF": 1}
        with pytest.raises(REFUSED, match="pci"):
            card.claim(other)
        card.claim(third)
        for gone in (guest, third):
            card.delete(gone)
        assert card.claim(other) == [CARD]

    def test_with_the_card_taken_no_function_is_free(self, card):
        guest, other = card.guest(WHOLE), card.guest(FUNCTION)
        card.claim(guest)
        assert self.counts(card) == {"type-PF": 0, "type-VF": 0}
        with pytest.raises(REFUSED, match="pci"):
            card.claim(other)

    def test_no_guest_gets_both(self, card):
        with pytest.raises(REFUSED, match="pci"):
            card.claim(card.guest(FUNCTION, WHOLE))

    def test_functions_that_were_ordered_are_refused_while_somebody_has_the_card(
        self, host, outsider, writer
    ):
        card = DeviceHost(host, outsider, writer, [self.WHOLE_CARD, *functions(2)])
        guest, other = card.guest(WHOLE), card.guest(FUNCTION)
        card.claim(guest)
        given = card.scheduled(other.uuid, CARD, resource_class=CARD_CLASS)
        with pytest.raises(REFUSED, match=f"held by instance {guest.uuid}"):
            card.claim(other, given)


def test_a_guest_that_is_claimed_again_keeps_its_device(two):
    guest = two.guest(GPU)
    assert two.claim(guest) == [FIRST]
    assert two.claim(guest) == [FIRST]
    two.update()
    assert two.claim(two.guest(GPU)) == [SECOND]


class TestAFunctionThatIsGone:
    """The driver no longer lists a function that a guest has; its card is still there."""

    @pytest.fixture
    def card(self, host, outsider, writer):
        card = DeviceHost(host, outsider, writer, functions(2))
        card.guest_of_first = card.guest(FUNCTION)
        given = card.scheduled(card.guest_of_first.uuid, CARD, resource_class=CARD_CLASS)
        card.claim(card.guest_of_first, given)
        card.devices = card.devices[1:]
        card.update()
        card.start()
        return card

    def test_the_other_function_is_still_free(self, card):
        other, third = card.guest(FUNCTION), card.guest(FUNCTION)

        given = card.scheduled(other.uuid, CARD, resource_class=CARD_CLASS)

        assert card.claim(other, given) == [f"{CARD[:-1]}2"]
        card.update()
        assert card.held(card.guest_of_first.uuid) == card.held(other.uuid) == {CARD: 1}
        assert card.record(CARD)["total"] == 2
        with pytest.raises(REFUSED, match="pci"):
            card.claim(third)

    def test_it_counts_no_more_when_its_guest_has_left(self, card):
        card.delete(card.guest_of_first)
        card.update()
        assert card.record(CARD)["total"] == 1
        other = card.guest(FUNCTION)
        card.claim(other, card.scheduled(other.uuid, CARD, resource_class=CARD_CLASS))
        assert card.held(other.uuid) == {CARD: 1}


class TestWhatComesBack:
    """A device that the driver no longer lists, and then lists again."""

    def unplug_for_a_while(self, on):
        listed, on.devices = on.devices, on.devices[1:]
        on.update()
        on.start()
        on.devices = listed
        on.update()

    def test_one_for_one_use_that_is_used_up_stays_reserved(self, host, outsider, writer):
        once = DeviceHost(
            host, outsider, writer, [device(81, one_time_use="yes"), device(82, traits="other")]
        )
        guest = once.guest(GPU)
        once.claim(guest, once.scheduled(guest.uuid, FIRST))
        once.delete(guest)
        self.unplug_for_a_while(once)
        assert once.record(FIRST)["reserved"] == 1
        after = once.guest(GPU)
        assert once.claim(after, once.scheduled(after.uuid)) == [SECOND]

    def test_one_that_an_operator_reserved_stays_reserved(self, two):
        two.reserve(FIRST, 1)
        two.start()
        self.unplug_for_a_while(two)
        assert two.record(FIRST)["reserved"] == 1
        two.devices = two.devices[1:]
        two.update()
        two.reserve(FIRST, 0)
        two.start()
        with pytest.raises(KeyError):
            two.provider(FIRST)

    def test_a_guest_keeps_it_through_all_this(self, two):
        guest, other = two.guest(GPU), two.guest(GPU)
        two.claim(guest, two.scheduled(guest.uuid, FIRST))
        self.unplug_for_a_while(two)
        assert two.held(guest.uuid) == {FIRST: 1}
        assert two.record(FIRST)["total"] == 1
        assert two.claim(other, two.scheduled(other.uuid)) == [SECOND]


def test_a_guest_with_more_than_a_thousand_functions_is_served(host, outsider):
    many = [{**functions(1)[0], "address": f"0000:05:{n // 8:02x}.{n % 8}"} for n in range(8, 1610)]
    card = DeviceHost(host, outsider, "scheduler", many)
    guest, greedy = card.guest(), card.guest()
    guest.pci_requests = [
        {"count": 1100, "spec": [{"resource_class": CARD_CLASS}]},
        {"count": 1, "spec": [{"address": many[0]["address"]}]},
    ]
    assert len(set(card.claim(guest, card.scheduled(guest.uuid)))) == 1101
    greedy.pci_requests = [{"count": 10**12, "spec": [{}]}]
    with pytest.raises(REFUSED, match=f"{10**12} devices requested"):
        card.claim(greedy, card.scheduled(greedy.uuid))


def test_a_port_gets_no_function_of_a_card_that_its_guest_has(host, outsider):
    listed = [TestCardsAndFunctions.WHOLE_CARD, *functions(1, physical_network="physnet1")]
    card = DeviceHost(host, outsider, "scheduler", listed)
    guest = card.guest(WHOLE)
    card.claim(guest)
    asked = type("Asked", (), {"instance_uuid": guest.uuid, "requests": [{"count": 1}]})
    assert card.rt.claim_pci_devices(CONTEXT, asked, None) == []

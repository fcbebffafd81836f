"""Classes that a flavor named are taken back with its share, and no others, whenever that is."""

import pytest
from keystoneauth1.exceptions import ConnectFailure

from tests.functional.compute.shaped_hosts import ShapedHost

SEV = "MEM_ENCRYPTION_CONTEXT"
LICENSE = "CUSTOM_LICENSE"
ENCRYPTED = {"hw:mem_encryption": "true"}
BOTH = {**ENCRYPTED, f"resources:{LICENSE}": "1"}
PLAIN = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 1}


class Host(ShapedHost):
    """A host whose guests are resized on it, and the ways in which that ends."""

    def fails(self, guest, claim):
        claim.abort()
        self._is_active(guest)

    def is_reverted(self, guest, claim):
        self.revert(guest, claim)

    def is_confirmed(self, guest, claim):
        self.confirm(guest, claim)

    def end_without_placement(self, end, guest, claim):
        """End the resize while placement is away; then start the service anew."""

        def is_away(method, url):
            raise ConnectFailure("gone")

        self.host.adapter.before = is_away
        end(self, guest, claim)
        self.start()
        self.update()

    def update(self):
        """Update as the agent does; it may fail while placement is away."""
        self.host.update()

    def somebody_adds(self, guest, suffix, part):
        held = self.held(guest)
        self.allocate(guest, {**held, suffix: {**held.get(suffix, {}), **part}})


@pytest.fixture
def shaped(request, host, outsider):
    root = {"VCPU": 20, "MEMORY_MB": 9999, "DISK_GB": 100, LICENSE: 9}
    return Host(host, outsider, request.param, {"": root, "sev": {SEV: 4}})


BACK = pytest.mark.parametrize("end", [Host.fails, Host.is_reverted])


@BACK
def test_of_a_resize_that_leaves_the_old_flavor(shaped, end):
    guest = shaped.claimed()
    claim = shaped.resized(guest, specs=BOTH)
    twice = {name: 2 * amount for name, amount in PLAIN.items()}
    assert shaped.held(guest) == {"": {**twice, LICENSE: 1}, "sev": {SEV: 1}}
    end(shaped, guest, claim)
    assert shaped.held(guest) == {"": PLAIN}


def test_of_the_old_flavor_of_a_resize(shaped):
    guest = shaped.claimed(specs=BOTH)
    shaped.is_confirmed(guest, shaped.resized(guest))
    assert shaped.held(guest) == {"": PLAIN}


@BACK
def test_of_a_resize_that_ends_while_placement_is_away(shaped, end):
    guest = shaped.claimed()
    shaped.end_without_placement(end, guest, shaped.resized(guest, specs=BOTH))
    assert shaped.held(guest) == {"": PLAIN}


def test_of_a_resize_that_is_confirmed_while_placement_is_away(shaped):
    guest = shaped.claimed(specs=BOTH)
    shaped.end_without_placement(Host.is_confirmed, guest, shaped.resized(guest))
    assert shaped.held(guest) == {"": PLAIN}


def test_of_a_flavor_that_was_changed_in_the_records(shaped):
    guest = shaped.claimed(specs=BOTH)
    guest.flavor.extra_specs = {}
    shaped.host.cell.instances.save(guest)
    shaped.start()
    assert shaped.held(guest) == {"": PLAIN}


@BACK
def test_what_somebody_else_gave_stays(shaped, end):
    guest = shaped.claimed()
    shaped.somebody_adds(guest, "", {LICENSE: 1})
    end(shaped, guest, shaped.resized(guest, specs=ENCRYPTED))
    assert shaped.held(guest) == {"": {**PLAIN, LICENSE: 1}}


def test_what_somebody_gives_afterwards_stays(shaped):
    guest = shaped.claimed()
    shaped.fails(guest, shaped.resized(guest, specs=BOTH))
    shaped.somebody_adds(guest, "sev", {SEV: 1})
    shaped.update()
    shaped.start()
    assert shaped.held(guest) == {"": PLAIN, "sev": {SEV: 1}}


def test_what_a_scheduler_gave_for_an_image_stays(shaped):
    guest = shaped.guest()
    parts = {"": PLAIN, "sev": {SEV: 1}}
    shaped.allocate(guest, parts)
    given = {shaped.uuid(suffix): {"resources": part} for suffix, part in parts.items()}
    shaped.claim(guest, given)
    shaped.fails(guest, shaped.resized(guest, vcpus=3, specs={f"resources:{LICENSE}": "1"}))
    assert shaped.held(guest) == parts


def test_nothing_is_noted_of_who_is_gone(shaped):
    guest = shaped.claimed(specs=BOTH)
    guest.vm_state = "deleted"
    shaped.host.cell.instances.save(guest)
    shaped.host.cell.instances.destroy(guest)
    shaped.update()
    assert shaped.held(guest) == {}
    assert shaped.host.cell.own_allocations.all() == []

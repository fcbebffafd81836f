"""Allocations that a caller gives a tracker, and that placement lacks: they say where.

Where there is no room, they are a preference only: the tracker writes what the flavor says.
"""

from uuid import uuid4

import pytest

from tests.functional.compute.shaped_hosts import ShapedHost

CELL = {"VCPU": 2, "MEMORY_MB": 512}
WHOLE = {**CELL, "DISK_GB": 1}
GPUS = {
    "": {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100},
    "gpu0": {"VGPU": 2},
    "gpu1": {"VGPU": 2},
}
SPECS = {"resources:VGPU": "1"}


@pytest.fixture
def gpus(host, outsider):
    return ShapedHost(host, outsider, "tracker", GPUS)


def given(host, card):
    parts = {"": WHOLE, card: {"VGPU": 1}}
    return {host.uuid(one): {"resources": part} for one, part in parts.items()}


def test_it_is_written_there(gpus):
    guest = gpus.guest(specs=SPECS)
    gpus.claim(guest, given(gpus, "gpu1"))
    gpus.update()
    assert gpus.held(guest) == {"": WHOLE, "gpu1": {"VGPU": 1}}


def test_it_is_written_to_the_cell_that_was_given(host, outsider):
    cell = {"VCPU": 4, "MEMORY_MB": 2048}
    layout = {"": {"DISK_GB": 100}, "numa0": cell, "numa1": cell}
    two = ShapedHost(host, outsider, "tracker", layout)
    guest = two.guest()
    two.claim(guest, {two.uuid("numa1"): {"resources": CELL}})
    two.update()
    assert two.held(guest) == {"": {"DISK_GB": 1}, "numa1": CELL}


def test_what_has_no_room_there_is_written_elsewhere(gpus):
    gpus.allocate(str(uuid4()), {"gpu1": {"VGPU": 2}})
    guest = gpus.guest(specs=SPECS)
    gpus.claim(guest, given(gpus, "gpu1"))
    assert gpus.held(guest) == {"": WHOLE, "gpu0": {"VGPU": 1}}


def test_a_resize_on_its_host_puts_the_new_share_there(gpus):
    guest = gpus.guest(specs=SPECS)
    gpus.claim(guest, given(gpus, "gpu0"))
    claim = gpus.resized(guest, given(gpus, "gpu1"), specs=SPECS)
    cards = {"gpu0": {"VGPU": 1}, "gpu1": {"VGPU": 1}}
    assert gpus.held(guest) == {"": {name: 2 * n for name, n in WHOLE.items()}, **cards}
    gpus.places[guest.uuid] = {"gpu1": {"VGPU": 1}}
    gpus.confirm(guest, claim)
    assert gpus.held(guest) == {"": WHOLE, "gpu1": {"VGPU": 1}}

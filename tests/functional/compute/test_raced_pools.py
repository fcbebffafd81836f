"""Two hosts claim of one pool of disk at the same time."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from compute import config, exceptions
from tests.functional.compute.compute_host import ComputeHost
from tests.functional.compute.shaped_hosts import WRITERS, ShapedHost

ROOM, EACH, GUESTS = 25, 3, 8


def pooled(host, outsider, writer, aggregate):
    """Return a host without a disk of its own that has found the pool of the aggregate."""
    made = ShapedHost(host, outsider, writer, {"": {"VCPU": 80, "MEMORY_MB": 90000}})
    made.aggregates = [aggregate]
    made.start()
    made.update()
    return made


@pytest.mark.parametrize("writer", WRITERS)
def test_as_many_guests_as_fit_have_it_and_the_others_are_refused_with_numbers(
    host, outsider, new_adapter, tmp_path, writer
):
    aggregate = str(uuid4())
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": ROOM}},
        traits=["MISC_SHARES_VIA_AGGREGATE"],
        aggregates=[aggregate],
    )
    overrides = {(None, "host"): f"host-{uuid4()}", (None, "state_path"): str(tmp_path / "other")}
    other = ComputeHost(config.load(files=[], environ={}, overrides=overrides), new_adapter)
    with contextlib.closing(other.cell):
        both = [pooled(one, outsider, writer, aggregate) for one in (host, other)]
        guests = [[one.guest(root_gb=EACH) for _ in range(GUESTS)] for one in both]

        def claims(number):
            refused = {}
            for guest in guests[number]:
                try:
                    both[number].claim(guest)
                except exceptions.ComputeResourcesUnavailable as error:
                    refused[guest.uuid] = str(error)
            return refused

        with ThreadPoolExecutor(2) as threads:
            first, second = threads.map(claims, (0, 1))
    refused = first | second
    held = {one.uuid: outsider.allocations(one.uuid) for row in guests for one in row}
    have = [part[pool]["DISK_GB"] for part in held.values() if part]
    usages = outsider.call("GET", f"/resource_providers/{pool}/usages")["usages"]
    assert have == [EACH] * (ROOM // EACH)
    assert usages["DISK_GB"] == sum(have)
    assert {uuid for uuid, part in held.items() if not part} == refused.keys()
    assert all(f"no room for {EACH} DISK_GB (free: " in why for why in refused.values())

"""For random hosts and allocations, a reshape keeps what consumers have, and all of it fits."""

import copy
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute import config, exceptions
from compute.provider_tree.stock import Stock
from tests.unit.virt.consumers import uuid
from virt import fake
from virt.sriov import PhysicalFunction
from virt.testing import ReshapeScenario, holdings
from virt.virtapi import NoopVirtAPI

CONF = config.load(files=[], environ={})
VIRTAPI = NoopVirtAPI()


def made(driver_class, **options):
    return partial(driver_class, VIRTAPI, CONF, **options)


@st.composite
def held_of(draw, scenario, world):
    """Let random consumers hold what fits, of anything the host has before the reshape."""
    found = {}
    used = {}
    for number in range(draw(st.integers(0, 6))):
        places = {}
        for provider in world.tree.get_provider_uuids(scenario.host):
            one = world.tree.data(provider)
            if one.name in world.foreign:
                continue
            for resource_class, record in one.inventory.items():
                stock = used.setdefault((provider, resource_class), Stock.of(record))
                most = min(stock.free, stock.max_unit)
                amount = draw(st.integers(0, max(0, most)))
                if amount:
                    stock.used += amount
                    places.setdefault(one.name, {})[resource_class] = amount
        if places:
            found[uuid(number + 1)] = places
    return found


def reshape(scenario, world, held):
    """Reshape, and return the complaints of the conformance kit, or None if nobody could do it."""
    driver = scenario.start()
    allocations = holdings.handed_over(world, scenario.host, held)
    before = copy.deepcopy(allocations)
    with pytest.raises(exceptions.ReshapeNeeded):
        driver.update_provider_tree(world.tree, scenario.host)
    try:
        driver.update_provider_tree(world.tree, scenario.host, allocations=allocations)
    except exceptions.ReshapeFailed:
        assert allocations == before
        return None
    return list(holdings.complaints(before, allocations, scenario.renamed, world.tree, world))


CELLS = st.dictionaries(
    st.integers(0, 5),
    st.fixed_dictionaries({"VCPU": st.integers(1, 32), "MEMORY_MB": st.integers(256, 8192)}),
    min_size=1,
    max_size=4,
).filter(lambda cells: sum(cell["MEMORY_MB"] for cell in cells.values()) > 512)


@st.composite
def numa_hosts(draw):
    cells = draw(CELLS)
    cards = [
        PhysicalFunction(f"ens{n}", f"net{n}", range(functions), draw(st.sampled_from([*cells])))
        for n, functions in enumerate(draw(st.lists(st.integers(1, 8), max_size=3)))
    ]
    modelled = draw(st.booleans())
    new, old = (
        made(fake.FakeNUMAReshapeDriver, modelled=which, cells=cells, physical_functions=cards)
        for which in (modelled, not modelled)
    )
    return ReshapeScenario(new, old_driver=old)


@given(st.data(), numa_hosts())
def test_numa_cells_and_cards_and_back(data, scenario):
    world = scenario.before()
    complaints = reshape(scenario, world, data.draw(held_of(scenario, world)))
    assert not complaints


@given(st.data(), numa_hosts().filter(lambda one: not one.new_driver().modelled))
def test_a_host_can_always_be_flattened(data, scenario):
    world = scenario.before()
    assert reshape(scenario, world, data.draw(held_of(scenario, world))) == []


@given(st.data(), st.booleans())
def test_a_class_is_renamed_there_and_back(data, renamed):
    scenario = ReshapeScenario(
        made(fake.FakeRCRenameDriver, renamed=renamed),
        old_driver=made(fake.FakeRCRenameDriver, renamed=not renamed),
        renamed={"CUSTOM_FPGA": "FPGA"} if renamed else {"FPGA": "CUSTOM_FPGA"},
    )
    world = scenario.before()
    assert reshape(scenario, world, data.draw(held_of(scenario, world))) == []


@given(st.data())
def test_disk_moves_to_a_shared_pool(data):
    scenario = ReshapeScenario(
        made(fake.FakeSharedStorageDriver),
        old_driver=made(fake.FakeSharedStorageDriver, shared=False),
    )
    world = scenario.before()
    complaints = reshape(scenario, world, data.draw(held_of(scenario, world)))
    assert not complaints


@given(st.data(), st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4), min_size=1))
def test_vgpus_move_to_the_gpus_their_guests_have(data, gpus):
    # Each guest has devices of its own, and has allocated just as many.
    free = dict(gpus)
    mdevs = {}
    for number in range(data.draw(st.integers(0, 5))):
        counts = {name: data.draw(st.integers(0, left)) for name, left in free.items()}
        counts = {name: count for name, count in counts.items() if count}
        if counts:
            free = {name: left - counts.get(name, 0) for name, left in free.items()}
            mdevs[uuid(number + 1)] = counts
    scenario = ReshapeScenario(
        made(fake.FakeReshapeVGPUDriver, pgpus=gpus, mdevs=mdevs),
        old_driver=made(fake.FakeReshapeVGPUDriver, pgpus=gpus, nested=False),
    )
    held = {consumer: {"host1": {"VGPU": sum(has.values())}} for consumer, has in mdevs.items()}
    assert reshape(scenario, scenario.before(), held) == []

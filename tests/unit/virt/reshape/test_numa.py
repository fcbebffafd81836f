import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute import exceptions
from compute.provider_tree import ProviderTree
from compute.provider_tree.cells import cell_name
from compute.provider_tree.stock import Stock
from tests.unit.virt.consumers import body, resources, totals, used, uuid
from virt.inventory import record
from virt.reshape import numa

NODE = "host1"
ROOT = uuid(1000)
IS_OURS = numa.of_cells(NODE)
CELL_NAMES = [cell_name(NODE, cell) for cell in (0, 1)]


def inventory(vcpus, memory_mb, **overrides):
    return {"VCPU": record(vcpus) | overrides, "MEMORY_MB": record(memory_mb) | overrides}


FLAT = {**inventory(16, 2000), "DISK_GB": record(100)}
DISK = {"DISK_GB": record(100)}
CELLS = [numa.CellProvider(name, NODE, inventory(8, 1000)) for name in CELL_NAMES]


def flat_tree(root_inventory=FLAT):
    tree = ProviderTree()
    tree.new_root(NODE, ROOT)
    tree.update_inventory(ROOT, root_inventory)
    return tree


def model(tree, allocations=None, cells=CELLS, **options):
    numa.arrange(tree, NODE, DISK, cells, IS_OURS, allocations, **options)


def flatten(tree, allocations=None):
    numa.arrange(tree, NODE, FLAT, [], IS_OURS, allocations)


def picture(tree):
    """Name → (parent, inventory) of all providers."""
    found = [tree.data(provider) for provider in tree.get_provider_uuids()]
    return {one.name: (one.parent_uuid, one.inventory) for one in found}


MODELLED = {
    NODE: (None, DISK),
    CELL_NAMES[0]: (ROOT, inventory(8, 1000)),
    CELL_NAMES[1]: (ROOT, inventory(8, 1000)),
}


# When


def test_a_host_never_reported_is_modelled_without_a_reshape():
    tree = flat_tree({})

    model(tree)

    assert picture(tree) == MODELLED


def test_a_flat_host_needs_a_reshape_even_without_guests_and_is_left_as_it_was():
    tree = flat_tree()

    with pytest.raises(exceptions.ReshapeNeeded):
        model(tree)

    assert picture(tree) == {NODE: (None, FLAT)}


def test_a_modelled_host_needs_no_reshape():
    tree = flat_tree({})
    model(tree)

    model(tree)

    assert picture(tree) == MODELLED


def test_a_modelled_host_needs_a_reshape_to_become_flat():
    tree = flat_tree({})
    model(tree)

    with pytest.raises(exceptions.ReshapeNeeded):
        flatten(tree)

    assert picture(tree) == MODELLED


def test_a_cell_that_comes_later_is_only_added():
    tree = flat_tree({})
    model(tree, cells=CELLS[:1])

    model(tree)

    assert picture(tree) == MODELLED


def test_a_class_nobody_has_any_more_is_dropped_without_a_reshape():
    tree = flat_tree({})
    model(tree)
    cpus_only = [numa.CellProvider(name, NODE, {"VCPU": record(8)}) for name in CELL_NAMES]

    model(tree, cells=cpus_only)

    assert tree.data(CELL_NAMES[0]).inventory == {"VCPU": record(8)}


# How


def test_modelling_moves_guests_to_the_cells():
    tree = flat_tree()
    allocations = {
        uuid(1): body({ROOT: {"VCPU": 4, "MEMORY_MB": 500, "DISK_GB": 10}}),
        uuid(2): body({ROOT: {"VCPU": 6, "MEMORY_MB": 500}}),
    }

    model(tree, allocations)

    cell0, cell1 = (tree.data(name).uuid for name in CELL_NAMES)
    assert picture(tree) == MODELLED
    assert resources(allocations) == {
        uuid(1): {ROOT: {"DISK_GB": 10}, cell0: {"VCPU": 4, "MEMORY_MB": 500}},
        uuid(2): {cell1: {"VCPU": 6, "MEMORY_MB": 500}},
    }


def test_flattening_merges_a_spread_guest_back_and_removes_the_cells():
    tree = flat_tree()
    before = {uuid(1): body({ROOT: {"VCPU": 12, "MEMORY_MB": 1500, "DISK_GB": 10}})}
    allocations = copy.deepcopy(before)
    model(tree, allocations)

    flatten(tree, allocations)

    assert picture(tree) == {NODE: (None, FLAT)}
    assert resources(allocations) == resources(before)


def test_guests_of_a_cell_that_is_gone_move_to_the_others():
    tree = flat_tree({})
    model(tree)
    gone = tree.data(CELL_NAMES[1]).uuid
    allocations = {uuid(1): body({gone: {"VCPU": 3, "MEMORY_MB": 10}})}

    with pytest.raises(exceptions.ReshapeNeeded):
        model(tree, cells=CELLS[:1])
    model(tree, allocations, cells=CELLS[:1])

    assert not tree.exists(CELL_NAMES[1])
    assert resources(allocations)[uuid(1)] == {
        tree.data(CELL_NAMES[0]).uuid: {"VCPU": 3, "MEMORY_MB": 10}
    }


def test_guests_of_a_cell_that_lost_its_memory_keep_their_processors_there():
    tree = flat_tree({})
    model(tree)
    cell0, cell1 = (tree.data(name).uuid for name in CELL_NAMES)
    allocations = {uuid(1): body({cell1: {"VCPU": 3, "MEMORY_MB": 10}})}
    without_memory = [CELLS[0], numa.CellProvider(CELL_NAMES[1], NODE, {"VCPU": record(8)})]

    model(tree, allocations, cells=without_memory)

    assert resources(allocations)[uuid(1)] == {cell1: {"VCPU": 3}, cell0: {"MEMORY_MB": 10}}


def test_memory_and_processors_may_be_on_different_cells():
    cells = [
        numa.CellProvider(CELL_NAMES[0], NODE, {"VCPU": record(16)}),
        numa.CellProvider(CELL_NAMES[1], NODE, {"MEMORY_MB": record(2000)}),
    ]
    tree = flat_tree()
    allocations = {uuid(1): body({ROOT: {"VCPU": 4, "MEMORY_MB": 500}})}

    model(tree, allocations, cells=cells)

    assert resources(allocations)[uuid(1)] == {
        tree.data(CELL_NAMES[0]).uuid: {"VCPU": 4},
        tree.data(CELL_NAMES[1]).uuid: {"MEMORY_MB": 500},
    }


def test_known_places_are_given_by_the_cells_names():
    tree = flat_tree()
    allocations = {uuid(1): body({ROOT: {"VCPU": 4, "MEMORY_MB": 500}})}

    model(
        tree,
        allocations,
        known_places=lambda consumer: {CELL_NAMES[1]: {"VCPU": 4, "MEMORY_MB": 500}},
    )

    assert resources(allocations)[uuid(1)] == {
        tree.data(CELL_NAMES[1]).uuid: {"VCPU": 4, "MEMORY_MB": 500}
    }


def test_a_migrations_allocations_move_like_a_guests():
    tree = flat_tree()
    other_host = uuid(2000)
    allocations = {
        uuid(1): body({other_host: {"VCPU": 4, "MEMORY_MB": 500}}),
        uuid(2): body({ROOT: {"VCPU": 4, "MEMORY_MB": 500}}),
    }

    model(tree, allocations)

    assert resources(allocations) == {
        uuid(1): {other_host: {"VCPU": 4, "MEMORY_MB": 500}},
        uuid(2): {tree.data(CELL_NAMES[0]).uuid: {"VCPU": 4, "MEMORY_MB": 500}},
    }


def test_no_allocations_are_enough_for_a_reshape():
    tree = flat_tree()

    model(tree, {})

    assert picture(tree) == MODELLED


def test_a_failed_reshape_leaves_the_allocations_as_they_were():
    tree = flat_tree()
    allocations = {uuid(n): body({ROOT: {"VCPU": 5, "MEMORY_MB": 500}}) for n in range(1, 5)}
    before = copy.deepcopy(allocations)

    with pytest.raises(exceptions.ReshapeFailed):
        model(tree, allocations)

    assert allocations == before


# Half-way, and other people's providers


def test_children_left_by_a_crash_are_used_and_not_made_again():
    tree = flat_tree()
    left = [tree.new_child(name, ROOT) for name in CELL_NAMES]

    with pytest.raises(exceptions.ReshapeNeeded):
        model(tree)
    model(tree, {})

    assert [tree.data(name).uuid for name in CELL_NAMES] == left


def test_allocations_on_a_root_already_stripped_of_its_inventory_still_move():
    tree = flat_tree(DISK)
    allocations = {uuid(1): body({ROOT: {"VCPU": 4, "MEMORY_MB": 500}})}

    model(tree, allocations)

    assert resources(allocations)[uuid(1)] == {
        tree.data(CELL_NAMES[0]).uuid: {"VCPU": 4, "MEMORY_MB": 500}
    }


@pytest.mark.parametrize("name", ["host1_numa", "host1_numa0x", "other_numa0", "host1_pci"])
def test_children_that_are_not_cells_of_this_node_stay(name):
    tree = flat_tree({})
    tree.new_child(name, ROOT)
    tree.update_inventory(name, {"VCPU": record(3)})

    model(tree)
    with pytest.raises(exceptions.ReshapeNeeded):
        flatten(tree)
    flatten(tree, {})

    assert picture(tree)[name] == (ROOT, {"VCPU": record(3)})


def test_a_cell_with_somebody_elses_child_is_emptied_but_stays():
    tree = flat_tree({})
    model(tree)
    tree.new_child("theirs", CELL_NAMES[0])

    flatten(tree, {})

    assert (tree.exists("theirs"), tree.data(CELL_NAMES[0]).inventory) == (True, {})
    assert not tree.exists(CELL_NAMES[1])


def test_a_sharing_provider_and_other_nodes_stay_as_they_are():
    tree = flat_tree()
    for number, name in enumerate(["ssp", "host2"], start=2000):
        tree.new_root(name, uuid(number))
        tree.update_inventory(name, FLAT)
    tree.new_child("host2_numa0", "host2")

    model(tree, {})

    assert [tree.data(name).inventory for name in ("ssp", "host2")] == [FLAT, FLAT]
    assert tree.exists("host2_numa0")


# What a provider inherits


def test_a_class_that_moves_keeps_its_record_and_own_records_come_first():
    now = {NODE: {"VCPU": {"total": 4}}, CELL_NAMES[0]: {"VCPU": {"total": 2}}}

    assert numa.inherited(now, CELL_NAMES[0]) == {"VCPU": {"total": 2}}
    assert numa.inherited(now, CELL_NAMES[1]) == {"VCPU": {"total": 4}}


def test_of_different_ratios_the_highest_is_inherited():
    now = {
        CELL_NAMES[0]: {"VCPU": {"total": 2, "allocation_ratio": 2.0}},
        CELL_NAMES[1]: {"VCPU": {"total": 2, "allocation_ratio": 4.0}},
    }

    assert numa.inherited(now, NODE)["VCPU"]["allocation_ratio"] == 4.0


# Whatever the guests and cells are


@st.composite
def hosts(draw, ratios=(1.0, 1.5, 4.0)):
    """(inventories of 1-4 cells, guests' holdings on the root), with room for them or not."""
    overcommit = draw(st.sampled_from(ratios))
    cells = draw(
        st.lists(
            st.tuples(st.integers(0, 16), st.integers(0, 64), st.integers(0, 2)),
            min_size=1,
            max_size=4,
        )
    )
    inventories = [
        {
            name: record(total, min(reserved, total), overcommit)
            for name, total in (("VCPU", vcpus), ("MEMORY_MB", memory))
            if total
        }
        for vcpus, memory, reserved in cells
    ]
    guests = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 24)), max_size=8))
    return inventories, [
        {name: amount for name, amount in (("VCPU", vcpus), ("MEMORY_MB", memory)) if amount}
        | {"DISK_GB": 1}
        for vcpus, memory in guests
    ]


def modelled(inventories, guests):
    """Model a flat host with these guests; None if there is no room."""
    tree = flat_tree()
    allocations = {uuid(n): body({ROOT: held}) for n, held in enumerate(guests)}
    cells = [
        numa.CellProvider(cell_name(NODE, number), NODE, inventory)
        for number, inventory in enumerate(inventories)
    ]
    try:
        model(tree, allocations, cells=cells)
    except exceptions.ReshapeFailed:
        return None
    return tree, allocations, cells


@given(hosts())
def test_a_reshape_keeps_every_consumers_totals_and_no_cell_is_over_capacity(host):
    inventories, guests = host

    result = modelled(inventories, guests)

    if result is not None:
        tree, allocations, cells = result
        assert totals(allocations) == {uuid(n): held for n, held in enumerate(guests)}
        for cell in cells:
            for name, found in cell.inventory.items():
                in_use = used(allocations, tree.data(cell.name).uuid, name)
                assert in_use <= Stock.of(found).capacity
        assert all(
            set(places.get(ROOT, {})) <= {"DISK_GB"} for places in resources(allocations).values()
        )
        assert all(held for places in resources(allocations).values() for held in places.values())


@given(hosts(ratios=(1.0,)))
def test_without_overcommit_a_reshape_succeeds_exactly_if_the_sums_fit(host):
    inventories, guests = host

    result = modelled(inventories, guests)

    fits = all(
        sum(guest.get(name, 0) for guest in guests)
        <= sum(Stock.of(one[name]).capacity for one in inventories if name in one)
        for name in ("VCPU", "MEMORY_MB")
    )
    assert (result is not None) == fits


@given(hosts())
def test_a_second_call_changes_nothing(host):
    result = modelled(*host)
    if result is None:
        return
    tree, allocations, cells = result
    before = copy.deepcopy(allocations), picture(tree)

    model(tree, allocations, cells=cells)
    model(tree, cells=cells)

    assert (allocations, picture(tree)) == before


@given(hosts(), st.sets(st.integers(0, 3)), st.booleans())
def test_a_half_edited_tree_ends_up_the_same(host, children_there, with_inventory):
    inventories, guests = host
    result = modelled(inventories, guests)
    if result is None:
        return
    _, expected, cells = result
    tree = flat_tree()
    names = {}
    for number in children_there & set(range(len(cells))):
        names[cells[number].name] = tree.new_child(cells[number].name, ROOT)
        if with_inventory:
            tree.update_inventory(cells[number].name, cells[number].inventory)
    allocations = {uuid(n): body({ROOT: held}) for n, held in enumerate(guests)}

    model(tree, allocations, cells=cells)

    assert by_name(tree, allocations) == by_name(result[0], expected)
    assert {name: tree.data(name).uuid for name in names} == names


@given(hosts())
def test_modelling_and_flattening_again_brings_every_allocation_back(host):
    result = modelled(*host)
    if result is None:
        return
    tree, allocations, _cells = result
    everything = {name: record(10**6) for name in ("VCPU", "MEMORY_MB", "DISK_GB")}

    numa.arrange(tree, NODE, everything, [], IS_OURS, allocations)

    assert resources(allocations) == {uuid(n): {ROOT: held} for n, held in enumerate(host[1])}
    assert tree.get_provider_uuids() == [ROOT]


def by_name(tree, allocations):
    return {
        consumer: {tree.data(provider).name: held for provider, held in places.items()}
        for consumer, places in resources(allocations).items()
    }

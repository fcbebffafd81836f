from hypothesis import given
from hypothesis import strategies as st

from virt.inventory import cell_inventories, record, split

WEIGHTS = st.lists(st.integers(0, 1000), min_size=1, max_size=8)


@given(WEIGHTS, st.data())
def test_parts_add_up_and_none_exceeds_its_weight(weights, data):
    amount = data.draw(st.integers(0, sum(weights)))

    parts = split(amount, weights)

    assert sum(parts) == amount
    assert all(0 <= part <= weight for part, weight in zip(parts, weights, strict=True))


def test_rounding_favours_the_earlier_of_equals():
    assert split(3, [8, 8]) == [2, 1]


def test_a_record_lets_guests_take_any_amount_up_to_all():
    assert record(8, 2, 4.0) == {
        "total": 8,
        "reserved": 2,
        "min_unit": 1,
        "max_unit": 8,
        "step_size": 1,
        "allocation_ratio": 4.0,
    }


def test_cells_share_what_is_reserved_and_omit_what_they_lack():
    inventories = cell_inventories(
        [{"VCPU": 8, "MEMORY_MB": 1000}, {"VCPU": 0, "MEMORY_MB": 3000}, {"VCPU": 4}],
        {"VCPU": 3, "MEMORY_MB": 512},
        [{"VCPU": 4.0, "MEMORY_MB": 1.0}, {"VCPU": 4.0, "MEMORY_MB": 1.5}, {"VCPU": 2.0}],
    )

    assert inventories == [
        {"VCPU": record(8, 2, 4.0), "MEMORY_MB": record(1000, 128, 1.0)},
        {"MEMORY_MB": record(3000, 384, 1.5)},
        {"VCPU": record(4, 1, 2.0)},
    ]

"""Moves: what became of each consumer's allocations."""

from compute.maintenance.migrate.moves import AmountMove, moves_of


def told(before, after):
    """Return the moves of one consumer, from provider → class → amount."""

    def body(held):
        return {"allocations": {rp: {"resources": part} for rp, part in held.items()}}

    return moves_of({"c": body(before)}, {"c": body(after)}).get("c", [])


def test_what_stays_is_no_move():
    assert told({"a": {"VCPU": 2}}, {"a": {"VCPU": 2}}) == []


def test_a_class_goes_to_another_provider():
    assert told({"a": {"VCPU": 2, "DISK_GB": 5}}, {"a": {"DISK_GB": 5}, "b": {"VCPU": 2}}) == [
        AmountMove("VCPU", 2, "a", "b")
    ]


def test_a_class_is_split_between_two_providers():
    assert told({"a": {"VCPU": 3}}, {"b": {"VCPU": 2}, "c": {"VCPU": 1}}) == [
        AmountMove("VCPU", 2, "a", "b"),
        AmountMove("VCPU", 1, "a", "c"),
    ]


def test_a_part_stays():
    assert told({"a": {"VCPU": 3}}, {"a": {"VCPU": 1}, "b": {"VCPU": 2}}) == [
        AmountMove("VCPU", 2, "a", "b")
    ]


def test_a_class_gets_another_name():
    assert told({"a": {"CUSTOM_FPGA": 2}}, {"a": {"FPGA": 2}}) == [
        AmountMove("CUSTOM_FPGA", 2, "a", "a", renamed_to="FPGA")
    ]


def test_what_has_no_counterpart_is_lost_or_new():
    assert told({"a": {"VGPU": 2}}, {"a": {"VGPU": 1, "PCPU": 3}}) == [
        AmountMove("VGPU", 1, "a", None),
        AmountMove("PCPU", 3, None, "a"),
    ]


def test_a_consumer_that_is_not_mentioned_has_no_moves():
    assert moves_of({"c": {"allocations": {"a": {"resources": {"VCPU": 1}}}}}, {}) == {}

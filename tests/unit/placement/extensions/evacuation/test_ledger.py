"""What moves leave of an inventory (extensions.md 6)."""

from placement.extensions.evacuation.plan import Ledger

POOL = 4, 2


def test_who_takes_less_of_a_pool_than_it_held_leaves_the_rest_to_others():
    ledger = Ledger(cloud=None, begin={POOL: (60, 100)})

    ledger.move({POOL: 10}, {POOL: 25}, times=2)

    assert ledger.of(*POOL) == (30, 100)
    assert ledger.times({POOL: 20}, {}, most=9) == 3

"""Where an instance's NUMA cells fit (compute.md §4.11)."""

import itertools
import json
import random

import pytest

from compute.resource_tracker.claims import numa_fit
from tests.unit.compute.resource_tracker.equipped_host import TWO_CELLS


class TestNuma:
    def wants(self, *cells):
        return {"cells": [{"vcpus": vcpus, "memory_mb": memory} for vcpus, memory in cells]}

    def test_cells_are_placed_each_on_one_of_the_hosts(self):
        placed = numa_fit.fit(TWO_CELLS, [], self.wants((4, 1024), (2, 1024)))
        assert [cell["id"] for cell in placed["cells"]] == [0, 1]

    def test_what_is_taken_is_not_given_again(self):
        first = numa_fit.fit(TWO_CELLS, [], self.wants((4, 1024)))
        second = numa_fit.fit(TWO_CELLS, [first], self.wants((3, 1024)))
        assert second["cells"][0]["id"] == 1
        assert numa_fit.fit(TWO_CELLS, [first, second], self.wants((3, 1024))) is None

    def test_a_later_cell_may_need_the_first_choice_of_an_earlier_one(self):
        taken = [{"cells": [{"id": 1, "vcpus": 2, "memory_mb": 0}]}]
        placed = numa_fit.fit(TWO_CELLS, taken, self.wants((2, 512), (4, 512)))
        assert [cell["id"] for cell in placed["cells"]] == [1, 0]

    def test_overcommit_makes_room(self):
        assert numa_fit.fit(TWO_CELLS, [], self.wants((6, 512))) is None
        assert numa_fit.fit(TWO_CELLS, [], self.wants((6, 512)), cpu_ratio=2.0) is not None

    def test_a_host_without_cells_fits_everything(self):
        assert numa_fit.fit(None, [], self.wants((64, 512))) == self.wants((64, 512))


def host_of(*cells):
    """Return the topology of a host whose cells have so many processors, and memory for them."""
    return json.dumps(
        {"cells": [{"id": n, "cpus": list(range(cpus)), "memory_mb": 9} for n, cpus in cells]}
    )


@pytest.mark.parametrize("count", [10, 64])
def test_that_the_last_of_many_cells_fits_nowhere_is_seen_at_once(count):
    """To try every way would take hours, in which the node is locked."""
    wanted = {"cells": [{"vcpus": 2, "memory_mb": 1}] * (count - 1)}
    wanted["cells"].append({"vcpus": 3, "memory_mb": 1})
    host = host_of(*((n, 2) for n in range(count)))
    assert numa_fit.fit(host, [], wanted) is None
    assert numa_fit.fit(host, [], {"cells": wanted["cells"][:-1]}) is not None


def test_each_cell_gets_the_first_that_leaves_room_for_those_behind_it():
    """The same places as trying every way in order finds."""
    source = random.Random(1)
    for _ in range(500):
        cpus = [source.randint(0, 4) for _ in range(source.randint(1, 5))]
        wanted = [source.randint(1, 4) for _ in range(source.randint(1, 5))]
        ways = (
            list(places)
            for places in itertools.permutations(range(len(cpus)), len(wanted))
            if all(cpus[place] >= vcpus for place, vcpus in zip(places, wanted, strict=True))
        )
        placed = numa_fit.fit(
            host_of(*enumerate(cpus)),
            [],
            {"cells": [{"vcpus": vcpus, "memory_mb": 1} for vcpus in wanted]},
        )
        assert (placed and [cell["id"] for cell in placed["cells"]]) == next(ways, None)

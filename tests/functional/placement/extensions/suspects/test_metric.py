"""`placement_suspects` on the page of metrics: how many, how old, and what a page costs."""

import pytest

from placement.extensions.monitoring import suspected
from placement.extensions.monitoring.counting import Counting
from placement.extensions.monitoring.suspected import Suspected
from placement.extensions.suspects.rules import KINDS
from placement.metrics.slots import Slots
from tests.faults.running import eventually
from tests.functional.placement.extensions.monitoring.conftest import (
    counted,
    counting,
    layout,
    patient_pages,
)
from tests.functional.placement.extensions.monitoring.pages import page, value
from tests.functional.placement.extensions.suspects.clouds import provider
from tests.functional.placement.service import statements
from tests.patience import PATIENCE

__all__ = ["counted", "counting", "layout", "patient_pages"]


def shown(collecting):
    """Return the numbers by kind."""
    (family,) = collecting.collect()
    return {sample.labels["kind"]: sample.value for sample in family.samples}


def test_a_page_has_all_kinds_from_its_first_look_on(counted):
    provider(counted, 1)
    answer = page(counted)
    assert value(answer, "placement_suspects", kind="empty_root") == 1
    assert all(f'placement_suspects{{kind="{kind}"}}' in answer.text for kind in KINDS)


def test_the_next_pages_read_no_table_for_it(counted):
    page(counted)
    provider(counted, 1)
    with statements(counted.database) as found:
        answer = page(counted)
    assert value(answer, "placement_suspects", kind="empty_root") == 0
    assert not any("HAVING" in one for one in found)


class TestLooks:
    @pytest.fixture
    def now(self):
        return [0.0]

    @pytest.fixture
    def looks(self):
        return []

    @pytest.fixture
    def collecting(self, now, looks):
        def counts():
            looks.append(now[0])
            return {"empty_root": len(looks)}

        return Suspected(counts, lambda: now[0], PATIENCE)

    def test_numbers_are_kept_and_then_renewed_beside_the_page(self, collecting, now, looks):
        assert shown(collecting)["empty_root"] == 1
        now[0] = suspected.KEPT
        assert shown(collecting) == dict.fromkeys(KINDS, 0) | {"empty_root": 1}
        assert len(looks) == 1
        now[0] += 1
        shown(collecting)
        eventually(lambda: collecting._latest[0] == now[0])
        assert shown(collecting)["empty_root"] == 2
        assert len(looks) == 2

    def test_a_look_that_fails_leaves_the_last_numbers(self, now, looks):
        def counts():
            looks.append(1)
            if len(looks) > 1:
                raise OSError("no database")
            return {"two_roots": 7}

        collecting = Suspected(counts, lambda: now[0], PATIENCE)
        assert shown(collecting)["two_roots"] == 7
        now[0] = 10 * suspected.KEPT
        for _ in range(3):
            assert shown(collecting)["two_roots"] == 7

    def test_a_first_look_that_takes_long_shows_nothing_yet(self, collecting):
        slow = Suspected(lambda: {"two_roots": 1}, patience=-1)
        slow._counting.attempt = lambda patience: None
        assert shown(slow) == {}


def test_each_worker_looks_for_itself(new_service, layout, patient_pages):
    metered = [Counting.shared(layout, Slots.anonymous(layout.width)) for _ in range(2)]
    first = new_service(counting=metered[0])
    page(first)
    provider(first, 1)
    second = type(first)(first.url, counting=metered[1])
    assert value(page(second), "placement_suspects", kind="empty_root") == 1
    assert value(page(first), "placement_suspects", kind="empty_root") == 0

"""`placement_survivable_sets` on the page of metrics: how many, how old, and who judges."""

import functools

import pytest

from placement.extensions.monitoring.counting import Counting
from placement.extensions.monitoring.survivable import BY, VERDICTS
from placement.extensions.monitoring.survivable import Survivable as Hurried
from placement.metrics.slots import Slots
from tests.faults.running import eventually
from tests.functional.placement.extensions.evacuation.test_evacuations import hold, provider
from tests.functional.placement.extensions.monitoring.conftest import layout, patient_pages
from tests.functional.placement.extensions.monitoring.pages import page, value
from tests.functional.placement.small_cloud import expect, holding, numbered
from tests.patience import PATIENCE

__all__ = ["layout", "patient_pages"]

pytestmark = pytest.mark.usefixtures("patient_pages")

A, B = numbered("a", 1), numbered("a", 2)
NAME = "placement_survivable_sets"
Survivable = functools.partial(Hurried, patience=PATIENCE)


@pytest.fixture
def slots():
    made = Slots.anonymous(1)
    yield made
    made.close()


def shown(collecting):
    """Return the numbers by labels; None if there is no family."""
    families = list(collecting.collect())
    if not families:
        return None
    return {(s.labels["by"], s.labels["verdict"]): s.value for s in families[0].samples}


def numbers(value):
    return {(by, verdict): value for by in BY for verdict in VERDICTS}


def test_a_page_counts_losses_by_their_verdict(new_service, layout):
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    service = new_service(counting=counting, berth__survives_interval=60)
    provider(service, "h1", A, VCPU=4)
    provider(service, "h2", B, VCPU=2)
    hold(service, numbered("c", 1), **{A: {"VCPU": 3}})
    answer = page(service)
    assert value(answer, NAME, by="root", verdict="absorbed") == 1
    assert value(answer, NAME, by="root", verdict="impossible") == 1
    assert value(answer, NAME, by="root", verdict="unknown") == 0
    assert value(answer, NAME, by="aggregate", verdict="impossible") == 0


def test_guests_without_a_type_as_nova_has_them_may_move(new_service, layout):
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    service = new_service(counting=counting, berth__survives_interval=60)
    provider(service, "h1", A, VCPU=4)
    provider(service, "h2", B, VCPU=4)
    body = holding({A: {"VCPU": 3}})
    del body["consumer_type"]
    expect(service.put(f"/allocations/{numbered('c', 1)}", body, version="1.36"), 204)
    assert value(page(service), NAME, by="root", verdict="absorbed") == 2


def test_there_is_no_such_metric_unless_it_is_asked_for(new_service, layout):
    counting = Counting.shared(layout, Slots.anonymous(layout.width))
    assert NAME not in page(new_service(counting=counting)).text


def test_workers_share_the_numbers(slots):
    now, looks = [1.0], []

    def judged(by):
        looks.append(by)
        return dict.fromkeys(VERDICTS, len(looks))

    first, second = (Survivable(judged, slots, 60, lambda: now[0]) for _ in range(2))
    assert shown(first) == shown(second)
    assert looks == ["root", "aggregate"]


def test_numbers_are_judged_anew_beside_the_page(slots):
    now, looks = [1.0], []

    def judged(by):
        looks.append(by)
        return dict.fromkeys(VERDICTS, len(looks))

    collecting = Survivable(judged, slots, 60, lambda: now[0])
    before = shown(collecting)
    now[0] = 61.0
    assert shown(collecting) == before
    assert len(looks) == 2
    now[0] = 62.0
    shown(collecting)
    eventually(lambda: slots.board()[0] == now[0])
    assert shown(collecting)["root", "absorbed"] == 3


def test_one_worker_at_a_time_judges(slots):
    collecting = Survivable(lambda by: dict.fromkeys(VERDICTS, 1), slots, 60)
    with slots.alone() as alone:
        assert alone
        assert shown(collecting) == {}
    assert shown(collecting) == numbers(1)


def test_numbers_of_an_earlier_start_of_the_system_dont_count(slots):
    board = slots.board()
    board[0], board[1] = 1e9, 7
    now = [5.0]
    collecting = Survivable(lambda by: dict.fromkeys(VERDICTS, 1), slots, 60, lambda: now[0])
    assert shown(collecting) == numbers(1)

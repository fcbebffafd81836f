"""How allocations are read and written when placement refuses or is lost."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import config, exceptions
from compute.report import SchedulerReportClient
from tests.unit.compute.report.answers import CONCURRENT, FakeAdapter, answer, refused, row


def test_a_provider_that_keeps_moving_is_tried_four_times_and_then_given_up(make):
    client = make(*(refused(**CONCURRENT) for _ in range(4)))
    assert client.put_allocations(None, "c", {}) is False
    assert len(client.transport.adapter.sent) == 4
    assert len(client.naps) == 3


def test_a_provider_that_moved_once_is_tried_again(make):
    client = make(refused(**CONCURRENT), answer(204))
    assert client.put_allocations(None, "c", {}) is True


def test_a_consumer_that_moved_isnt_tried_again(make):
    detail = "consumer generation conflict - expected 1 but got 2"
    client = make(refused(code=CONCURRENT["code"], detail=detail))
    with pytest.raises(exceptions.AllocationUpdateFailed, match=detail):
        client.put_allocations(None, "c", {})


def test_a_conflict_of_another_kind_isnt_tried_again(make):
    client = make(refused(code="placement.undefined_code", detail="over capacity"))
    assert client.put_allocations(None, "c", {}) is False
    assert len(client.transport.adapter.sent) == 1


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (answer(200, {"allocations": {"u": {"resources": {"VCPU": 1}}}}), {"u": {}}),
        (answer(500, {}), {}),
        (ksa_exc.ConnectFailure(), None),
    ],
)
def test_the_legacy_reading_of_allocations_never_raises(make, outcome, expected):
    found = make(outcome).get_allocations_for_consumer(None, "c")
    assert (found and found.keys()) == (expected and expected.keys())
    assert (found is None) is (expected is None)


def test_allocations_that_cant_be_read_are_an_error(make):
    with pytest.raises(exceptions.ConsumerAllocationRetrievalFailed):
        make(answer(500)).get_allocs_for_consumer(None, "c")


@pytest.mark.parametrize("is_start", [False, True])
def test_of_a_provider_that_is_only_imagined_nothing_is_held_and_nothing_asked(is_start):
    client = SchedulerReportClient(FakeAdapter(), conf=config.load(files=[], environ={}))
    client.cache.imagine_root("n", "u")

    assert client.get_holders_in_provider_tree(None, "u", is_start=is_start) == {}
    assert client.get_allocations_for_resource_provider(None, "u").allocations == {}
    assert client.transport.adapter.sent == []


def test_what_was_read_whole_at_a_start_serves_the_reshape_and_nothing_after_it():
    held = {"allocations": {"u": {"resources": {"VCPU": 1}}}, "consumer_generation": 2}
    page = {"trees": [{"root": "u", "providers": [row("u", None, 4)]}], "consumers": {"c": held}}
    client = SchedulerReportClient(
        FakeAdapter(answer(200, page), answer(200, page)), conf=config.load(files=[], environ={})
    )
    client.cache.tree.populate_from_iterable([row("u", None, 4)])
    sent = client.transport.adapter.sent

    assert client.get_holders_in_provider_tree(None, "u", is_start=True) == {
        "c": {"u": {"VCPU": 1}}
    }
    whole = client.get_allocations_for_provider_tree(None, "u")
    assert whole["c"]["allocations"] == {"u": {"resources": {"VCPU": 1}, "generation": 4}}
    assert len(sent) == 1

    assert client.get_allocations_for_provider_tree(None, "u") == whole
    assert [url.partition("?")[0] for _, url, _ in sent] == ["/berth/v1/provider_trees"] * 2


def test_a_consumer_that_is_unchanged_since_a_conflict_is_not_read_again(make):
    resources = {"resources": {"VCPU": 1}}
    body = {"allocations": {"u": {**resources, "generation": 4}}, "consumer_generation": 2}
    shown = {"allocations": {"c": resources}, "resource_provider_generation": 4}
    again = {**shown, "allocations": {"c": {**resources, "consumer_generation": 2}}}
    client = make(answer(200, shown), answer(200, body), answer(200, again))

    client.cache.tree.populate_from_iterable([row("u", None, 4)])
    read = client.get_allocations_for_provider_tree(None, "u")
    assert read == {"c": body}
    # the reshape changes what it was given
    read["c"]["allocations"].clear()
    client.cache.forget_after_conflict()
    client.cache.tree.populate_from_iterable([row("u", None, 4)])

    assert client.get_allocations_for_provider_tree(None, "u") == {"c": body}
    urls = [url for _, url, _ in client.transport.adapter.sent]
    of_provider = "/resource_providers/u/allocations"
    assert urls == [of_provider, "/allocations/c", of_provider]


def test_several_consumers_are_one_question_where_placement_takes_it():
    held = {"allocations": {}, "project_id": "p", "user_id": "u", "consumer_generation": 1}
    query = "/berth/v1/allocations/query"
    for answers, urls in (
        ([answer(200, {"consumers": {"a": held}})], [query]),
        (
            [answer(404), answer(200, held), answer(200, {"allocations": {}})],
            [query, "/allocations/a", "/allocations/b"],
        ),
    ):
        conf = config.load(files=[], environ={})
        client = SchedulerReportClient(FakeAdapter(*answers), conf=conf)

        found = client.allocations.of_each(None, ["a", "b"])

        generations = {uuid: one.get("consumer_generation") for uuid, one in found.items()}
        assert generations == {"a": 1, "b": None}
        assert [url for _, url, _ in client.transport.adapter.sent] == urls

"""How the report client takes answers that a healthy placement doesn't give on demand."""

import logging
from types import SimpleNamespace

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import config, exceptions
from compute.report import SchedulerReportClient
from tests.unit.compute.report.answers import FakeAdapter, answer

CONTEXT = SimpleNamespace(global_id="req-global")
CONCURRENT = {"code": "placement.concurrent_update", "detail": "try again"}


@pytest.fixture
def make():
    def make(*answers):
        naps = []
        client = SchedulerReportClient(
            FakeAdapter(*answers), conf=config.load(files=[], environ={}), sleep=naps.append
        )
        client.naps = naps
        return client

    return make


def row(uuid, parent=None, generation=0):
    return {
        "uuid": uuid,
        "name": f"{uuid}-name",
        "generation": generation,
        "parent_provider_uuid": parent,
    }


def listed(*rows):
    return answer(200, {"resource_providers": list(rows)})


def test_a_client_without_configuration_has_the_defaults():
    client = SchedulerReportClient(FakeAdapter())
    assert client.conf.compute.resource_provider_association_refresh == 300
    assert client.conf.compute.sharing_providers_max_uuids_per_request == 200


def test_the_contexts_global_id_goes_with_every_request(make):
    client = make(listed(), answer(201, row("u")))
    client.get_provider_tree_and_ensure_root(CONTEXT, "u")
    assert {
        sent[2]["headers"]["X-Openstack-Request-Id"] for sent in client.transport.adapter.sent
    } == {"req-global"}


def test_a_root_is_created_without_mention_of_a_parent(make):
    client = make(answer(201, row("u")))
    client.providers.create(None, "u", "n")
    assert client.transport.adapter.sent[0][2]["json"] == {"uuid": "u", "name": "n"}


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([answer(500)], exceptions.ResourceProviderCreationFailed),
        ([answer(400)], exceptions.ResourceProviderCreationFailed),
        ([ksa_exc.ConnectFailure()], exceptions.ResourceProviderCreationFailed),
        (
            [answer(409, text="Conflicting resource provider name: n already exists.")],
            exceptions.ResourceProviderCreationFailed,
        ),
        (
            [answer(409, text="Conflicting resource provider uuid"), answer(404)],
            exceptions.ResourceProviderCreationFailed,
        ),
        (
            [answer(409, text="Conflicting resource provider uuid"), answer(500)],
            exceptions.ResourceProviderRetrievalFailed,
        ),
    ],
)
def test_a_root_that_cant_be_created_is_an_error(make, answers, error):
    client = make(listed(), *answers)
    with pytest.raises(error):
        client.get_provider_tree_and_ensure_root(None, "u", name="n")
    assert not client.cache.tree.exists("u")


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_provider_that_cant_be_read_is_an_error(make, status):
    with pytest.raises(exceptions.ResourceProviderRetrievalFailed):
        make(answer(status)).providers.read(None, "u")


def test_several_providers_of_one_name_are_none_and_a_warning(make, caplog):
    client = make(listed(row("a"), row("b")))
    with pytest.raises(exceptions.ResourceProviderNotFound):
        client.get_provider_by_name(None, "n")
    assert "multiple" in caplog.text


@pytest.mark.parametrize("status", [404, 500])
def test_a_name_that_cant_be_looked_up_is_not_found(make, status):
    with pytest.raises(exceptions.ResourceProviderNotFound):
        make(answer(status, {})).get_provider_by_name(None, "n")


def test_a_name_asked_of_nobody_is_a_connect_failure(make):
    with pytest.raises(exceptions.PlacementAPIConnectFailure):
        make(ksa_exc.Unauthorized()).get_provider_by_name(None, "n")


def test_sharing_providers_are_asked_for_in_batches_and_named_once(make):
    client = make(listed(row("s1"), row("s2")), listed(row("s2"), row("s3")))
    client.conf.set_override("sharing_providers_max_uuids_per_request", 2, group="compute")
    found = client.providers.sharing(None, {"a", "b", "c"})
    assert [provider["uuid"] for provider in found] == ["s1", "s2", "s3"]
    assert [url for _, url, _ in client.transport.adapter.sent] == [
        f"/resource_providers?member_of=in:{members}&required=MISC_SHARES_VIA_AGGREGATE"
        for members in ("a,b", "c")
    ]


def test_no_aggregates_share_nothing_and_ask_nothing(make):
    assert make().providers.sharing(None, []) == []


def test_an_inventory_that_cant_be_read_is_none(make):
    assert make(answer(500)).associations.refresh_and_get_inventory(None, "u") is None


def test_a_missing_endpoint_clears_the_cache(make):
    client = make(listed(), answer(201, row("u")), ksa_exc.EndpointNotFound())
    client.get_provider_tree_and_ensure_root(None, "u")
    client.invalidate_resource_provider("u", cacheonly=True)
    with pytest.raises(ksa_exc.EndpointNotFound):
        client.get_provider_tree_and_ensure_root(None, "u")
    assert client.cache.tree.get_provider_uuids() == []
    assert client.cache.read_at == {}


# The cache


@pytest.fixture
def cached(make):
    """A client with trees a ─ b and c, all of them fresh."""
    client = make()
    client.cache.tree.populate_from_iterable([row("a"), row("b", "a"), row("c")])
    for uuid in "abc":
        client.cache.note_read(uuid)
    return client


def test_forgetting_one_tree_keeps_the_others(cached):
    cached.cache.forget_tree("b")
    assert cached.cache.tree.get_provider_uuids() == ["c"]
    assert list(cached.cache.read_at) == ["c"]
    cached.cache.forget_tree("b")
    assert cached.cache.tree.get_provider_uuids() == ["c"]


def test_invalidating_forgets_the_provider_and_what_is_below(cached):
    cached.invalidate_resource_provider("a")
    assert cached.cache.tree.get_provider_uuids() == ["c"]
    assert "a" not in cached.cache.read_at
    cached.invalidate_resource_provider("nobody")


def test_invalidating_only_the_cache_time_keeps_the_provider(cached):
    cached.invalidate_resource_provider("a", cacheonly=True)
    assert cached.cache.tree.exists("a")
    assert cached.cache.is_stale("a")


def test_invalidating_by_name_keeps_the_time(cached):
    cached.invalidate_resource_provider("c-name")
    assert not cached.cache.tree.exists("c")
    assert "c" in cached.cache.read_at


def test_clearing_is_told_unless_it_is_the_beginning(make, caplog):
    with caplog.at_level(logging.INFO, logger="compute.report"):
        client = make()
        assert caplog.records == []
        client.clear_provider_cache()
    assert [record.levelname for record in caplog.records] == ["INFO"]


@pytest.mark.parametrize(
    ("period", "last", "now", "stale"),
    [
        (300, None, 1000, True),
        (300, 1000, 1300, False),
        (300, 1000, 1300.5, True),
        (0, None, 1000, True),
        (0, 1000, 10**9, False),
        (10, 1000, 1011, True),
    ],
)
def test_associations_go_stale_after_the_period(make, monkeypatch, period, last, now, stale):
    client = make()
    client.conf.set_override("resource_provider_association_refresh", period, group="compute")
    monkeypatch.setattr("compute.report.cache.time", SimpleNamespace(time=lambda: now))
    if last is not None:
        client.cache.read_at["u"] = last
    assert client.cache.is_stale("u") is stale


# Writing


def conflict(**first):
    return answer(409, {"errors": [first]})


def test_a_provider_that_keeps_moving_is_tried_four_times_and_then_given_up(make):
    client = make(*(conflict(**CONCURRENT) for _ in range(4)))
    assert client.put_allocations(None, "c", {}) is False
    assert len(client.transport.adapter.sent) == 4
    assert len(client.naps) == 3


def test_a_provider_that_moved_once_is_tried_again(make):
    client = make(conflict(**CONCURRENT), answer(204))
    assert client.put_allocations(None, "c", {}) is True


def test_a_consumer_that_moved_isnt_tried_again(make):
    detail = "consumer generation conflict - expected 1 but got 2"
    client = make(conflict(code=CONCURRENT["code"], detail=detail))
    with pytest.raises(exceptions.AllocationUpdateFailed, match=detail):
        client.put_allocations(None, "c", {})


def test_a_conflict_of_another_kind_isnt_tried_again(make):
    client = make(conflict(code="placement.undefined_code", detail="over capacity"))
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


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (409, exceptions.ResourceProviderInUse),
        (500, exceptions.ResourceProviderDeletionFailed),
    ],
)
def test_a_provider_that_cant_be_deleted_stays_cached(make, status, error):
    client = make(answer(status))
    client.cache.tree.new_root("n", "u")
    with pytest.raises(error):
        client.providers.delete(None, "u")
    assert client.cache.tree.exists("u")


@pytest.mark.parametrize("status", [204, 404])
def test_a_provider_that_is_gone_is_forgotten(make, status):
    client = make(answer(status))
    client.cache.tree.new_root("n", "u")
    client.providers.delete(None, "u")
    assert not client.cache.tree.exists("u")


def test_traits_that_cant_be_listed_are_an_error(make):
    with pytest.raises(exceptions.TraitRetrievalFailed):
        make(answer(500)).properties.ensure_traits(None, ["T"])


def test_a_placement_lost_while_traits_are_made_sets_none(make):
    client = make(ksa_exc.ConnectFailure())
    client.cache.tree.new_root("n", "u", 0)
    assert client.set_traits_for_provider(None, "u", ["T"]) is None
    assert len(client.transport.adapter.sent) == 1


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (CONCURRENT, exceptions.PlacementReshapeConflict),
        ({"code": "placement.inventory.inuse", "detail": "used"}, exceptions.ReshapeFailed),
        ({"detail": "no code"}, exceptions.ReshapeFailed),
    ],
)
def test_only_a_concurrent_update_is_a_reshape_conflict(make, body, error):
    client = make(conflict(**body))
    client.cache.tree.new_root("n", "u", 0)
    tree = client.cache.tree.subtree("u")
    with pytest.raises(exceptions.ReshapeFailed) as failed:
        client.update_from_provider_tree(None, tree, {})
    assert type(failed.value) is error
    assert client.cache.tree.exists("u") is (error is exceptions.ReshapeFailed)


def test_an_inventory_that_cant_be_read_back_after_the_reshape_fails_the_sync(make):
    client = make(answer(204), answer(500))
    client.cache.tree.new_root("n", "u", 0)
    tree = client.cache.tree.subtree("u")
    with pytest.raises(exceptions.ResourceProviderSyncFailed):
        client.update_from_provider_tree(None, tree, {})
    assert not client.cache.tree.exists("u")


def test_a_removed_provider_is_emptied_at_the_generation_it_is_known_at(make):
    client = make(answer(204), answer(200, {"inventories": {}, "resource_provider_generation": 9}))
    client.cache.tree.populate_from_iterable([row("a", None, 4), row("b", "a", 5)])
    tree = client.cache.tree.subtree("a")
    tree.update_inventory("a", {"VCPU": {"total": 1}})
    tree.remove("b")
    client.transport.adapter.answers += [answer(204)]
    client.transport.adapter.answers[1] = answer(
        200, {"inventories": {"VCPU": {"total": 1}}, "resource_provider_generation": 9}
    )
    client.update_from_provider_tree(None, tree, {"consumer": {}})
    assert client.transport.adapter.sent[0][2]["json"] == {
        "inventories": {
            "a": {"inventories": {"VCPU": {"total": 1}}, "resource_provider_generation": 4},
            "b": {"inventories": {}, "resource_provider_generation": 5},
        },
        "allocations": {"consumer": {}},
    }
    assert client.cache.tree.data("a").generation == 9

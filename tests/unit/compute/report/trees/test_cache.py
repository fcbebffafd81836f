"""What is remembered of providers, for how long, and for threads that share it."""

import logging
from types import SimpleNamespace

import pytest

from compute.exceptions import ResourceProviderUpdateConflict
from compute.report import SchedulerReportClient
from tests.unit.compute.report.answers import FakeAdapter, row


@pytest.fixture
def cached(make):
    """Make a client with the trees a ─ b and c, all of them fresh."""
    client = make()
    client.cache.tree.populate_from_iterable([row("a"), row("b", "a"), row("c")])
    for uuid in "abc":
        client.cache.note_read(uuid)
    return client


def test_forgetting_one_tree_keeps_the_others(cached):
    for uuid in "ac":
        cached.cache.note_sharing(uuid, ["pool"])
    cached.cache.forget_tree("b")
    assert cached.cache.tree.get_provider_uuids() == ["c"]
    assert list(cached.cache.read_at) == ["c"]
    assert cached.cache.sharing == {"c": {"pool"}}
    cached.cache.forget_tree("b")
    assert cached.cache.tree.get_provider_uuids() == ["c"]


def test_who_shares_with_a_tree_is_noted_anew_or_added(cached):
    for sharing, others in (("pool", False), ("disk", True)):
        cached.cache.note_sharing("b", [sharing], others)
    assert cached.cache.sharing == {"a": {"pool", "disk"}}
    cached.cache.note_sharing("b", ["lan"])
    assert cached.cache.sharing == {"a": {"lan"}}


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
        # the machine has just been started
        (300, None, 10, True),
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
    monkeypatch.setattr("compute.report.trees.cache.time", SimpleNamespace(monotonic=lambda: now))
    if last is not None:
        client.cache.read_at["u"] = last
    assert client.cache.is_stale("u") is stale


# Threads


@pytest.fixture
def client():
    client = SchedulerReportClient(FakeAdapter())
    client.cache.tree.new_root("cn", "uuid-cn")
    client.cache.tree.new_root("other", "uuid-other")
    return client


@pytest.mark.parametrize(
    "forget",
    [
        lambda client: client.clear_provider_cache(),
        lambda client: client.cache.forget_tree("uuid-cn"),
        lambda client: client.invalidate_resource_provider("uuid-cn"),
    ],
    ids=["everything", "the tree", "the provider"],
)
def test_a_provider_that_was_forgotten_amid_the_work_is_a_conflict(client, forget):
    def work():
        with client.cache.working_with("uuid-cn"):
            forget(client)
            client.cache.tree.update_inventory("uuid-cn", {})

    told = r"uuid-cn \(generation 0\): forgotten meanwhile"
    with pytest.raises(ResourceProviderUpdateConflict, match=told):
        work()


def test_a_provider_that_was_never_there_is_a_value_error(client):
    with pytest.raises(ValueError, match="No such provider"), client.cache.working_with("uuid-cn"):
        client.cache.tree.data("nobody")


def test_forgetting_one_tree_leaves_the_others(client):
    client.cache.forget_tree("uuid-cn")
    assert client.cache.tree.get_provider_uuids() == ["uuid-other"]


def test_what_was_forgotten_by_another_thread_first_is_no_error(client, monkeypatch):
    tree = client.cache.tree
    members = tree.get_provider_uuids_in_tree

    def while_another_is_quicker(uuid):
        found = members(uuid)
        tree.remove(uuid)
        return found

    monkeypatch.setattr(tree, "get_provider_uuids_in_tree", while_another_is_quicker)
    client.cache.forget_tree("uuid-cn")
    assert client.cache.tree.get_provider_uuids() == ["uuid-other"]

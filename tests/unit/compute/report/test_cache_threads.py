"""What the client's cache does when another thread forgets what this one works with."""

import pytest

from compute.exceptions import ResourceProviderUpdateConflict
from compute.report import SchedulerReportClient
from tests.unit.compute.report.answers import FakeAdapter


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

    with pytest.raises(ResourceProviderUpdateConflict):
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

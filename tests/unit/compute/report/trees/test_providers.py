"""How providers are read, created and deleted, and what each refusal raises."""

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import exceptions
from tests.unit.compute.report.answers import answer, listed, row


def test_a_root_is_created_without_mention_of_a_parent(make):
    client = make(answer(201, row("u")))
    client.providers.create(None, "u", "n")
    assert client.transport.adapter.sent[0][2]["json"] == {"uuid": "u", "name": "n"}


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

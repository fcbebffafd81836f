"""What one write of a whole tree notes, retries and tells (extensions.md 3)."""

import pytest

from compute import config, exceptions
from compute.report import SchedulerReportClient
from compute.report.trees.steps import SetTraits
from compute.report.trees.tree_write import TreeBody, TreeWriter, body_of
from tests.unit.compute.report.answers import FakeAdapter, answer, conflict, refused, row, sent_body

OFFERED = answer(200, {"offers": ["provider_trees"]})
#: the errors name providers, so no uuid is part of a word
ROOT, CHILD, NEW, SHARING, GONE = "u:root", "u:child", "u:new", "u:sharing", "u:gone"
ONE, OTHER = {"VCPU": {"total": 1}}, {"VCPU": {"total": 2}}


@pytest.fixture
def make():
    """Return a maker of clients that send whole trees; ROOT and CHILD are known."""

    def make(*answers):
        client = SchedulerReportClient(
            FakeAdapter(OFFERED, *answers),
            conf=config.load(files=[], environ={}),
            sleep=lambda seconds: None,
        )
        assert client.takes_whole_trees(None)
        client.cache.tree.populate_from_iterable([row(ROOT, None, 4), row(CHILD, ROOT, 5)])
        for uuid in (ROOT, CHILD):
            client.cache.note_read(uuid)
        return client

    return make


def write(client, wanted, **body):
    writer = TreeWriter(client.extensions, client.whole_trees, client.cache)
    return writer.write(None, TreeBody(ROOT, **body), wanted)


def written(generations):
    return answer(200, {"generations": generations})


def whole_tree(generations):
    """Return the answer that shows a tree of providers with these generations."""
    providers = [
        {"inventories": {}, "traits": [], "aggregates": [], **row(uuid, None, generation)}
        for uuid, generation in generations.items()
    ]
    return answer(200, {"trees": [{"root": ROOT, "providers": providers}], "consumers": {}})


def gone(uuid):
    error = {"code": "placement.resource_provider.not_found", "detail": f"No provider {uuid}"}
    return answer(400, {"errors": [error]})


def test_placement_is_asked_what_it_takes_before_a_tree_is_sent():
    client = SchedulerReportClient(
        FakeAdapter(answer(404), conflict()), conf=config.load(files=[], environ={})
    )
    client.cache.tree.populate_from_iterable([row(ROOT, None, 4)])
    wanted = client.cache.tree.subtree(ROOT)
    wanted.update_inventory(ROOT, ONE)

    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        client.update_from_provider_tree(None, wanted)

    assert [(method, url) for method, url, _ in client.transport.adapter.sent] == [
        ("GET", "/berth/v1"),
        ("PUT", f"/resource_providers/{ROOT}/inventories"),
    ]


@pytest.mark.parametrize(("read_at", "sent"), [(None, 5), (3, 3)])
def test_a_step_that_names_no_generation_is_sent_with_the_one_that_is_known(make, read_at, sent):
    known = make().cache.tree
    body = body_of([SetTraits(CHILD, frozenset("T"), read_at)], known, known)
    assert body.providers == {CHILD: {"generation": sent, "traits": ["T"]}}


# Noting


def test_what_was_written_is_known_afterwards(make):
    client = make(written({ROOT: 6, NEW: 1}))
    wanted = client.cache.tree.subtree(ROOT)
    wanted.new_child(f"{NEW}-name", ROOT, NEW)
    providers = {
        ROOT: {"generation": 4, "inventories": ONE, "traits": ["T"], "aggregates": ["rack"]},
        NEW: {"generation": None, "name": f"{NEW}-name", "parent_provider_uuid": ROOT},
    }

    assert write(client, wanted, providers=providers, remove={CHILD: 5})

    tree = client.cache.tree
    assert tree.get_provider_uuids() == [ROOT, NEW]
    assert tree.data(ROOT).inventory["VCPU"]["total"] == 1
    assert (tree.data(ROOT).traits, tree.data(ROOT).aggregates) == ({"T"}, {"rack"})
    assert (tree.data(ROOT).generation, tree.data(NEW).generation) == (6, 1)
    assert (wanted.data(ROOT).generation, wanted.data(NEW).generation) == (6, 1)
    assert set(client.cache.read_at) == {ROOT, NEW}


def test_traits_that_were_not_written_stay_known(make):
    client = make(written({ROOT: 5}))
    client.cache.tree.update_traits(ROOT, ["T"])

    write(client, client.cache.tree.subtree(ROOT), providers={ROOT: {"generation": 4}})

    assert client.cache.tree.data(ROOT).traits == {"T"}


@pytest.fixture
def sharing(make):
    """Return a client that knows SHARING at generation 7; the next write gives it 8."""
    client = make(written({ROOT: 5, SHARING: 8}))
    client.cache.tree.populate_from_iterable([row(SHARING, None, 7)])
    client.cache.tree.update_traits(SHARING, ["MISC_SHARES_VIA_AGGREGATE"])
    client.cache.tree.update_aggregates(SHARING, ["rack"])
    client.cache.tree.update_aggregates(ROOT, ["rack"])
    client.cache.note_read(SHARING)
    return client


MOVED = {"providers": {ROOT: {"generation": 4}}, "allocations": {"consumer": {}}}


def test_a_sharing_provider_whose_allocations_alone_were_written_has_its_new_generation(sharing):
    wanted = sharing.cache.tree.subtree_with_sharing(ROOT)

    write(sharing, wanted, **MOVED)

    assert (wanted.data(SHARING).generation, sharing.cache.tree.data(SHARING).generation) == (8, 8)
    assert sharing.cache.tree.data(SHARING).traits == {"MISC_SHARES_VIA_AGGREGATE"}
    assert not sharing.cache.is_stale(SHARING)


def test_a_conflict_that_was_noted_of_it_is_no_more(sharing):
    wanted = sharing.cache.tree.subtree_with_sharing(ROOT)
    wanted.note_conflict(SHARING)

    write(sharing, wanted, **MOVED)

    assert wanted.expected_generation(SHARING) == 8


def test_a_caller_who_read_it_earlier_keeps_the_generation_of_then(sharing):
    wanted = sharing.cache.tree.subtree_with_sharing(ROOT)
    wanted.update_traits(SHARING, [], generation=6)

    write(sharing, wanted, **MOVED)

    assert (wanted.data(SHARING).generation, sharing.cache.tree.data(SHARING).generation) == (6, 8)


def test_if_another_writer_was_there_too_it_is_read_again(sharing):
    wanted = sharing.cache.tree.subtree_with_sharing(ROOT)
    sharing.cache.tree.update_traits(SHARING, [], generation=6)

    write(sharing, wanted, **MOVED)

    assert sharing.cache.is_stale(SHARING)
    assert (wanted.data(SHARING).generation, sharing.cache.tree.data(SHARING).generation) == (7, 6)


def test_a_tree_that_was_read_without_it_may_be_written(sharing):
    assert write(sharing, sharing.cache.tree.subtree(ROOT), **MOVED)
    assert sharing.cache.tree.data(SHARING).generation == 8


def test_a_provider_nobody_knows_is_no_matter(make):
    client = make(written({ROOT: 5, GONE: 8}))

    assert write(client, client.cache.tree.subtree(ROOT), **MOVED)
    assert not client.cache.tree.exists(GONE)


# Providers to remove that another writer changed


def test_a_provider_to_remove_is_removed_as_it_is(make):
    client = make(conflict(f"{CHILD} changed"), whole_tree({ROOT: 4, CHILD: 9}), written({ROOT: 5}))

    assert write(client, client.cache.tree.subtree(ROOT), remove={CHILD: 5})

    assert sent_body(client)["remove"] == {CHILD: 9}
    assert not client.cache.tree.exists(CHILD)


def test_one_that_is_gone_already_is_left_out_and_forgotten(make):
    client = make(gone(CHILD), whole_tree({ROOT: 4}), written({}))

    assert write(client, client.cache.tree.subtree(ROOT), remove={CHILD: 5})

    assert sent_body(client)["remove"] == {}
    assert client.cache.tree.get_provider_uuids() == [ROOT]


def test_of_several_to_remove_those_that_changed_are_removed_as_they_are(make):
    client = make(
        conflict(f"{CHILD} changed"), whole_tree({ROOT: 4, CHILD: 9, NEW: 1}), written({ROOT: 5})
    )

    assert write(client, client.cache.tree.subtree(ROOT), remove={CHILD: 5, NEW: 1})

    assert sent_body(client)["remove"] == {CHILD: 9, NEW: 1}


def test_if_nothing_is_newer_the_conflict_is_told_and_nothing_sent_again(make):
    client = make(conflict(f"{CHILD} changed"), whole_tree({ROOT: 4, CHILD: 5}))

    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        write(client, client.cache.tree.subtree(ROOT), remove={CHILD: 5})

    assert [method for method, _, _ in client.transport.adapter.sent] == ["GET", "PUT", "GET"]


def test_a_reshape_does_not_remove_what_changed(make):
    client = make(conflict(f"{CHILD} changed"), whole_tree({ROOT: 4, CHILD: 9}))

    with pytest.raises(exceptions.PlacementReshapeConflict):
        write(client, client.cache.tree.subtree(ROOT), remove={CHILD: 5}, allocations={})

    assert client.cache.tree.get_provider_uuids() == []


def test_a_reshape_leaves_out_what_is_gone(make):
    client = make(gone(CHILD), whole_tree({ROOT: 4}), written({ROOT: 5}))

    assert write(client, client.cache.tree.subtree(ROOT), remove={CHILD: 5}, allocations={})

    assert sent_body(client)["remove"] == {}


# Failures


@pytest.mark.parametrize(
    ("told", "who"),
    [
        pytest.param(
            f"{CHILD} is bad", rf"{CHILD}-name \({CHILD}\): {CHILD} is bad", id="a known child"
        ),
        pytest.param(f"{NEW} is bad", rf"{NEW}-name \({NEW}\): {NEW} is bad", id="a new one"),
        pytest.param(
            "all is bad", rf"{ROOT}-name \({ROOT}\): all is bad", id="none of them: the root"
        ),
        pytest.param("", rf"{ROOT}-name \({ROOT}\): ", id="nothing"),
    ],
)
def test_a_failure_names_the_provider_it_is_about(make, told, who):
    client = make(refused(code="placement.other", detail=told))
    new = {"generation": None, "name": f"{NEW}-name", "parent_provider_uuid": ROOT}

    with pytest.raises(exceptions.ResourceProviderSyncFailed, match=f"Provider {who}"):
        write(client, client.cache.tree.subtree(ROOT), providers={NEW: new}, remove={CHILD: 5})

    assert client.cache.tree.get_provider_uuids() == []


def test_a_provider_whose_name_nobody_knows_is_named_by_its_uuid(make):
    client = make(refused(code="placement.other", detail=f"{GONE} is bad"))

    with pytest.raises(
        exceptions.ResourceProviderSyncFailed, match=f"Provider {GONE}: {GONE} is bad"
    ):
        write(client, client.cache.tree.subtree(ROOT), remove={GONE: 5})


def test_a_conflict_names_the_provider_and_is_noted(make):
    client = make(conflict(f"{CHILD} changed"))
    wanted = client.cache.tree.subtree(ROOT)

    with pytest.raises(exceptions.ResourceProviderUpdateConflict, match="5") as caught:
        write(client, wanted, providers={CHILD: {"generation": 5, "inventories": OTHER}})

    assert caught.value.kwargs["uuid"] == CHILD
    assert caught.value.kwargs["generation"] == 5
    assert (wanted.expected_generation(ROOT), wanted.expected_generation(CHILD)) == (4, None)


def test_a_conflict_that_names_nobody_is_the_roots(make):
    client = make(conflict("something changed"))
    wanted = client.cache.tree.subtree(ROOT)

    with pytest.raises(exceptions.ResourceProviderUpdateConflict) as caught:
        write(client, wanted, providers={CHILD: {"generation": 5, "inventories": OTHER}})

    assert (caught.value.kwargs["uuid"], caught.value.kwargs["generation"]) == (ROOT, 0)
    assert wanted.expected_generation(CHILD) == 5

"""An answer that isn't what placement promises is a failure, whatever was asked (compute.md §3)."""

from types import SimpleNamespace

import pytest
from keystoneauth1 import exceptions as ksa_exc

from compute import config, exceptions
from compute.report import SchedulerReportClient
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.report.wire.status_contract import NotPlacementsAnswer
from tests.offenders import assert_each
from tests.unit.compute.report.answers import ONE_BY_ONE, FakeAdapter, answer

NODE = SimpleNamespace(uuid="u", hypervisor_hostname="n")
HELD = {
    "allocations": {"u": {"generation": 3, "resources": {"VCPU": 2}}},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": 5,
}
ROW = {"uuid": "u", "name": "n", "generation": 0, "parent_provider_uuid": None}
LISTED = answer(200, {"resource_providers": [ROW]})
HOLDS, HOLDS_NOTHING = answer(200, HELD), answer(200, {"allocations": {}})
AGGREGATES = answer(200, {"aggregates": ["a"], "resource_provider_generation": 3})
OFFERED = answer(200, {"offers": ["provider_trees"]})
REQUEST = ResourceRequest({"": RequestGroup(resources={"VCPU": 1})})
PAYLOAD = {"allocations": {"u": {"resources": {"VCPU": 1}}}}


def flush(edit, allocations=None):
    def call(client):
        tree = client.cache.tree.subtree("u")
        edit(tree)
        client.update_from_provider_tree(None, tree, allocations)

    return call


# What is called, how it is answered until the request in question, and that request's method.
CALLS = {
    "reading a tree": (lambda c: c.get_providers_in_tree(None, "u"), [], "GET"),
    "reading a provider": (lambda c: c.providers.read(None, "u"), [], "GET"),
    "reading a name": (lambda c: c.get_resource_provider_name(None, "v"), [], "GET"),
    "looking for a name": (lambda c: c.get_provider_by_name(None, "n"), [], "GET"),
    "creating": (lambda c: c.providers.create(None, "v", "n"), [], "POST"),
    "deleting": (lambda c: c.providers.delete(None, "u"), [], "DELETE"),
    "inventories": (lambda c: c.associations.refresh_inventory(None, "u"), [], "GET"),
    "aggregates": (lambda c: c.providers.aggregates_of(None, "u"), [], "GET"),
    "traits": (lambda c: c.get_provider_traits(None, "u"), [], "GET"),
    "sharing providers": (lambda c: c.providers.sharing(None, ["a"]), [], "GET"),
    "ensuring a tree": (lambda c: c.get_provider_tree_and_ensure_root(None, "v"), [], "GET"),
    "ensuring a subtree": (lambda c: c.get_provider_subtree_and_ensure_root(None, "v"), [], "GET"),
    "ensuring a whole tree": (
        lambda c: c.get_provider_tree_and_ensure_root(None, "v"),
        [OFFERED],
        "GET",
    ),
    "a whole tree to edit": (
        lambda c: c.get_provider_subtree(None, "v", name="n"),
        [OFFERED],
        "GET",
    ),
    "a tree's holders": (lambda c: c.get_holders_in_provider_tree(None, "u"), [], "GET"),
    "a whole tree's holders": (
        lambda c: c.get_holders_in_provider_tree(None, "u"),
        [OFFERED],
        "GET",
    ),
    "a whole tree's allocations": (
        lambda c: c.get_allocations_for_provider_tree(None, "u"),
        [OFFERED],
        "GET",
    ),
    "flushing a whole tree": (
        flush(lambda tree: tree.update_inventory("u", {"VCPU": {"total": 1}})),
        [OFFERED],
        "PUT",
    ),
    "reshaping a whole tree": (flush(lambda tree: None, allocations={}), [OFFERED], "PUT"),
    "making a class": (
        lambda c: c.set_inventory_for_provider(None, "u", {"CUSTOM_A": {"total": 1}}),
        [],
        "PUT",
    ),
    "setting inventory": (
        lambda c: c.set_inventory_for_provider(None, "u", {"VCPU": {"total": 1}}),
        [],
        "PUT",
    ),
    "knowing traits": (lambda c: c.set_traits_for_provider(None, "u", ["CUSTOM_A"]), [], "GET"),
    "making a trait": (
        lambda c: c.set_traits_for_provider(None, "u", ["CUSTOM_A"]),
        [answer(200, {"traits": []})],
        "PUT",
    ),
    "setting traits": (
        lambda c: c.set_traits_for_provider(None, "u", ["T"]),
        [answer(200, {"traits": ["T"]})],
        "PUT",
    ),
    "setting aggregates": (lambda c: c.set_aggregates_for_provider(None, "u", ["b"]), [], "PUT"),
    "joining an aggregate": (
        lambda c: c.aggregate_add_host(None, "b", rp_uuid="u"),
        [AGGREGATES],
        "PUT",
    ),
    "leaving an aggregate": (
        lambda c: c.aggregate_remove_host(None, "a", "n"),
        [LISTED, AGGREGATES],
        "PUT",
    ),
    "a provider's allocations": (
        lambda c: c.get_allocations_for_resource_provider(None, "u"),
        [],
        "GET",
    ),
    "a consumer's allocations": (lambda c: c.get_allocs_for_consumer(None, "c"), [], "GET"),
    "a consumer's allocations, the old way": (
        lambda c: c.get_allocations_for_consumer(None, "c"),
        [],
        "GET",
    ),
    "a tree's allocations": (
        lambda c: c.get_allocations_for_provider_tree(None, "u"),
        [],
        "GET",
    ),
    "writing allocations": (lambda c: c.put_allocations(None, "c", PAYLOAD), [], "PUT"),
    "deleting allocations": (
        lambda c: c.delete_allocation_for_instance(None, "c", force=True),
        [],
        "DELETE",
    ),
    "emptying allocations": (
        lambda c: c.delete_allocation_for_instance(None, "c"),
        [HOLDS],
        "PUT",
    ),
    "leaving a tree": (
        lambda c: c.remove_provider_tree_from_instance_allocation(None, "c", "u"),
        [HOLDS, LISTED],
        "PUT",
    ),
    "claiming": (
        lambda c: c.claim_resources(None, "c", PAYLOAD, "p", "u", "1.36"),
        [HOLDS_NOTHING],
        "PUT",
    ),
    "moving allocations": (
        lambda c: c.move_allocations(None, "c", "d"),
        [HOLDS, HOLDS_NOTHING],
        "POST",
    ),
    "holding more": (
        lambda c: c.add_resources_to_instance_allocation(None, "c", {"u": {"VCPU": 1}}),
        [HOLDS],
        "PUT",
    ),
    "holding less": (
        lambda c: c.remove_resources_from_instance_allocation(None, "c", {"u": {"VCPU": 1}}),
        [HOLDS],
        "PUT",
    ),
    "deleting a node": (
        lambda c: c.delete_resource_provider(None, NODE),
        [LISTED],
        "DELETE",
    ),
    "deleting a node and what is held of it": (
        lambda c: c.delete_resource_provider(None, NODE, cascade=True, instances=["c"]),
        [],
        "DELETE",
    ),
    "candidates": (lambda c: c.get_allocation_candidates(None, REQUEST), [], "GET"),
    "usages of a provider": (
        lambda c: c.get_usages_for_resource_provider(None, "u"),
        [],
        "GET",
    ),
    "usages for limits": (lambda c: c.get_usages_counts_for_limits(None, "p"), [], "GET"),
    "usages for quota": (lambda c: c.get_usages_counts_for_quota(None, "p"), [], "GET"),
    "flushing a new child": (flush(lambda tree: tree.new_child("x", "u")), [], "GET"),
    "flushing inventory": (
        flush(lambda tree: tree.update_inventory("u", {"VCPU": {"total": 1}})),
        [],
        "PUT",
    ),
    "reshaping": (flush(lambda tree: None, allocations={}), [], "POST"),
    "reading back what was reshaped": (
        flush(lambda tree: None, allocations={}),
        [answer(204)],
        "GET",
    ),
}

# What is no success of placement's, for any request of the method: status and text.
WRONG = {
    "GET": [(201, "{}"), (202, "{}"), (204, ""), (206, "{}"), (200, ""), (200, "<html/>")],
    "POST": [(202, ""), (206, ""), (200, ""), (201, "<html/>")],
    "PUT": [(202, ""), (206, ""), (203, "{}"), (200, "")],
    "DELETE": [(200, ""), (200, "{}"), (202, ""), (203, "")],
}
REDIRECTIONS = [(status, "") for status in (300, 301, 302, 303, 304, 305, 307, 308)]

#: None is a failure wherever a method may answer it (compute.md §3.3), and False a refusal.
FAILURES = (ksa_exc.ClientException, exceptions.NovaException)


@pytest.fixture(scope="module")
def make():
    one_by_one = config.load(files=[], environ={}, overrides=ONE_BY_ONE)
    whole_trees = config.load(files=[], environ={})

    def make(*answers):
        conf = whole_trees if answers[0] is OFFERED else one_by_one
        client = SchedulerReportClient(FakeAdapter(*answers), conf=conf, sleep=lambda seconds: None)
        if answers[0] is OFFERED:
            assert client.takes_whole_trees(None)
        client.cache.tree.new_root("n", "u", 0)
        client.cache.note_read("u")
        return client

    return make


def test_what_placement_doesnt_promise_is_no_success(make):
    def fails(act, before, status, text):
        client = make(*before, answer(status, text=text))
        try:
            outcome = act(client)
        except FAILURES:
            outcome = None
        assert outcome is None
        # Nothing was done as if it had succeeded, and nothing is remembered of it.
        assert client.transport.adapter.answers == []
        assert client.cache.tree.get_provider_uuids() in (["u"], [])
        assert not client.cache.tree.exists("u") or not client.cache.tree.data("u").inventory

    answered = {
        f"{name}, answered {status} {text or 'empty'}": (act, before, status, text)
        for name, (act, before, method) in CALLS.items()
        for status, text in [*WRONG[method], *REDIRECTIONS]
    }
    assert_each(answered, fails)


def test_a_reshape_that_placement_didnt_confirm_has_failed(make):
    def fails(status, text):
        client = make(answer(status, text=text))
        with pytest.raises(exceptions.ReshapeFailed, match=rf"answered {status}"):
            flush(lambda tree: None, allocations={})(client)

    answered = {
        f"{status} {text or 'empty'}": (status, text)
        for status in (200, 201, 202, 203, 206, 301, 302, 304, 307, 308)
        for text in ("", "{}")
    }
    assert_each(answered, fails)


def test_every_public_method_that_asks_placement_is_looked_at():
    quiet = {"apply", "plan", "clear_provider_cache", "invalidate_resource_provider"}
    # a wrong answer says that nothing is offered: test_extensions.py
    quiet.add("takes_whole_trees")
    verbs = {"get", "post", "put", "delete", "working_with"} | {"settled", "forget_after_conflict"}
    public = {name for name in dir(SchedulerReportClient) if not name.startswith("_")}
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    assert [name for name in public - quiet - verbs if f"c.{name}(" not in text] == [
        "update_from_provider_tree"
    ]


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "/resource_providers/u/inventories", 204),
        ("GET", "/traits/T", 200),
        ("POST", "/reshaper", 201),
        ("POST", "/allocations", 200),
        ("PUT", "/allocations/c", 200),
        ("PUT", "/traits/T", 200),
        ("DELETE", "/allocations/c", 202),
    ],
)
def test_the_verbs_themselves_refuse_it_and_say_what_it_was(make, method, url, status):
    client = make(answer(status, text="{}"))
    verb = getattr(client, method.lower())
    with pytest.raises(NotPlacementsAnswer, match=f"{method} {url} was answered {status}, and"):
        verb(url, *[{}] * (method in ("POST", "PUT")))


@pytest.mark.parametrize(
    ("method", "url", "status", "text"),
    [
        ("GET", "/traits/T", 204, ""),
        ("POST", "/resource_classes", 201, ""),
        ("POST", "/resource_providers", 201, "{}"),
        ("PUT", "/traits/T", 201, ""),
        ("PUT", "/resource_classes/CUSTOM_A", 204, ""),
        ("GET", "/anything", 404, "<html/>"),
        ("DELETE", "/allocations/c", 503, ""),
    ],
)
def test_promised_answers_and_errors_are_handed_on(make, method, url, status, text):
    client = make(answer(status, text=text))
    verb = getattr(client, method.lower())
    assert verb(url, *[{}] * (method in ("POST", "PUT"))).status_code == status


@pytest.mark.parametrize(
    "act",
    [
        lambda client: client.providers.delete(None, "u"),
        lambda client: client.providers.read(None, "u"),
        lambda client: client.delete_allocation_for_instance(None, "c", force=True),
    ],
    ids=["deleting a provider", "reading a provider", "deleting allocations"],
)
def test_a_404_of_something_else_doesnt_say_that_there_is_nothing(make, act):
    def is_refused(text):
        client = make(answer(404, text=text))
        with pytest.raises(NotPlacementsAnswer, match="answered 404"):
            act(client)
        assert client.cache.tree.exists("u")

    html, no_placement = "<html>Not Found</html>", '{"message": "no route"}'
    texts = (html, "404 page not found", no_placement, "[]", "7")
    assert_each({text: (text,) for text in texts}, is_refused)


def test_placements_own_404_does(make):
    client = make(answer(404, {"errors": [{"status": 404, "detail": "No resource provider u"}]}))
    client.providers.delete(None, "u")
    assert not client.cache.tree.exists("u")

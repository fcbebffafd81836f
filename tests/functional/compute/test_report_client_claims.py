"""Claiming, moving and adjusting allocations, aggregates, usages.

See compute.md §3.10–3.13; C13, C22, C23.
"""

from uuid import uuid4

import pytest

from compute import exceptions
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest

SHARES = "MISC_SHARES_VIA_AGGREGATE"
WHO = ("project", "user")


@pytest.fixture
def two_hosts(outsider):
    """(first host, second host, the storage both share)"""
    aggregate = str(uuid4())
    hosts = [
        outsider.provider(inventory={"VCPU": {"total": 8}}, aggregates=[aggregate])
        for _ in range(2)
    ]
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 100}}, traits=[SHARES], aggregates=[aggregate]
    )
    return (*hosts, pool)


def asks_for(host, pool):
    return {
        "allocations": {
            host: {"resources": {"VCPU": 2}},
            pool: {"resources": {"DISK_GB": 10}},
        }
    }


def test_c13_hosts_join_and_leave_aggregates_without_being_cached(client, context, outsider):
    name, aggregate = f"host-{uuid4()}", str(uuid4())
    host = outsider.provider(name=name)
    client.aggregate_add_host(context, aggregate, host_name=name)
    joined = outsider.aggregates(host)
    client.aggregate_remove_host(context, aggregate, name)
    assert (joined, outsider.aggregates(host)) == ({aggregate}, set())
    assert client.cache.tree.get_provider_uuids() == []


def test_c13_leaving_twice_writes_once(client, context, outsider, placement_adapter):
    name, aggregate = f"host-{uuid4()}", str(uuid4())
    outsider.provider(name=name, aggregates=[aggregate])
    client.aggregate_remove_host(context, aggregate, name)
    client.aggregate_remove_host(context, aggregate, name)
    assert len(placement_adapter.writes) == 1


def test_c13_a_host_can_be_named_by_its_providers_uuid(client, context, outsider):
    host, aggregate = outsider.provider(), str(uuid4())
    client.aggregate_add_host(context, aggregate, rp_uuid=host)
    assert outsider.aggregates(host) == {aggregate}


def test_c13_another_writer_of_the_aggregates_is_not_overwritten(
    client, context, outsider, placement_adapter
):
    host, aggregate, others = outsider.provider(), str(uuid4()), str(uuid4())
    behind_our_back = [lambda: outsider.set_aggregates(host, [others])]

    def before(method, url):
        if method == "PUT" and behind_our_back:
            behind_our_back.pop()()

    placement_adapter.before = before
    client.aggregate_add_host(context, aggregate, rp_uuid=host)
    assert outsider.aggregates(host) == {aggregate, others}


def test_an_unknown_host_joins_no_aggregate(client, context):
    with pytest.raises(exceptions.ResourceProviderNotFound):
        client.aggregate_add_host(context, str(uuid4()), host_name=f"host-{uuid4()}")


def test_c22_moving_allocations_keeps_all_of_them_and_their_owner(
    client, context, outsider, two_hosts
):
    host, _, pool = two_hosts
    held = {host: {"VCPU": 2}, pool: {"DISK_GB": 10}}
    instance, migration = outsider.allocate(held), str(uuid4())
    assert client.move_allocations(context, instance, migration) is True
    owner = outsider.call("GET", f"/allocations/{migration}")
    assert (outsider.allocations(instance), outsider.allocations(migration)) == ({}, held)
    assert (owner["project_id"], owner["user_id"]) == WHO


def test_c22_moving_them_again_is_done_already(
    client, context, outsider, two_hosts, placement_adapter
):
    instance, migration = outsider.allocate({two_hosts[0]: {"VCPU": 2}}), str(uuid4())
    client.move_allocations(context, instance, migration)
    assert client.move_allocations(context, instance, migration) is True
    assert [sent[0] for sent in placement_adapter.requests].count("POST") == 1


def test_moving_nothing_to_nothing_is_not_done(client, context):
    assert client.move_allocations(context, str(uuid4()), str(uuid4())) is False


def test_moving_back_needs_the_targets_generation_and_has_it(client, context, outsider, two_hosts):
    host = two_hosts[0]
    instance, migration = outsider.allocate({host: {"VCPU": 2}}), str(uuid4())
    client.move_allocations(context, instance, migration)
    assert client.move_allocations(context, migration, instance) is True
    assert outsider.allocations(instance) == {host: {"VCPU": 2}}


def test_a_consumer_that_changes_amid_a_move_ends_it(
    client, context, outsider, two_hosts, placement_adapter
):
    host = two_hosts[0]
    instance = outsider.allocate({host: {"VCPU": 2}})

    def change(method, url):
        if method == "POST":
            outsider.allocate({host: {"VCPU": 3}}, instance)

    placement_adapter.before = change
    with pytest.raises(exceptions.AllocationMoveFailed):
        client.move_allocations(context, instance, str(uuid4()))
    assert outsider.allocations(instance) == {host: {"VCPU": 3}}


def test_c23_a_claim_on_a_second_host_doubles_all_but_what_is_shared(
    client, context, outsider, two_hosts
):
    first, second, pool = two_hosts
    consumer = str(uuid4())
    assert client.claim_resources(context, consumer, asks_for(first, pool), *WHO, "1.36") is True
    assert client.claim_resources(context, consumer, asks_for(second, pool), *WHO, "1.36") is True
    assert outsider.allocations(consumer) == {
        first: {"VCPU": 2},
        second: {"VCPU": 2},
        pool: {"DISK_GB": 10},
    }


def test_a_claim_leaves_the_request_as_it_was(client, context, two_hosts):
    request = asks_for(two_hosts[0], two_hosts[2])
    client.claim_resources(context, str(uuid4()), request, *WHO, "1.36")
    assert request == asks_for(two_hosts[0], two_hosts[2])


def test_a_claim_before_consumer_generations_sends_none(client, context, outsider, two_hosts):
    consumer = str(uuid4())
    request = asks_for(two_hosts[0], two_hosts[2])
    assert client.claim_resources(context, consumer, request, *WHO, "1.12") is True
    assert outsider.allocations(consumer)[two_hosts[0]] == {"VCPU": 2}


def test_a_claim_of_more_than_there_is_is_refused(client, context, two_hosts):
    request = {"allocations": {two_hosts[0]: {"resources": {"VCPU": 9}}}}
    assert client.claim_resources(context, str(uuid4()), request, *WHO, "1.36") is False


def test_a_candidate_can_be_claimed(client, context, outsider):
    name = f"CUSTOM_{uuid4().hex.upper()}"
    host = outsider.provider(inventory={name: {"total": 8}})
    request = ResourceRequest({"": RequestGroup(resources={name: 3})})
    (candidate,), summaries, version = client.get_allocation_candidates(context, request)
    consumer = str(uuid4())
    assert client.claim_resources(context, consumer, candidate, *WHO, version) is True
    assert list(summaries) == [host]
    assert outsider.allocations(consumer) == {host: {name: 3}}


def test_resources_are_added_to_what_an_instance_holds(client, context, outsider, two_hosts):
    host, _, pool = two_hosts
    consumer = outsider.allocate({host: {"VCPU": 2}})
    client.add_resources_to_instance_allocation(
        context, consumer, {host: {"VCPU": 1}, pool: {"DISK_GB": 5}}
    )
    assert outsider.allocations(consumer) == {host: {"VCPU": 3}, pool: {"DISK_GB": 5}}


def test_resources_may_have_the_shape_of_allocations(client, context, outsider, two_hosts):
    host, _, pool = two_hosts
    consumer = outsider.allocate({host: {"VCPU": 2}})
    client.add_resources_to_instance_allocation(
        context, consumer, {host: {"resources": {"VCPU": 1}}, pool: {"resources": {"DISK_GB": 5}}}
    )
    added = outsider.allocations(consumer)
    client.remove_resources_from_instance_allocation(
        context, consumer, {host: {"resources": {"VCPU": 2}}}
    )
    assert added == {host: {"VCPU": 3}, pool: {"DISK_GB": 5}}
    assert outsider.allocations(consumer) == {host: {"VCPU": 1}, pool: {"DISK_GB": 5}}


def test_adding_nothing_asks_nothing(client, context, placement_adapter):
    client.add_resources_to_instance_allocation(context, str(uuid4()), {})
    assert placement_adapter.requests == []


def test_adding_is_repeated_when_the_consumer_changed_meanwhile(
    client, context, outsider, two_hosts, placement_adapter
):
    host, _, pool = two_hosts
    consumer = outsider.allocate({host: {"VCPU": 2}})
    behind_our_back = [lambda: outsider.allocate({host: {"VCPU": 4}}, consumer)]

    def before(method, url):
        if method == "PUT" and behind_our_back:
            behind_our_back.pop()()

    placement_adapter.before = before
    client.add_resources_to_instance_allocation(context, consumer, {pool: {"DISK_GB": 5}})
    assert outsider.allocations(consumer) == {host: {"VCPU": 4}, pool: {"DISK_GB": 5}}


def test_adding_more_than_there_is_fails(client, context, outsider, two_hosts):
    consumer = outsider.allocate({two_hosts[0]: {"VCPU": 2}})
    with pytest.raises(exceptions.AllocationUpdateFailed):
        client.add_resources_to_instance_allocation(context, consumer, {two_hosts[0]: {"VCPU": 7}})


def test_removing_leaves_no_zeros_and_no_empty_providers(client, context, outsider, two_hosts):
    host, _, pool = two_hosts
    consumer = outsider.allocate({host: {"VCPU": 2}, pool: {"DISK_GB": 5}})
    client.remove_resources_from_instance_allocation(
        context, consumer, {host: {"VCPU": 1}, pool: {"DISK_GB": 5}}
    )
    assert outsider.allocations(consumer) == {host: {"VCPU": 1}}


def test_removing_more_than_an_instance_holds_fails_and_leaves_it(
    client, context, outsider, two_hosts
):
    host, other, _ = two_hosts
    consumer = outsider.allocate({host: {"VCPU": 2}})
    for too_much in ({host: {"VCPU": 3}}, {host: {"DISK_GB": 1}}, {other: {"VCPU": 1}}):
        with pytest.raises(exceptions.AllocationUpdateFailed):
            client.remove_resources_from_instance_allocation(context, consumer, too_much)
    assert outsider.allocations(consumer) == {host: {"VCPU": 2}}


def test_a_consumer_without_allocations_can_be_given_or_taken_nothing(client, context, two_hosts):
    for change in (
        client.add_resources_to_instance_allocation,
        client.remove_resources_from_instance_allocation,
    ):
        with pytest.raises(exceptions.AllocationUpdateFailed):
            change(context, str(uuid4()), {two_hosts[0]: {"VCPU": 1}})


def test_usages_count_cores_and_memory(client, context, outsider):
    project, user = f"project-{uuid4()}", f"user-{uuid4()}"
    host = outsider.provider(
        inventory={"VCPU": {"total": 8}, "PCPU": {"total": 8}, "MEMORY_MB": {"total": 1024}}
    )
    for who, resources in (
        (user, {"VCPU": 2, "PCPU": 1, "MEMORY_MB": 512}),
        ("another", {"VCPU": 1}),
    ):
        client.put_allocations(
            context,
            str(uuid4()),
            {
                "allocations": {host: {"resources": resources}},
                "project_id": project,
                "user_id": who,
                "consumer_generation": None,
            },
        )
    assert client.get_usages_counts_for_quota(context, project, user) == {
        "project": {"cores": 4, "ram": 512},
        "user": {"cores": 3, "ram": 512},
    }
    assert client.get_usages_counts_for_limits(context, project) == {
        "VCPU": 3,
        "PCPU": 1,
        "MEMORY_MB": 512,
    }


def test_a_project_that_uses_nothing_counts_as_zero(client, context):
    counts = client.get_usages_counts_for_quota(context, f"project-{uuid4()}")
    assert counts == {"project": {"cores": 0, "ram": 0}}

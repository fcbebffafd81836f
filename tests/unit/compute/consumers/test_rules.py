"""Whose a consumer is: every state of its records on every kind of provider."""

import itertools
from dataclasses import replace

import pytest

from compute.consumers.rules import (
    LEFTOVER,
    SETTLED,
    ConsumerKind,
    Evidence,
    KnownPlace,
    is_moving,
    is_on_its_way,
    judge,
)
from compute.records.compute_node import ComputeNode
from compute.records.instance import Instance
from compute.records.migration import ENDED, ERROR, Migration
from tests.offenders import assert_each, assert_none

NODE = ComputeNode("00000000-0000-4000-8000-000000000001", "host1", "node1")
PLACES = {
    "own": KnownPlace(NODE, shares=False),
    "own that shares": KnownPlace(NODE, shares=True),
    "pool": KnownPlace(None, shares=True),
    "another's": KnownPlace(None, shares=False),
}
HERE = {"host": "host1", "node": "node1", "vm_state": "active"}
AWAY = {"host": "host2", "node": "node2", "vm_state": "active"}
NOWHERE = {"host": None, "node": None}
OFFLOADED = NOWHERE | {"vm_state": "shelved_offloaded"}


def instance(*moves, **fields):
    known = Instance(uuid="instance", **fields)
    return Evidence("host1", instance=known, moves=moves)


def move(source="host2", dest="host3", status="migrating"):
    return Migration(
        "instance",
        status=status,
        source_compute=source,
        source_node=source.replace("host", "node"),
        dest_compute=dest,
        dest_node=dest.replace("host", "node"),
    )


def migration(*args, **kwargs):
    return Evidence("host1", migration=move(*args, **kwargs))


H, W, G, E, U, N, R, D = (
    ConsumerKind.HERE,
    ConsumerKind.ON_ITS_WAY,
    ConsumerKind.GONE,
    ConsumerKind.ELSEWHERE,
    ConsumerKind.UNRECORDED,
    ConsumerKind.NOT_OURS,
    ConsumerKind.RUNNING,
    ConsumerKind.IN_DOUBT,
)
#: evidence → what it makes the consumer on the PLACES, in their order
TABLE = {
    "lives here": (instance(**HERE), [H, H, H, N]),
    "lives elsewhere": (instance(**AWAY), [E, H, H, N]),
    "another node of this host": (instance(**(HERE | {"node": "node9"})), [E, H, H, N]),
    "has a host and no node yet": (instance(**(HERE | {"node": None})), [W, W, H, N]),
    "is built": (instance(**NOWHERE), [W] * 4),
    "is built and spawned": (instance(**NOWHERE, task_state="spawning"), [W] * 4),
    "is offloaded": (instance(**OFFLOADED), [E, N, N, N]),
    "is unshelved": (instance(**OFFLOADED, task_state="unshelving"), [W] * 4),
    "is unshelved and spawned": (instance(**OFFLOADED, task_state="spawning"), [W] * 4),
    "failed and has no host": (instance(**NOWHERE, vm_state="error"), [E, N, N, N]),
    "is scheduled again": (
        instance(**NOWHERE, vm_state="error", task_state="scheduling"),
        [W] * 4,
    ),
    "deleted here": (instance(**HERE, deleted=True), [G, N, N, N]),
    "deleted here and alone": (
        replace(instance(**HERE, deleted=True), alone_here=True),
        [G, G, G, N],
    ),
    "deleted elsewhere": (instance(**AWAY, deleted=True), [G, N, N, N]),
    "deleted elsewhere and alone": (
        replace(instance(**AWAY, deleted=True), alone_here=True),
        [G, N, N, N],
    ),
    "offloaded and alone": (replace(instance(**OFFLOADED), alone_here=True), [E, N, N, N]),
    "hidden here": (instance(**HERE, deleted=True, hidden=True), [H, H, H, N]),
    "hidden elsewhere": (instance(**AWAY, deleted=True, hidden=True), [E, H, H, N]),
    "comes": (instance(move(dest="host1"), **AWAY), [W, W, H, N]),
    "leaves": (instance(move(source="host1"), **AWAY), [W, W, H, N]),
    "left and is not confirmed": (
        instance(move(source="host1", status="finished"), **AWAY),
        [W, W, H, N],
    ),
    "moves between others": (
        instance(move(), **AWAY, task_state="migrating"),
        [E, H, H, N],
    ),
    "moved once": (instance(move(dest="host1", status="completed"), **AWAY), [E, H, H, N]),
    "failed to move once": (instance(move(source="host1", status=ERROR), **AWAY), [E, H, H, N]),
    "failed to move, moves again": (
        instance(move(status=ERROR), move(source="host1"), **AWAY),
        [W, W, H, N],
    ),
    "is resized, where isn't recorded": (
        instance(**AWAY, task_state="resize_migrating"),
        [W] * 4,
    ),
    "is migrated, where isn't recorded": (instance(**AWAY, task_state="migrating"), [W] * 4),
    "is evacuated, where isn't recorded": (instance(**AWAY, task_state="rebuilding"), [W] * 4),
    "resized, where isn't recorded": (instance(**(AWAY | {"vm_state": "resized"})), [W] * 4),
    "a migration from here": (migration(source="host1"), [W, W, H, N]),
    "a migration to here": (migration(dest="host1"), [W, W, H, N]),
    "a failed migration from here": (migration(source="host1", status=ERROR), [W, W, H, N]),
    "a migration of others": (migration(), [E, H, H, N]),
    "a migration that is over": (migration(source="host1", status="confirmed"), [G, N, N, N]),
    "a migration of ours that is over and alone": (
        replace(migration(source="host1", status="confirmed"), alone_here=True),
        [G, G, G, N],
    ),
    "a migration of others that is over and alone": (
        replace(migration(status="confirmed"), alone_here=True),
        [G, N, N, N],
    ),
    "a migration whose instance isn't back yet": (
        replace(
            migration(source="host1", status="reverted"),
            moved=Instance(**AWAY | {"vm_state": "resized"}),
        ),
        [W] * 4,
    ),
    "a migration whose instance is worked on": (
        replace(
            migration(source="host1", status="failed"),
            moved=Instance(**HERE, task_state="powering-on"),
        ),
        [W] * 4,
    ),
    "a migration whose instance is back": (
        replace(migration(source="host1", status="reverted"), moved=Instance(**HERE)),
        [G, N, N, N],
    ),
    "a migration whose instance is back and holds nothing": (
        replace(
            migration(source="host1", status="reverted"),
            moved=Instance(**HERE),
            moved_is_placed=False,
            alone_here=True,
        ),
        [W] * 4,
    ),
    "a failed migration whose instance rests": (
        replace(migration(source="host1", status=ERROR), moved=Instance(**AWAY)),
        [G, N, N, N],
    ),
    "a failed migration whose instance rests and holds nothing": (
        replace(
            migration(source="host1", status=ERROR), moved=Instance(**HERE), moved_is_placed=False
        ),
        [W] * 4,
    ),
    "a failed migration whose instance isn't back yet": (
        replace(
            migration(source="host1", status=ERROR), moved=Instance(**HERE, task_state="migrating")
        ),
        [W] * 4,
    ),
    "a migration whose instance was deleted on the way": (
        replace(migration(source="host1"), moved=Instance(**HERE, deleted=True)),
        [G, N, N, N],
    ),
    "a migration whose instance is in another cell": (
        replace(migration(source="host1"), moved=Instance(**HERE, deleted=True, hidden=True)),
        [W, W, H, N],
    ),
    "a completed migration whose instance holds nothing": (
        replace(
            migration(source="host1", status="completed"),
            moved=Instance(**AWAY),
            moved_is_placed=False,
        ),
        [G, N, N, N],
    ),
    "a migration whose instance moved for good": (
        replace(
            migration(source="host1", status="confirmed"),
            moved=Instance(**AWAY, task_state="powering-on"),
        ),
        [G, N, N, N],
    ),
    "unknown": (Evidence("host1"), [U, N, N, N]),
    "unknown and alone": (Evidence("host1", alone_here=True), [U, N, N, N]),
    "unknown to empty records": (Evidence("host1", records_know_instances=False), [N] * 4),
    "unknown that runs": (Evidence("host1", runs_here=True), [R, R, R, N]),
    "deleted that runs": (
        Evidence("host1", Instance(host="host1", deleted=True), runs_here=True),
        [R, R, R, N],
    ),
    "unknown where the driver can't list its guests": (
        Evidence("host1", runs_here=None),
        [D, N, N, N],
    ),
}


#: each state on each kind of provider
CASES = {
    f"{what}, on {place}": (PLACES[place], evidence, kind)
    for what, (evidence, kinds) in TABLE.items()
    for place, kind in zip(PLACES, kinds, strict=True)
}


def test_what_a_consumer_is_to_a_provider():
    def is_judged(place, evidence, kind):
        verdict = judge(place, evidence)
        assert verdict.kind is kind
        assert verdict.reason

    assert_each(CASES, is_judged)


def test_what_is_no_instance_by_its_type_is_never_a_leftover():
    def is_of_another_type(place, evidence, _):
        verdict = judge(place, replace(evidence, consumer_type="BLAZAR_LEASE"))
        assert (verdict.kind, verdict.reason) == (
            ConsumerKind.OTHER_TYPE,
            "its consumer type is BLAZAR_LEASE",
        )

    assert_each(CASES, is_of_another_type)


@pytest.mark.parametrize("known", ["INSTANCE", "MIGRATION", "unknown"])
def test_the_types_of_instances_and_no_type_change_nothing(known):
    def is_judged_alike(place, evidence, _):
        assert judge(place, replace(evidence, consumer_type=known)) == judge(place, evidence)

    assert_each(CASES, is_judged_alike)


def test_nothing_is_a_leftover_on_what_is_not_this_host_s():
    assert_none(
        what
        for what, (evidence, _) in TABLE.items()
        if judge(PLACES["another's"], evidence).kind in LEFTOVER
    )


@pytest.mark.parametrize("place", ["own that shares", "pool"])
def test_on_what_shares_only_a_record_of_what_was_here_alone_makes_a_leftover(place):
    leftovers = {
        what: (evidence,)
        for what, (evidence, _) in TABLE.items()
        if judge(PLACES[place], evidence).kind in LEFTOVER
    }

    def was_here_alone(evidence):
        assert evidence.alone_here
        assert (
            judge(PLACES[place], replace(evidence, alone_here=False)).kind is ConsumerKind.NOT_OURS
        )

    assert_each(leftovers, was_here_alone)


def test_an_instance_is_on_its_way_without_a_host_while_built_or_worked_on():
    states = itertools.product(
        [None, "host1"],
        ["building", "active", "shelved_offloaded", "error", "resized"],
        [None, "spawning", "unshelving", "scheduling", "deleting"],
    )

    def is_judged(host, vm_state, task_state):
        found = is_on_its_way(Instance(host=host, vm_state=vm_state, task_state=task_state))
        worked_on = vm_state == "building" or task_state is not None
        assert found is (host is None and worked_on)

    assert_each({f"{state}": state for state in states}, is_judged)


@pytest.mark.parametrize(
    ("vm_state", "task_state", "moving"),
    [
        ("active", None, False),
        ("active", "spawning", False),
        ("active", "resize_prep", True),
        ("active", "resize_finish", True),
        ("active", "migrating", True),
        ("active", "rebuild_spawning", True),
        ("resized", None, True),
        ("shelved_offloaded", "unshelving", False),
    ],
)
def test_an_instance_moves_until_that_is_confirmed(vm_state, task_state, moving):
    assert is_moving(Instance(vm_state=vm_state, task_state=task_state)) is moving


def test_a_migration_that_is_over_or_failed_is_not_in_progress():
    assert_none(status for status in [*sorted(ENDED), ERROR] if move(status=status).in_progress)


def test_kinds_are_settled_or_leftovers_or_for_others_to_judge():
    assert set(ConsumerKind) - SETTLED - LEFTOVER == {
        ConsumerKind.NOT_OURS,
        ConsumerKind.OTHER_TYPE,
        ConsumerKind.RUNNING,
        ConsumerKind.IN_DOUBT,
    }

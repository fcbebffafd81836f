"""Conflicts of several groups, on small clouds: each is one, and nothing of it can be left out."""

import dataclasses

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, note, settings

from placement.candidates.live import loading
from placement.extensions.explain.conditions import listed
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.extent import examples
from tests.properties.stage import Stage, sqlite_in
from tests.properties.test_capacity import cells, flavors, fleets, unlike_groups
from tests.properties.test_explanations import Judge
from tests.properties.twin import UnknownName
from tests.properties.worlds import clouds, questions

QUESTIONS_PER_CLOUD = 6


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(sqlite_in(tmp_path_factory.mktemp("joint")))


@st.composite
def kinds(draw):
    """Draw a cloud, and what draws a version and a question about it."""
    kind = draw(st.sampled_from(["odd", "fleet", "cells"]))
    cloud = draw({"odd": clouds, "fleet": fleets, "cells": cells}[kind]())
    if kind == "odd":
        return cloud, questions(cloud)
    return cloud, st.tuples(st.just(39), flavors() if kind == "fleet" else unlike_groups())


@settings(
    max_examples=examples(18, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_without_any_part_of_a_joint_conflict_the_rest_can_be_met(stage, data):
    cloud, asked = data.draw(kinds())
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(asked)
        note(f"1.{version} {stage.query(question)}")
        judge = Judge(stage, cloud, snapshot, version)
        try:
            judge.fruitful(question)
        except UnknownName:
            continue
        found = explain(snapshot, judge.request(question), endless(), relaxations=False)
        for conflict in found.conflicts:
            parts = [(one.reason.value, one.name) for one in conflict.conditions]
            if not conflict.joint or parts[0] == ("together", "") or "capacity" in dict(parts):
                # that of one group's providers
                continue
            roots = {judge.names[uuid] for uuid in uuids(snapshot, conflict.roots)}
            assert not roots & judge.fruitful(limited(question, parts)), parts
            groups = [part for part in parts if part[0] == "together"]
            for part in parts:
                if groups != [part]:
                    rest = [other for other in parts if other != part]
                    assert roots <= judge.fruitful(limited(question, rest)), (parts, part)


def uuids(snapshot, roots):
    return [snapshot.register.uuids[slot] for slot in roots.nonzero()[0].tolist()]


def limited(question, parts):
    """Return the question with these conditions on several groups, and these groups, only."""
    suffixes = frozenset(name for reason, name in parts if reason == "together")
    asks = [
        ask
        if ask.suffix
        else dataclasses.replace(
            ask, required=tuple(some for some in ask.required if ("trait", listed(some)) in parts)
        )
        for ask in question.asks
        if ask.suffix in suffixes
    ]
    subtrees = [
        subtree & suffixes
        for subtree in question.subtrees
        if ("same_subtree", ",".join(sorted(subtree))) in parts
    ]
    return dataclasses.replace(
        question,
        asks=tuple(asks),
        policy="isolate" if "isolate" in dict(parts) else "none",
        subtrees=tuple(subtree for subtree in subtrees if len(subtree) > 1),
    )

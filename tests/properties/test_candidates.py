"""The service's candidates against those of the brute-force twin, on small odd clouds."""

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, note, settings

from placement.candidates import render
from tests.extent import examples
from tests.functional.placement.topology import read_candidate
from tests.properties.stage import Stage, sqlite_in
from tests.properties.twin import UnknownName
from tests.properties.worlds import clouds, questions

QUESTIONS_PER_CLOUD = 12
MANY = settings(
    max_examples=examples(12, 120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """Small clouds are written as large ones are: as tables and in pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "_FEW", 2)
        patch.setattr(render, "_LARGE", 100)
        yield Stage(sqlite_in(tmp_path_factory.mktemp("twin")))


@pytest.fixture(scope="module")
def random_stage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")
    return Stage(sqlite_in(folder), placement__randomize_allocation_candidates=True)


@MANY
@given(data=st.data())
def test_candidates_and_summaries_are_those_of_the_definition(stage, data):
    compare(stage, data)


@settings(MANY, max_examples=examples(5, 40))
@given(data=st.data())
def test_a_random_choice_is_a_choice_among_the_same_candidates(random_stage, data):
    compare(random_stage, data)


def compare(stage, data):
    cloud = data.draw(clouds())
    stage.show(cloud)
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(questions(cloud))
        query = stage.query(question)
        note(f"1.{version} {query}")
        check(stage, cloud, version, question, query)


def check(stage, cloud, version, question, query):
    response = stage.service.get(f"/allocation_candidates?{query}", version=f"1.{version}")
    status, body = response.status_code, response.json

    wanted = answer_of_the_twin(cloud, question, version)
    if isinstance(wanted, UnknownName):
        assert (status, str(wanted) in body["errors"][0]["detail"]) == (400, True)
        return
    assert status == 200, body
    names = {key: name for name, key in stage.uuids.items()} | {None: None}
    found = [read_candidate(c, names) for c in body["allocation_requests"]]
    count = len(wanted) if question.limit is None else min(question.limit, len(wanted))
    assert len(found) == count
    shown = Counter(readable(candidate, version) for candidate in wanted)
    assert Counter(found) <= shown
    kept = [candidate for candidate in wanted if readable(candidate, version) in set(found)]
    requested = {name for ask in question.asks for name in ask.resources}
    summaries = {names[key]: value for key, value in body["provider_summaries"].items()}
    assert readable_summaries(summaries, names) == cloud.summaries(kept, version, requested)


def answer_of_the_twin(cloud, question, version):
    try:
        return cloud.search(question, nested=version >= 29)
    except UnknownName as unknown:
        return unknown


def readable(candidate, version):
    """Return a candidate of the twin in the form of `read_candidate`."""
    total, chosen = candidate
    taken = {}
    for (name, resource_class), amount in total:
        taken.setdefault(name, {})[resource_class] = amount
    allocations = frozenset((name, frozenset(res.items())) for name, res in taken.items())
    return allocations, (chosen if version >= 34 else None)


def readable_summaries(summaries, names):
    shown = {}
    for name, summary in summaries.items():
        shown[name] = dict(summary)
        if "traits" in summary:
            shown[name]["traits"] = sorted(summary["traits"])
        for key in ("parent_provider_uuid", "root_provider_uuid"):
            if key in summary:
                shown[name][key] = names[summary[key]]
    return shown

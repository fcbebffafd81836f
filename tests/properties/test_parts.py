"""What a search finds in a part of the cloud is what it finds in the whole cloud, in its order."""

import dataclasses

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, note, settings

from placement.candidates import search
from placement.candidates import subset_choice as narrowing
from placement.candidates.trees import tree_problems as trees
from placement.handlers import allocation_candidates as handler
from tests.extent import examples
from tests.properties.stage import Stage, sqlite_in
from tests.properties.twin import SHARING, Stock, World
from tests.properties.worlds import CLASSES, clouds, questions

QUESTIONS_PER_CLOUD = 16
MOST_TREES = 14
#: no cloud of these tests is so large
LARGE = 1_000_000
MANY = settings(
    max_examples=examples(4, 80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
#: most searches have one: without it few look at a part
LIMITS = st.sampled_from([None, 1, 2, 5])
#: what two of three racks have room for: most questions
PLENTY = dict.fromkeys(CLASSES, Stock(6))
FEW = {"FEWEST": 5, "EACH": 1, "TIMES": (1, 2), "MOST": 1, "CHUNK": 2}
WAYS = {
    "as they come": {},
    "the first three": {"placement__max_allocation_candidates": 3},
    "depth first": {
        "placement__max_allocation_candidates": 4,
        "placement__allocation_candidates_generation_strategy": "depth-first",
    },
}


@pytest.fixture(scope="module", params=WAYS)
def stage(request, tmp_path_factory):
    """Few trees are looked at together, and parts have few of them. No answer is given again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handler, "known_answer", lambda *_: None)
        patch.setattr(trees, "_FIRST_CHUNK", 3)
        patch.setattr(trees, "_LAST_CHUNK", 4)
        for name, value in FEW.items():
            patch.setattr(narrowing, f"_{name}", value)
        yield Stage(sqlite_in(tmp_path_factory.mktemp("parts")), **WAYS[request.param])


@st.composite
def rows_of_racks(draw):
    """Draw a World of a few small clouds, each of them repeated in some order.

    Half of the worlds have nothing that is shared: something shared leaves fewer ways to choose a
    part.
    """
    kinds = [draw(clouds(3)) for _ in range(3)]
    left_out = draw(st.sampled_from([frozenset(), frozenset([SHARING])]))
    providers = []
    for which in draw(st.lists(st.integers(0, 2), min_size=MOST_TREES // 2, max_size=MOST_TREES)):
        kind = kinds[which]
        names = {name: f"p{number}" for number, name in enumerate(kind.providers, len(providers))}
        names[None] = None
        providers += [
            dataclasses.replace(
                one,
                name=names[one.name],
                parent=names[one.parent],
                traits=one.traits - left_out,
                stock=PLENTY | one.stock if which else one.stock,
            )
            for one in kind.providers.values()
        ]
    return World(providers, kinds[0].known_traits, kinds[0].known_classes)


@MANY
@given(
    data=st.data(),
    bounds=st.fixed_dictionaries(
        {"_RARE": st.sampled_from([0, 2, 100]), "_MOST_EXTRA": st.sampled_from([100, 100, 0])}
    ),
)
def test_a_part_gives_the_answer_of_the_whole_cloud(stage, data, bounds):
    cloud = data.draw(rows_of_racks())
    stage.show(cloud)
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(questions(cloud))
        if version >= 16:
            question = dataclasses.replace(question, limit=data.draw(LIMITS))
        query = stage.query(question)
        note(f"1.{version} {query}")
        wanted = answer(stage, query, version, small=LARGE, bounds=bounds)
        # the second search may leave out the first trees
        found_some = wanted[0] == 200 and wanted[1]["allocation_requests"]
        for _ in range(2 if found_some else 1):
            assert answer(stage, query, version, small=0, bounds=bounds) == wanted


def answer(stage, query, version, small, bounds):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_SMALL", small)
        for name, value in bounds.items():
            patch.setattr(narrowing, name, value)
        response = stage.service.get(f"/allocation_candidates?{query}", version=f"1.{version}")
    detail = response.json.get("errors", [{}])[0].get("detail")
    return response.status_code, detail or response.json

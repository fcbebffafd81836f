"""A question about a cloud as if it were changed, against the changed cloud (extensions.rst)."""

import copy
import dataclasses

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, event, given, note, settings

from tests.extent import examples
from tests.properties.stage import AGGREGATE_UUIDS, Stage
from tests.properties.twin import SHARING, Stock, World
from tests.properties.worlds import AGGREGATES, CLASSES, TRAITS, clouds, questions, some_of

pytestmark = pytest.mark.spread_over_databases

QUESTIONS_PER_CLOUD = 3
SETTINGS = settings(
    max_examples=examples(10, 200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def stage(module_database_url):
    return Stage(module_database_url)


@SETTINGS
@given(data=st.data())
def test_the_answer_is_that_of_the_changed_cloud(stage, data):
    cloud = data.draw(clouds())
    change = data.draw(changes(cloud))
    after = changed(cloud, change)
    asked = [data.draw(questions(cloud)) for _ in range(QUESTIONS_PER_CLOUD)]
    stage.show(cloud)
    if any(ask.in_tree for _, question in asked for ask in question.asks):
        # the changed cloud's providers have other uuids
        return
    body = as_body(stage, change)
    note(f"{body}")
    queries = [(version, stage.query(question)) for version, question in asked]
    supposed = [answers(stage, version, query, {"if": body}) for version, query in queries]
    stage.show(after)
    for (version, query), found in zip(queries, supposed, strict=True):
        note(f"1.{version} {query}")
        assert found == answers(stage, version, query, {})
        event(found[0].get("verdict", "refused"))


def answers(stage, version, query, more):
    """Return what capacity and explain say, without uuids."""
    options = {"version": f"1.{version}"}
    requests = {"requests": {"q": {"query": query}}, "by": ["root", "aggregate"]}
    room = stage.service.post("/berth/v1/capacity", requests | more, **options).json
    path = "/berth/v1/allocation_candidates/explain"
    why = stage.service.post(path, {"query": query} | more, **options).json
    if "errors" in room:
        return [{}, room["errors"][0]["detail"], why["errors"][0]["detail"]]
    room = room["requests"]["q"]
    for tree in room["by_root"]:
        tree["name"] = tree["name"].split()[0]
        del tree["uuid"]
    # a search has other steps where the cloud knows an aggregate that nobody is in any more
    kept = ("verdict", "candidates", "trees", "reasons", "relaxations")
    return [room, {key: why[key] for key in kept}]


@dataclasses.dataclass(frozen=True)
class Change:
    """A change as the test draws it, by the names of the world."""

    stocks: dict
    traits: dict
    aggregates: dict
    everywhere: tuple
    copies: tuple
    without: frozenset


FIELDS = st.fixed_dictionaries(
    {"total": st.integers(1, 9)},
    optional={
        "reserved": st.just(0),
        "max_unit": st.sampled_from([1, 3, 1000]),
        "step_size": st.sampled_from([1, 2]),
        "allocation_ratio": st.sampled_from([1.0, 2.0]),
    },
).map(lambda fields: fields | {"reserved": 0})


@st.composite
def changes(draw, cloud):
    names = st.sampled_from(sorted(cloud.providers))
    roots = sorted(name for name, one in cloud.providers.items() if one.parent is None)
    add_and_remove = st.tuples(some_of((*TRAITS, SHARING), 2), some_of(TRAITS, 1))
    joined = st.tuples(some_of(AGGREGATES, 2), some_of(AGGREGATES, 1))
    by_class = st.dictionaries(st.sampled_from(CLASSES), FIELDS, min_size=1, max_size=2)
    everywhere = draw(
        st.one_of(
            st.just(()),
            st.tuples(
                st.sampled_from(CLASSES),
                FIELDS,
                st.sampled_from([None, *AGGREGATES]),
                st.sampled_from([None, *TRAITS, *(f"!{name}" for name in TRAITS)]),
            ),
        )
    )
    copies = st.lists(
        st.tuples(st.sampled_from(roots), st.integers(1, 2), st.booleans()), max_size=1
    )
    return Change(
        draw(st.dictionaries(names, by_class, max_size=2)),
        draw(st.dictionaries(names, add_and_remove, max_size=2)),
        draw(st.dictionaries(names, joined, max_size=2)),
        everywhere,
        tuple(draw(copies)),
        frozenset(draw(st.lists(st.sampled_from(roots), max_size=1))),
    )


def as_body(stage, change):
    """Return the change as a request says it."""
    uuids = stage.uuids
    body = {
        "inventories": {uuids[name]: stocks for name, stocks in change.stocks.items()},
        "traits": {
            uuids[name]: {"add": sorted(more), "remove": sorted(less)}
            for name, (more, less) in change.traits.items()
        },
        "aggregates": {
            uuids[name]: {
                "add": [AGGREGATE_UUIDS[each] for each in sorted(more)],
                "remove": [AGGREGATE_UUIDS[each] for each in sorted(less)],
            }
            for name, (more, less) in change.aggregates.items()
        },
        "add": [
            {"like": uuids[root], "count": count, "empty": empty, "name": "new"}
            for root, count, empty in change.copies
        ],
        "without": [uuids[name] for name in sorted(change.without)],
    }
    if change.everywhere:
        name, fields, aggregate, trait = change.everywhere
        body["all"] = {"classes": {name: fields}}
        if aggregate is not None:
            body["all"]["member_of"] = AGGREGATE_UUIDS[aggregate]
        if trait is not None:
            body["all"]["required"] = trait
    return {key: value for key, value in body.items() if value}


def changed(cloud, change):
    """Return the world in which the change was made."""
    providers = copy.deepcopy(cloud.providers)
    if change.everywhere:
        name, fields, aggregate, trait = change.everywhere
        for one in providers.values():
            has_trait = trait is None or (trait.lstrip("!") in one.traits) != trait.startswith("!")
            if name in one.stock and has_trait and aggregate in (None, *one.aggregates):
                one.stock[name] = dataclasses.replace(one.stock[name], **fields)
    for name, stocks in change.stocks.items():
        stock = providers[name].stock
        for each, fields in stocks.items():
            stock[each] = dataclasses.replace(stock.get(each, Stock(total=1)), **fields)
    for name, (more, less) in change.traits.items():
        one = providers[name]
        providers[name] = dataclasses.replace(one, traits=(one.traits | more) - less)
    for name, (more, less) in change.aggregates.items():
        one = providers[name]
        providers[name] = dataclasses.replace(one, aggregates=(one.aggregates | more) - less)
    for root, count, empty in change.copies:
        tree = [name for name in cloud.providers if cloud.root(name) == root]
        for number in range(1, count + 1):
            new = {
                name: f"new-{number}" if name == root else f"new-{number}_{name}" for name in tree
            }
            for name in sorted(tree, key=lambda name: name != root):
                model = providers[name]
                stock = {
                    key: dataclasses.replace(each, used=0) if empty else each
                    for key, each in model.stock.items()
                }
                parent = None if model.parent is None else new[model.parent]
                providers[new[name]] = dataclasses.replace(
                    model, name=new[name], parent=parent, stock=stock
                )
    kept = [
        one for name, one in providers.items() if root_of(providers, name) not in change.without
    ]
    return World(kept, frozenset((*TRAITS, SHARING)), frozenset(CLASSES))


def root_of(providers, name):
    while providers[name].parent is not None:
        name = providers[name].parent
    return name

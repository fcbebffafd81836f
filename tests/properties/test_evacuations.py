"""Evacuations of random small clouds: the moves can be made, and "impossible" is meant."""

import collections
import dataclasses
import itertools
import operator
from types import MappingProxyType

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, event, given, note, settings

from tests.extent import examples
from tests.functional.placement.small_cloud import numbered
from tests.properties.stage import Stage
from tests.properties.twin import SHARING, Ask, Provider, Question, Stock, World
from tests.properties.worlds import AGGREGATES, CLASSES, TRAITS, clouds

pytestmark = pytest.mark.spread_over_databases

#: nobody is a consumer in two clouds; uuids in the order of their making keep examples the same
NUMBERS = itertools.count(1)


@st.composite
def alike(draw):
    """Draw a cloud of hosts that are much alike, some with a device, some with shared disks."""
    providers = []

    def stock(least=1):
        return Stock(
            total=draw(st.integers(least, 6)),
            max_unit=draw(st.sampled_from([2, 3, 1000, 1000])),
            used=draw(st.sampled_from([0, 0, 0, 1])),
        )

    for number in range(draw(st.integers(2, 4))):
        name, has_disk = f"h{number}", draw(st.booleans())
        own = {"VCPU": stock(2)} | ({"DISK_GB": stock()} if has_disk else {})
        groups = draw(st.frozensets(st.sampled_from(AGGREGATES[:2]), max_size=1))
        providers.append(Provider(name, None, groups, frozenset(), own))
        for device in range(draw(st.sampled_from([0, 0, 1, 2]))):
            card = {"MEMORY_MB": stock()}
            providers.append(Provider(f"{name}d{device}", name, groups, frozenset(), card))
    for number in range(draw(st.integers(0, 2))):
        pool = {"DISK_GB": stock()}
        groups = frozenset(AGGREGATES[:2])
        providers.append(Provider(f"s{number}", None, groups, frozenset([SHARING]), pool))
    return World(providers, frozenset((*TRAITS, SHARING)), frozenset(CLASSES))


@pytest.fixture(scope="module")
def stage(module_database_url):
    return Stage(module_database_url)


@settings(
    max_examples=examples(15, 120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_an_evacuation_equals_doing_it(stage, data):
    cloud = data.draw(st.one_of(clouds(), alike(), alike(), alike()))
    stage.show(cloud)
    held = occupied(stage, cloud, data, most=3, inventories=3)
    roots = sorted(name for name, p in cloud.providers.items() if p.parent is None)
    without = data.draw(st.lists(st.sampled_from(roots), min_size=1, max_size=2, unique=True))
    note(f"{held} without {without}")

    given_ = {}
    for consumer, wanted in held.items():
        if len(homes(cloud, wanted)) <= 1 and data.draw(st.booleans()):
            given_[consumer] = data.draw(changed(question_of(cloud, wanted)))
    requests = {consumer: stage.query(question) for consumer, question in given_.items()}
    note(f"requests {requests}")

    body = {"without": [stage.uuids[name] for name in without], "requests": requests}
    response = stage.service.post("/berth/v1/capacity/evacuate", body)
    assert response.status_code == 200, response.text
    answer = response.json

    concerned = {
        consumer: wanted
        for consumer, wanted in held.items()
        if any(cloud.root(name) in without for name, _ in wanted)
    }
    unfit = {one["consumer"] for one in answer["unfit"]}
    assert answer["fits"] is (not unfit)
    assert answer["moves"].keys() | unfit == concerned.keys()
    assert not answer["moves"].keys() & unfit
    assert answer["consumers"] == {
        "total": len(concerned),
        "fit": len(answer["moves"]),
        "unfit": len(unfit),
    }
    if not answer["fits"]:
        simple = all(len(homes(cloud, wanted)) <= 1 for wanted in concerned.values())
        event(f"impossible, exact {answer['exact']}, simple {simple}")
        if simple:
            assert answer["exact"]
            used = used_of(cloud, held)
            assert not possible(cloud, used, concerned, frozenset(without), given_)
    make(stage, cloud, held, given_, answer, without)


@st.composite
def changed(draw, question):
    """Draw a question that differs a little: a trait, other amounts, groups apart."""
    asks = []
    for ask in question.asks:
        resources = {
            name: max(amount + draw(st.sampled_from([0, 0, 0, -1, 1])), 1)
            for name, amount in ask.resources.items()
        }
        required = tuple(
            frozenset([name])
            for name in draw(st.lists(st.sampled_from(sorted(TRAITS)), max_size=1))
            if draw(st.booleans())
        )
        asks.append(dataclasses.replace(ask, resources=resources, required=required))
    return dataclasses.replace(
        question, asks=tuple(asks), policy=draw(st.sampled_from(["none", "isolate"]))
    )


def occupied(stage, cloud, data, most, inventories):
    """Let consumers hold something of a few inventories each; return what they hold."""
    slots = [(name, key) for name, p in cloud.providers.items() for key in p.stock]
    held = {}
    for _ in range(most if slots else 0):
        wanted = data.draw(
            st.dictionaries(
                st.sampled_from(slots), st.integers(1, 3), min_size=1, max_size=inventories
            )
        )
        consumer = numbered("c", next(NUMBERS))
        if write(stage, consumer, wanted, None):
            held[consumer] = wanted
    return held


def make(stage, cloud, held, given_, answer, without):
    """Make the moves by PUT, and hold each against what the consumer had, or was asked for."""
    names = {value: name for name, value in stage.uuids.items()}
    for consumer, move in answer["moves"].items():
        taken = amounts_of(names, move)
        assert not {cloud.root(name) for name, _ in taken} & set(without)
        if consumer in given_:
            resources = map(operator.attrgetter("resources"), given_[consumer].asks)
            assert sums(taken) == sum(map(collections.Counter, resources), collections.Counter())
        else:
            assert sums(taken) == sums(held[consumer])
        assert names[move["root"]] not in without
        assert write(stage, consumer, taken, 1), (consumer, taken)
        event("moved")


def amounts_of(names, move):
    """Return what a move's consumer holds then, by provider's name and class."""
    return {
        (names[provider], key): amount
        for provider, given_ in move["allocations"].items()
        for key, amount in given_["resources"].items()
    }


def sums(taken):
    found = collections.Counter()
    for (_, key), amount in taken.items():
        found[key] += amount
    return found


def write(stage, consumer, taken, generation):
    """Write allocations; return whether that was accepted."""
    allocations = collections.defaultdict(lambda: {"resources": {}})
    for (name, key), amount in taken.items():
        allocations[stage.uuids[name]]["resources"][key] = amount
    body = {
        "allocations": allocations,
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    response = stage.service.put(f"/allocations/{consumer}", body)
    assert response.status_code in (204, 409), response.text
    return response.status_code == 204


def homes(cloud, wanted):
    """Return the trees of which a consumer holds something that isn't shared."""
    return {cloud.root(name) for name, _ in wanted if SHARING not in cloud.providers[name].traits}


def used_of(cloud, held):
    """Return what is used of each inventory."""
    used = collections.Counter()
    for name, provider in cloud.providers.items():
        for key, stock in provider.stock.items():
            used[name, key] += stock.used
    for wanted in held.values():
        used.update(wanted)
    return used


def question_of(cloud, wanted):
    """Return what asks for the same somewhere else."""
    main, below = collections.Counter(), collections.defaultdict(dict)
    for (name, key), amount in wanted.items():
        provider = cloud.providers[name]
        if provider.parent is None or SHARING in provider.traits:
            main[key] += amount
        else:
            below[name][key] = amount
    asks = [Ask("", dict(main))] if main else []
    asks += [Ask(f"_{name}", amounts) for name, amounts in below.items()]
    return Question(tuple(asks), "none")


def possible(cloud, used, waiting, without, given_=MappingProxyType({})):
    """Say whether all can be moved, one after the other: in any order, to any candidate.

    :param given_: what consumers ask for in place of what they hold
    """
    if not waiting:
        return True
    for consumer, wanted in waiting.items():
        rest = {name: held for name, held in waiting.items() if name != consumer}
        now = seen_by(cloud, used, wanted, without)
        question = given_.get(consumer) or question_of(cloud, wanted)
        for anchor, candidates in now.by_anchor(question).items():
            if anchor in without:
                continue
            for allocations, _ in candidates:
                after = collections.Counter(used)
                after.subtract(wanted)
                after.update(dict(allocations))
                if possible(cloud, after, rest, without, given_):
                    return True
    return False


def seen_by(cloud, used, wanted, without):
    """Return the cloud as the consumer sees it, who may keep what it holds."""
    providers = []
    for name, provider in cloud.providers.items():
        stocks = {}
        for key, stock in provider.stock.items():
            if cloud.root(name) in without:
                continue
            own = wanted.get((name, key), 0)
            free = used[name, key]
            if own:
                free = min(free, stock.capacity) - own
            stocks[key] = dataclasses.replace(stock, used=free)
        providers.append(dataclasses.replace(provider, stock=stocks))
    return type(cloud)(providers, cloud.known_traits, cloud.known_classes)

"""Losses of hosts of random small clouds: absorbed ones can be carried out, others can't be."""

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, event, given, note, settings

from tests.extent import examples
from tests.properties.stage import Stage
from tests.properties.test_evacuations import (
    alike,
    amounts_of,
    homes,
    occupied,
    possible,
    used_of,
    write,
)
from tests.properties.twin import SHARING
from tests.properties.worlds import clouds

pytestmark = pytest.mark.spread_over_databases


@pytest.fixture(scope="module")
def stage(module_database_url):
    return Stage(module_database_url)


@settings(
    max_examples=examples(12, 150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_the_loss_of_hosts_equals_losing_them(stage, data):
    cloud = data.draw(st.one_of(clouds(), alike(), alike(), alike()))
    stage.show(cloud)
    held = occupied(stage, cloud, data, most=4, inventories=2)
    together = data.draw(st.sampled_from([1, 1, 2]))
    hosts = [
        name
        for name, provider in cloud.providers.items()
        if provider.parent is None and SHARING not in provider.traits
    ]
    if len(hosts) < together:
        return
    note(f"{held}, {together} together")

    body = {"each": "root", "together": together, "limit": 300}
    response = stage.service.post("/berth/v1/plans/survives", body)
    assert response.status_code == 200, response.text
    answer = response.json

    names = {value: name for name, value in stage.uuids.items()}
    told = {frozenset(names[root["root"]] for root in one["roots"]): one for one in answer["worst"]}
    count = {"absorbed": 0, "impossible": 0, "unknown": 0}
    sets = [frozenset(one) for one in itertools.combinations(hosts, together)]
    assert answer["sets"] == answer["of"] == len(sets)
    for lost in sets:
        # one by one, so that nothing is judged as another one that is alike
        single = stage.service.post(
            "/berth/v1/plans/survives", {"each": [[stage.uuids[name] for name in sorted(lost)]]}
        ).json
        verdict = judged(single)
        count[verdict] += 1
        check(stage, cloud, held, lost, verdict, single)
        if lost in told:
            assert told[lost]["verdict"] == verdict
    assert {
        "absorbed": answer["absorbed"],
        "unknown": answer["unknown"],
        "impossible": answer["sets"] - answer["absorbed"] - answer["unknown"],
    } == count
    assert sum(1 + one["alike"] for one in answer["worst"]) == answer["sets"] - answer["absorbed"]


def judged(answer):
    if answer["verdict"] == "possible":
        return "absorbed"
    return answer["verdict"]


def check(stage, cloud, held, lost, verdict, answer):
    """Hold a verdict against trying all ways, and against an evacuation that is carried out."""
    concerned = {
        consumer: wanted
        for consumer, wanted in held.items()
        if any(cloud.root(name) in lost for name, _ in wanted)
    }
    fixed = [one for one in concerned.values() if len(homes(cloud, one)) > 1]
    event(f"{verdict}, {len(concerned)} consumers")
    if fixed:
        assert verdict == "impossible"
        assert sum("may not move" in one["reason"] for one in answer["worst"][0]["left"]) == len(
            fixed
        )
        return
    if verdict == "impossible":
        assert not possible(cloud, used_of(cloud, held), concerned, lost)
        for name, amount in answer["worst"][0]["missing"].items():
            assert amount > 0, name
    if verdict == "absorbed":
        carry_out(stage, cloud, held, concerned, lost)


def carry_out(stage, cloud, held, concerned, lost):
    """Drain the hosts, then take everything back."""
    names = {value: name for name, value in stage.uuids.items()}
    body = {"without": [stage.uuids[name] for name in sorted(lost)]}
    plan = stage.service.post("/berth/v1/capacity/evacuate", body).json
    assert plan["fits"], plan
    assert plan["moves"].keys() == concerned.keys()
    moved = []
    for consumer, move in plan["moves"].items():
        taken = amounts_of(names, move)
        assert not {cloud.root(name) for name, _ in taken} & lost
        assert write(stage, consumer, taken, generation(stage, consumer)), (consumer, taken)
        moved.append(consumer)
    for consumer in reversed(moved):
        assert write(stage, consumer, held[consumer], generation(stage, consumer)), consumer


def generation(stage, consumer):
    return stage.service.get(f"/allocations/{consumer}").json["consumer_generation"]

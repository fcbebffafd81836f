"""Plans for random small clouds: they can be carried out, and are the shortest if they say so.

Each move is made by PUT against the service, in an order that `after` allows. Then the query
claims.
"""

import collections
import dataclasses
import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings

from placement.extensions.plans import clearing
from tests.extent import examples
from tests.functional.placement.small_cloud import numbered
from tests.properties.stage import Stage
from tests.properties.test_evacuations import (
    alike,
    amounts_of,
    homes,
    question_of,
    seen_by,
    used_of,
    write,
)
from tests.properties.twin import Ask, Provider, Question, Stock, World
from tests.properties.worlds import CLASSES, TRAITS, clouds

pytestmark = pytest.mark.spread_over_databases

#: nobody is a consumer in two clouds; uuids in the order of their making keep examples the same
NUMBERS = itertools.count(1)
#: brute force is given up with more states than this
MOST_STATES = 3_000


@st.composite
def crowded(draw):
    """Draw a cloud of plain hosts."""
    providers = []
    for number in range(draw(st.integers(2, 4))):
        stock = {"VCPU": Stock(total=draw(st.integers(3, 6)))}
        if draw(st.booleans()):
            stock["MEMORY_MB"] = Stock(total=draw(st.integers(3, 6)))
        providers.append(Provider(f"h{number}", None, frozenset(), frozenset(), stock))
    return World(providers, frozenset(TRAITS), frozenset(CLASSES))


@pytest.fixture(scope="module")
def stage(module_database_url):
    return Stage(module_database_url)


@settings(
    max_examples=examples(40, 600),
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(data=st.data())
def test_a_plan_can_be_carried_out_and_is_the_shortest(stage, monkeypatch, data):
    cloud = data.draw(st.one_of(crowded(), crowded(), alike(), clouds()))
    stage.show(cloud)
    held = occupied(stage, cloud, data)
    assume(held)
    question = Question((Ask("", data.draw(large(cloud, held))),), "none")
    count = data.draw(st.sampled_from([1, 1, 1, 2]))
    by = data.draw(st.sampled_from(["moves", "moves", "VCPU"]))
    # in large clouds, fewer ways are looked at
    monkeypatch.setattr(clearing, "FEW_TREES", data.draw(st.sampled_from([0, 64])))
    kept = data.draw(st.lists(st.sampled_from(sorted(held)), max_size=1))
    note(f"{held} {question} {count} {by} {kept}")

    body = {"query": stage.query(question), "count": count, "by": by}
    response = stage.service.post("/berth/v1/plans/room", body | {"movable": {"except": kept}})
    assert response.status_code == 200, response.text
    answer = response.json
    note(f"{answer}")
    event(f"{answer['verdict']} {answer['exact']} {answer['cost']['moves']}")

    oracle = Oracle(cloud, held, question, count, frozenset(kept))
    if answer["verdict"] == "fits":
        assert oracle.has_room(oracle.start)
    elif answer["verdict"] == "impossible":
        assert answer["exact"]
        assert oracle.least(by) is None
    elif answer["verdict"] == "possible":
        cost = answer["cost"]
        told = cost["moves"] if by == "moves" else cost["amounts"].get(by, 0)
        if answer["exact"]:
            assert told == oracle.least(by)
    else:
        assert not answer["exact"]
        event(f"unknown, and in truth {oracle.least(by)}")
    if answer["verdict"] in ("fits", "possible"):
        carry_out(stage, cloud, held, answer, data)
        claim(stage, body["query"], count)


@st.composite
def large(draw, cloud, held):
    """Draw amounts, of which at least one is more than any provider has free."""
    used, free = used_of(cloud, held), collections.defaultdict(list)
    for name, provider in cloud.providers.items():
        for key, stock in provider.stock.items():
            free[key].append((stock.capacity - used[name, key], stock.capacity))
    key = draw(st.sampled_from(sorted(free)))
    least = max(max(left for left, _ in free[key]) + 1, 1)
    amounts = {key: draw(st.integers(least, max(least, *(most for _, most in free[key]))))}
    for other in draw(st.lists(st.sampled_from(sorted(free)), max_size=1)):
        amounts.setdefault(other, draw(st.integers(1, 3)))
    return amounts


def occupied(stage, cloud, data):
    """Let a few consumers hold something; return what they hold."""
    slots = [(name, key) for name, p in cloud.providers.items() for key in p.stock]
    held = {}
    for _ in range(data.draw(st.integers(2, 5)) if slots else 0):
        wanted = data.draw(
            st.one_of(
                st.dictionaries(st.sampled_from(slots), st.integers(1, 3), min_size=1, max_size=1),
                st.dictionaries(st.sampled_from(slots), st.integers(1, 3), min_size=1, max_size=2),
            )
        )
        consumer = numbered("c", next(NUMBERS))
        if write(stage, consumer, wanted, None):
            held[consumer] = wanted
    return held


def carry_out(stage, cloud, held, answer, data):
    """Make the moves in any order that `after` allows."""
    names = {value: name for name, value in stage.uuids.items()}
    waiting, ended = dict(enumerate(answer["moves"])), set()
    while waiting:
        ready = [number for number, move in waiting.items() if ended >= set(move["after"])]
        number = data.draw(st.sampled_from(ready))
        move = waiting.pop(number)
        taken = amounts_of(names, move)
        sums = collections.Counter(), collections.Counter()
        for total, amounts in zip(sums, (taken, held[move["consumer"]]), strict=True):
            for (_, key), amount in amounts.items():
                total[key] += amount
        assert sums[0] == sums[1]
        assert write(stage, move["consumer"], taken, 1), move
        ended.add(number)


def claim(stage, query, count):
    for _ in range(count):
        found = stage.service.get(f"/allocation_candidates?{query}").json["allocation_requests"]
        body = {"allocations": found[0]["allocations"], "project_id": "p", "user_id": "u"}
        body |= {"consumer_generation": None, "consumer_type": "INSTANCE"}
        response = stage.service.put(f"/allocations/{numbered('d', next(NUMBERS))}", body)
        assert response.status_code == 204, response.text


class Oracle:
    """All sequences of moves in which each consumer moves once at most, to another tree."""

    def __init__(self, cloud, held, question, count, kept):
        self.cloud, self.question, self.count = cloud, question, count
        self.held = held
        used = used_of(cloud, held)
        self.start = frozenset((key, amount) for key, amount in used.items() if amount)
        self.movable = [
            consumer
            for consumer, wanted in held.items()
            if consumer not in kept and len(self.homes(wanted)) == 1
        ]

    def homes(self, wanted):
        return homes(self.cloud, wanted) or {self.cloud.root(name) for name, _ in wanted}

    def has_room(self, state, count=None):
        """Say whether the query can be claimed so often."""
        count = self.count if count is None else count
        if not count:
            return True
        used = collections.Counter(dict(state))
        for taken, _ in shown(self.cloud, used).search(self.question):
            after = collections.Counter(used)
            after.update(dict(taken))
            if self.has_room(frozenset(after.items()), count - 1):
                return True
        return False

    def least(self, by):
        """Return the least cost; None: there is no way. Rejects clouds that are too large."""
        best, tried = None, 0
        waiting = [(self.start, frozenset(), 0)]
        known = set()
        while waiting:
            state, moved, cost = waiting.pop(0)
            if (state, moved) in known:
                continue
            known.add((state, moved))
            tried += 1
            assume(tried < MOST_STATES)
            if best is not None and cost >= best:
                continue
            if self.has_room(state):
                best = cost
                continue
            for consumer in self.movable:
                if consumer in moved:
                    continue
                wanted = self.held[consumer]
                more = sum(amount for (_, key), amount in wanted.items() if key == by)
                for after in self.after(state, wanted):
                    price = cost + (1 if by == "moves" else more)
                    waiting.append((after, moved | {consumer}, price))
        return best

    def after(self, state, wanted):
        used = collections.Counter(dict(state))
        now = seen_by(self.cloud, used, wanted, frozenset())
        found = set()
        for anchor, candidates in now.by_anchor(question_of(self.cloud, wanted)).items():
            if anchor in self.homes(wanted):
                continue
            for taken, _ in candidates:
                after = collections.Counter(used)
                after.subtract(wanted)
                after.update(dict(taken))
                found.add(frozenset((key, amount) for key, amount in after.items() if amount))
        return found


def shown(cloud, used):
    """Return the cloud with this usage."""
    providers = [
        dataclasses.replace(
            provider,
            stock={
                key: dataclasses.replace(stock, used=used[name, key])
                for key, stock in provider.stock.items()
            },
        )
        for name, provider in cloud.providers.items()
    ]
    return World(providers, cloud.known_traits, cloud.known_classes)

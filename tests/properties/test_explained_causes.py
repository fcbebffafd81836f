"""What explanations blame, on small odd clouds: each cause is true, and mending it is enough."""

import dataclasses
import math

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, note, settings

from placement.candidates.live import loading
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.extent import examples
from tests.properties.stage import AGGREGATE_UUIDS, Stage, sqlite_in
from tests.properties.test_explanations import Judge, changed, check_missing
from tests.properties.twin import Stock, UnknownName, World
from tests.properties.worlds import UNKNOWN_CLASS, UNKNOWN_TRAIT, clouds, questions

QUESTIONS_PER_CLOUD = 5
AMOUNTS = ("capacity", "min_unit", "max_unit", "step_size")
ABSENT = ("no_inventory", "no_sharing")
#: a trait that every provider of a mended cloud has, for groups that ask for nothing else any more
ANY = "CUSTOM_ANY"
few_examples = settings(
    max_examples=examples(6, 200),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(sqlite_in(tmp_path_factory.mktemp("causes")))


def drawn(stage, data):
    """Yield a judge and a question of it, several times for one cloud."""
    cloud = data.draw(clouds())
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(questions(cloud))
        note(f"1.{version} {stage.query(question)}")
        judge = Judge(stage, cloud, snapshot, version)
        try:
            judge.fruitful(question)
        except UnknownName:
            continue
        yield judge, question


@few_examples
@given(data=st.data())
def test_each_condition_that_is_named_is_unmet_by_its_provider(stage, data):
    for judge, question in drawn(stage, data):
        everywhere = (judge.snapshot.slot(uuid) for uuid in sorted(judge.names))
        for provider in (None, *everywhere):
            found = explain(
                judge.snapshot,
                judge.request(question),
                endless(),
                provider=provider,
                relaxations=False,
            ).as_json()
            for miss in (*found["nearest"], found.get("provider", {"missing": []})):
                if miss["missing"]:
                    check_missing(judge, miss, question)


@few_examples
@given(data=st.data())
def test_no_group_can_have_what_a_conflict_names_in_its_trees(stage, data):
    """A conflict of one group: whoever serves the tree fails one of its conditions."""
    for judge, question in drawn(stage, data):
        found = explain(judge.snapshot, judge.request(question), endless(), relaxations=False)
        counted = 0
        for conflict in found.conflicts:
            counted += int(conflict.roots.sum())
            if conflict.joint:
                continue
            for slot in conflict.roots.nonzero()[0].tolist():
                root = judge.names[judge.snapshot.register.uuids[slot]]
                for name, provider in judge.cloud.providers.items():
                    if root in judge.cloud.anchors(name):
                        assert fails(judge, question, conflict, root, provider), (name, conflict)
        assert counted == found.total - found.left


def fails(judge, question, conflict, root, provider):
    """Say whether a provider that serves a tree fails one of the conditions."""
    ask = next((ask for ask in question.asks if ask.suffix == conflict.group), None)
    own = judge.cloud.root(provider.name) == root
    spans = not conflict.group and own
    anchor = judge.cloud.providers[root]
    for condition in conflict.conditions:
        reason, name = condition.reason.value, condition.name
        alternatives = set(name.removeprefix("in:").split(","))
        stock = provider.stock.get(name)
        members = [provider, *([anchor] if spans else [])]
        if {
            "trait": not alternatives & provider.traits,
            "forbidden_trait": name in provider.traits,
            "aggregate": not any(
                all(set(one.removeprefix("in:").split(",")) & uuids(it) for one in name.split("+"))
                for it in members
            ),
            "forbidden_aggregate": name in uuids(provider)
            or (not conflict.group and name in uuids(anchor)),
            "in_tree": name not in judge.stage.uuids.values()
            or judge.stage.uuids[judge.cloud.root(provider.name)] != root_of(judge, name)
            or (not conflict.group and not own),
            "root_required": (name.removeprefix("!") in anchor.traits) == name.startswith("!"),
            "unknown_name": True,
        }.get(reason, False):
            return True
        if reason in (*ABSENT, *AMOUNTS) and (not name or stock is None):
            return True
        if (
            reason in AMOUNTS
            and not {
                "capacity": stock.capacity - stock.used >= ask.resources[name],
                "min_unit": stock.min_unit <= ask.resources[name],
                "max_unit": stock.max_unit >= ask.resources[name],
                "step_size": ask.resources[name] % stock.step_size == 0,
            }[reason]
        ):
            return True
    return False


def root_of(judge, uuid):
    name = judge.names[uuid]
    return judge.stage.uuids[judge.cloud.root(name)] if name in judge.cloud.providers else None


def uuids(provider):
    return {AGGREGATE_UUIDS[name] for name in provider.aggregates}


@few_examples
@given(data=st.data())
def test_a_tree_has_a_candidate_once_exactly_what_it_lacks_is_mended(stage, data):
    for judge, question in drawn(stage, data):
        found = explain(judge.snapshot, judge.request(question), endless(), relaxations=False)
        for miss in found.as_json()["nearest"]:
            cloud, easier, version = mended(judge, question, miss)
            better = Judge(stage, cloud, None, version)
            assert judge.names[miss["root"]] in better.fruitful(easier), miss


def mended(judge, question, miss):
    """Return the cloud and the question once a tree has, or needn't have, all that it lacks."""
    providers = {
        name: dataclasses.replace(one, stock=dict(one.stock), traits=one.traits | {ANY})
        for name, one in judge.cloud.providers.items()
    }
    version = judge.version
    short = {}
    for one in miss["missing"]:
        reason, name = one["reason"], one["name"]
        at = judge.names[one.get("uuid", miss["uuid"])]
        if reason in ABSENT and name:
            key = (at, name)
            short[key] = max(short.get(key, 0), one["asked"])
        elif reason in AMOUNTS or (reason == "together" and name):
            mend_amount(providers[at], one, short)
        elif reason == "together":
            version = max(version, 29)
        else:
            question = without(judge, question, one)
    for (at, name), amount in short.items():
        stock = providers[at].stock
        held = stock.get(name)
        used = held.used if held else 0
        if held is None:
            stock[name] = Stock(amount)
        else:
            stock[name] = dataclasses.replace(
                held, total=used + amount, reserved=0, allocation_ratio=1.0
            )
    # a search that ended before it came to an unknown name may now come to it
    traits = judge.cloud.known_traits | {ANY, UNKNOWN_TRAIT}
    cloud = World(providers.values(), traits, judge.cloud.known_classes | {UNKNOWN_CLASS})
    asks = tuple(
        ask
        if ask.resources or ask.required or ask.member_of
        else dataclasses.replace(ask, required=(frozenset([ANY]),))
        for ask in question.asks
    )
    return cloud, dataclasses.replace(question, asks=asks), version


def mend_amount(provider, one, short):
    """Mend one number of an inventory."""
    name, reason, asked = one["name"], one["reason"], one["asked"]
    held = provider.stock.get(name)
    if reason in ("capacity", "together"):
        key = (provider.name, name)
        if held is None or held.capacity - held.used < asked:
            short[key] = max(short.get(key, 0), asked)
        if reason == "together" and held is not None:
            provider.stock[name] = dataclasses.replace(held, max_unit=max(held.max_unit, asked))
        return
    changed = {
        "min_unit": {"min_unit": 1},
        "max_unit": {"max_unit": max(asked, held.max_unit)},
        "step_size": {"step_size": math.gcd(asked, held.step_size)},
    }[reason]
    provider.stock[name] = dataclasses.replace(held, **changed)


def without(judge, question, one):
    """Return the question without one condition."""
    reason, name = one["reason"], one["name"]
    if reason == "isolate":
        return dataclasses.replace(question, policy="none")
    if reason == "same_subtree":
        left = tuple(each for each in question.subtrees if ",".join(sorted(each)) != name)
        assert left != question.subtrees
        return dataclasses.replace(question, subtrees=left)
    if reason == "root_required":
        return dataclasses.replace(
            question,
            root_required=question.root_required - {name},
            root_forbidden=question.root_forbidden - {name.removeprefix("!")},
        )
    asks = []
    for ask in question.asks:
        if ask.suffix == one["group"]:
            changed = dataclasses.replace(ask, **dropped(judge, ask, reason, name))
            assert changed != ask
            asks.append(changed)
        else:
            asks.append(ask)
    return dataclasses.replace(question, asks=tuple(asks))


def dropped(judge, ask, reason, name):
    names = {frozenset(part.removeprefix("in:").split(",")) for part in name.split("+")}
    if reason == "trait":
        return {"required": tuple(some for some in ask.required if some not in names)}
    if reason == "forbidden_trait":
        return {"forbidden": ask.forbidden - {name}}
    if reason == "forbidden_aggregate":
        left = frozenset(one for one in ask.not_member_of if AGGREGATE_UUIDS[one] != name)
        return {"not_member_of": left}
    if reason == "in_tree" or (ask.in_tree and name == judge.stage.uuids[ask.in_tree]):
        return {"in_tree": None}
    assert reason in ("aggregate", "unknown_name")
    left = tuple(
        some
        for some in ask.member_of
        if frozenset(AGGREGATE_UUIDS[one] for one in some) not in names
    )
    return {"member_of": left}


@few_examples
@given(data=st.data())
def test_the_order_of_parameters_changes_no_word(stage, data):
    for judge, question in drawn(stage, data):
        other = data.draw(reordered(question))
        note(stage.query(other))
        try:
            judge.fruitful(other)
        except UnknownName:
            # where names don't exist, the order says which is the error, or if there is one
            continue
        told = [words(judge, one) for one in (question, other)]
        assert told[0] == told[1]


@st.composite
def reordered(draw, question):
    def mixed(items):
        return tuple(draw(st.permutations(items)))

    asks = [
        dataclasses.replace(
            ask,
            resources=dict(mixed(list(ask.resources.items()))),
            required=mixed(ask.required),
            member_of=mixed(ask.member_of),
        )
        for ask in mixed(question.asks)
    ]
    return dataclasses.replace(question, asks=tuple(asks), subtrees=mixed(question.subtrees))


def words(judge, question):
    """Return all that an explanation says but the steps, which are those of the query."""
    found = explain(judge.snapshot, judge.request(question), endless()).as_json()
    return {name: told for name, told in found.items() if name != "steps"}


@few_examples
@given(data=st.data())
def test_the_nearest_lower_amount_that_helps_is_told(stage, data):
    for judge, question in drawn(stage, data):
        wanted = len(judge.fruitful(question))
        found = explain(judge.snapshot, judge.request(question), endless()).as_json()
        told = {
            (one["change"].get("group", ""), one["change"]["lower"]): one["change"]["to"]
            for one in found["relaxations"]
            if "lower" in one["change"]
        }
        best = {}
        for ask in question.asks:
            for name, amount in ask.resources.items():
                for lower in range(amount - 1, 0, -1):
                    change = {"lower": name, "to": lower, "group": ask.suffix}
                    if len(judge.fruitful(changed(judge, question, change))) > wanted:
                        best[ask.suffix, name] = lower
                        break
        assert len(found["relaxations"]) == 20 or told == best

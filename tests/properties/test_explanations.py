"""Explanations of random questions on small odd clouds, against the brute-force twin."""

import dataclasses
import re

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, note, settings

from placement.candidates.live import loading
from placement.candidates.request import CandidateRequest, Group
from placement.candidates.search import search
from placement.errors import BadRequest
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.extent import examples
from tests.properties.stage import AGGREGATE_UUIDS, Stage, sqlite_in
from tests.properties.twin import UnknownName
from tests.properties.worlds import clouds, questions

QUESTIONS_PER_CLOUD = 8


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(sqlite_in(tmp_path_factory.mktemp("explanations")))


@settings(
    max_examples=examples(12, 80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_an_explanation_is_true_by_the_definition(stage, data):
    cloud = data.draw(clouds())
    stage.show(cloud)
    snapshot = stage.database.read(loading.load)
    for _ in range(QUESTIONS_PER_CLOUD):
        version, question = data.draw(questions(cloud))
        note(f"1.{version} {stage.query(question)}")
        check(Judge(stage, cloud, snapshot, version), question)


class Judge:
    def __init__(self, stage, cloud, snapshot, version):
        self.stage, self.cloud, self.snapshot, self.version = stage, cloud, snapshot, version
        self.names = {uuid: name for name, uuid in stage.uuids.items()}

    def fruitful(self, question):
        return {
            anchor
            for anchor, found in self.cloud.by_anchor(question, self.version >= 29).items()
            if found
        }

    def request(self, question):
        def aggregates(names):
            return frozenset(AGGREGATE_UUIDS[name] for name in names)

        groups = tuple(
            Group(
                ask.suffix,
                ask.resources,
                tuple(dict.fromkeys(ask.required)),
                ask.forbidden,
                tuple(aggregates(names) for names in ask.member_of),
                aggregates(ask.not_member_of),
                self.stage.uuids[ask.in_tree] if ask.in_tree else None,
            )
            for ask in question.asks
        )
        return CandidateRequest(
            groups,
            question.root_required,
            question.root_forbidden,
            question.subtrees,
            question.policy == "isolate",
            self.version >= 29,
        )


def check(judge, question):
    request = judge.request(question)
    try:
        wanted = judge.fruitful(question)
    except UnknownName as unknown:
        with pytest.raises(BadRequest, match=re.escape(str(unknown))):
            explain(judge.snapshot, request, endless())
        return

    found = explain(judge.snapshot, request, endless(), root_traits=judge.version >= 35)

    answer = found.as_json()
    roots = {name for name, provider in judge.cloud.providers.items() if provider.parent is None}
    assert {judge.names[uuid] for uuid in found.fruitful} == wanted
    assert answer["verdict"] == ("some" if wanted else "none")
    assert bool(len(search(judge.snapshot, request, endless()))) == bool(answer["trees"]["left"])
    assert answer["candidates"] == len(judge.cloud.search(question, judge.version >= 29))
    assert answer["trees"] == {"total": len(roots), "left": len(wanted)}
    assert sum(reason["trees"] for reason in answer["reasons"]) + len(wanted) == len(roots)
    assert {judge.names[miss["root"]] for miss in answer["nearest"]} == roots - wanted
    counts = [len(miss["missing"]) for miss in answer["nearest"]]
    assert counts == sorted(counts)
    for miss in answer["nearest"]:
        check_missing(judge, miss, question)
    for relaxation in answer["relaxations"]:
        easier = changed(judge, question, relaxation["change"])
        assert relaxation["trees"] == len(judge.fruitful(easier)) > len(wanted)
        sent = judge.stage.service.get(
            f"/allocation_candidates?{judge.stage.query(easier)}", version=f"1.{judge.version}"
        )
        assert sent.json["allocation_requests"], relaxation


def check_missing(judge, miss, question):
    """Hold each thing missing against the cloud."""
    assert miss["missing"]
    asks = {ask.suffix: ask for ask in question.asks}
    for one in miss["missing"]:
        provider = judge.cloud.providers[judge.names[one.get("uuid", miss["uuid"])]]
        ask, name, reason = asks.get(one["group"]), one["name"], one["reason"]
        if reason == "trait":
            assert not set(name.removeprefix("in:").split(",")) & provider.traits
        elif reason == "forbidden_trait":
            assert name in provider.traits & ask.forbidden
        elif reason == "root_required":
            root = judge.cloud.providers[judge.names[miss["root"]]]
            assert (name.removeprefix("!") in root.traits) == name.startswith("!")
        elif reason in ("no_inventory", "no_sharing"):
            assert name not in provider.stock
        elif reason in ("capacity", "min_unit", "max_unit", "step_size"):
            stock = provider.stock[name]
            assert one["asked"] == ask.resources[name]
            assert one["free"] == stock.capacity - stock.used
            fields = ("total", "reserved", "used", "allocation_ratio")
            fields = (*fields, "min_unit", "max_unit", "step_size")
            assert {field: one[field] for field in fields} == {
                field: getattr(stock, field) for field in fields
            }
            assert {
                "capacity": one["free"] < one["asked"],
                "min_unit": stock.min_unit > one["asked"],
                "max_unit": stock.max_unit < one["asked"],
                "step_size": one["asked"] % stock.step_size,
            }[reason]


def changed(judge, question, change):
    """Return the question as a client changes it."""
    if "drop" not in change:
        name = change.get("lower") or change["raise"]
        assert change.keys() <= {"lower", "raise", "to", "group"}
        asks = [
            dataclasses.replace(ask, resources={**ask.resources, name: change["to"]})
            if ask.suffix == change.get("group", "")
            else ask
            for ask in question.asks
        ]
        assert asks != list(question.asks)
        return dataclasses.replace(question, asks=tuple(asks))
    parameter, value = change["drop"].split("=")
    if parameter == "group_policy":
        assert (value, change["add"]) == ("isolate", "group_policy=none")
        return dataclasses.replace(question, policy="none")
    values = frozenset(value.removeprefix("in:").split(","))
    if parameter == "same_subtree":
        left = tuple(subtree for subtree in question.subtrees if subtree != values)
        return dataclasses.replace(question, subtrees=left)
    if parameter == "root_required":
        return dataclasses.replace(
            question,
            root_required=question.root_required - {value},
            root_forbidden=question.root_forbidden - {value.removeprefix("!")},
        )
    asks = [without(judge, ask, parameter, value, values) for ask in question.asks]
    assert asks != list(question.asks)
    easier = dataclasses.replace(question, asks=tuple(asks))
    if "add" not in change:
        return easier
    assert change["add"] == f"root_required={value}"
    assert not question.root_required | question.root_forbidden
    return dataclasses.replace(easier, root_required=values)


def without(judge, ask, parameter, value, values):
    if not parameter.endswith(ask.suffix) or (not ask.suffix and parameter[-1].isdigit()):
        return ask
    kind = parameter.removesuffix(ask.suffix)
    if kind == "in_tree":
        assert value == judge.stage.uuids[ask.in_tree]
        return dataclasses.replace(ask, in_tree=None)
    if kind == "required":
        if value.startswith("!"):
            return dataclasses.replace(ask, forbidden=ask.forbidden - {value[1:]})
        return dataclasses.replace(ask, required=tuple(s for s in ask.required if s != values))
    assert kind == "member_of"
    if value.startswith("!"):
        left = frozenset(n for n in ask.not_member_of if AGGREGATE_UUIDS[n] != value[1:])
        return dataclasses.replace(ask, not_member_of=left)
    left = tuple(s for s in ask.member_of if {AGGREGATE_UUIDS[n] for n in s} != values)
    return dataclasses.replace(ask, member_of=left)

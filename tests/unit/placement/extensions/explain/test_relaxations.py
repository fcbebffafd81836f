"""What would help is looked for within its budget."""

import dataclasses
import itertools

import pytest

from placement.candidates.budget import Budget
from placement.candidates.cloud.columns import Column
from placement.candidates.cloud.snapshot import Snapshot
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain import relaxations
from placement.extensions.explain.explanation import explain
from placement.extensions.explain.fewer_conditions import changes_of
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

MORE_THAN_THERE_IS = 8


def with_units(snapshot, **units):
    """Return the cloud of one provider with 16 VCPU and these units."""
    plain = {"min_unit": 1, "max_unit": 16, "step_size": 1} | units
    values = [[16], [0], *([number] for number in plain.values()), [1.0], [0]]
    key = snapshot.names.class_ids["VCPU"]
    return dataclasses.replace(snapshot, columns={key: Column.of([0], values)})


def test_what_would_help_ends_with_its_budget_however_many_groups_there_are(clouds, monkeypatch):
    compared = []
    reached = Snapshot.reached
    monkeypatch.setattr(
        Snapshot, "reached", lambda *given: compared.append(given) or reached(*given)
    )
    groups = [Group(str(n), {"VCPU": MORE_THAN_THERE_IS + n}) for n in range(40)]
    looks = 50
    budget = Budget(looks, None, clock=itertools.count().__next__)

    def relaxing():
        # the search and its conflicts come before
        compared.clear()
        return budget

    found = explain(
        clouds.snapshot({"a": host(VCPU=7)}),
        CandidateRequest(tuple(groups)),
        endless(),
        relaxing=relaxing,
    )

    assert found.verdict == "none"
    assert 0 < len(compared) <= looks


def helping(clouds, providers, request, **given):
    found = explain(clouds.snapshot(providers), request, endless(), **given)
    return [(one.change, one.text, one.trees) for one in found.relaxations]


def test_a_group_policy_becomes_none_as_a_query_of_several_groups_must_have_one(clouds):
    groups = (Group("_A", {"VGPU": 1}), Group("_B", {"VGPU": 1}))

    found = helping(clouds, {"a": host(VGPU=2)}, CandidateRequest(groups, isolate=True))

    change = {"drop": "group_policy=isolate", "add": "group_policy=none"}
    assert found == [(change, "without group_policy=isolate", 1)]


@pytest.mark.parametrize(("root_traits", "count"), [(True, 2), (False, 1)])
def test_a_trait_of_the_root_may_be_required_of_the_root(clouds, root_traits, count):
    providers = {"a": (None, {}, ["HW_CPU_X86_AVX2"], []), "n0": child("a", VCPU=4)}
    avx = frozenset(["HW_CPU_X86_AVX2"])

    found = helping(
        clouds,
        providers,
        CandidateRequest((Group("", {"VCPU": 1}, (avx,)),)),
        root_traits=root_traits,
    )

    change = {"drop": "required=HW_CPU_X86_AVX2", "add": "root_required=HW_CPU_X86_AVX2"}
    text = "root_required=HW_CPU_X86_AVX2 in place of required=HW_CPU_X86_AVX2"
    assert len(found) == count
    assert ((change, text, 1) in found) is root_traits


@pytest.mark.parametrize(
    ("units", "asked", "to"), [({"step_size": 4}, 6, 8), ({"min_unit": 5}, 3, 5)]
)
def test_an_amount_is_rounded_up_to_what_units_allow(clouds, units, asked, to):
    snapshot = with_units(clouds.snapshot({"a": host(VCPU=16)}), **units)

    found = explain(snapshot, CandidateRequest((Group("", {"VCPU": asked}),)), endless())

    told = [one.as_json() for one in found.relaxations if "raise" in one.change]
    text = f"VCPU {asked} → {to}"
    assert told == [{"change": {"raise": "VCPU", "to": to}, "text": text, "trees": 1}]


def test_what_there_was_no_time_to_try_is_said(clouds):
    request = CandidateRequest((Group("", {"VCPU": MORE_THAN_THERE_IS}),))
    snapshot = clouds.snapshot({"a": host(VCPU=7)})

    for looks, complete in ((1, False), (1000, True)):
        budget = Budget(looks, None, clock=itertools.count().__next__)
        found = explain(snapshot, request, endless(), relaxing=lambda kept=budget: kept)
        assert found.as_json()["relaxations_complete"] is complete


def test_no_amounts_are_tried_of_a_class_without_which_there_is_no_candidate_either(
    clouds, monkeypatch
):
    searched = []
    search = relaxations.Search
    monkeypatch.setattr(
        relaxations, "Search", lambda *given: searched.append(given) or search(*given)
    )
    groups = tuple(Group(f"_{n}", {"VCPU": 9, "MEMORY_MB": 9}) for n in range(3))
    request = CandidateRequest(groups, isolate=True)
    cells = {f"n{n}": child("a", VCPU=18 + n, MEMORY_MB=18 + n) for n in range(2)}

    assert len(helping(clouds, {"a": host(VGPU=1), **cells}, request)) == 1

    # without the policy, and without each class of each group
    assert len(searched) == 1 + 2 * len(groups)


def test_a_lower_amount_helps_where_its_provider_alone_has_the_trait(clouds):
    avx = frozenset(["HW_CPU_X86_AVX2"])
    providers = {
        "a": host(VGPU=1),
        "n0": ("a", {"VCPU": 4}, ["HW_CPU_X86_AVX2"], []),
    }

    found = helping(
        clouds, providers, CandidateRequest((Group("", {"VCPU": 6, "VGPU": 1}, (avx,)),))
    )

    assert ({"lower": "VCPU", "to": 4}, "VCPU 6 → 4", 1) in found


def test_conditions_of_one_kind_are_dropped_in_the_order_of_their_names():
    names = frozenset(f"CUSTOM_{number}" for number in range(9))
    asked = CandidateRequest((Group("", {"VCPU": 1}, forbidden=names, not_member_of=names),))
    texts = [text for _, text, _ in changes_of(None, asked, root_traits=False)]
    traits = [f"without forbidden {name}" for name in sorted(names)]
    assert texts == [*traits, *(f"without forbidden aggregate {name}" for name in sorted(names))]

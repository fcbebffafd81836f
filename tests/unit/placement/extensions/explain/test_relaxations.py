"""What would help is looked for within its budget."""

import itertools

from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain import relaxations
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import host

MORE_THAN_THERE_IS = 8


def test_what_would_help_ends_with_its_budget_however_many_groups_there_are(clouds, monkeypatch):
    compared = []
    reached = relaxations.reached
    monkeypatch.setattr(
        relaxations, "reached", lambda *given: compared.append(given) or reached(*given)
    )
    groups = [Group(str(n), {"VCPU": MORE_THAN_THERE_IS + n}) for n in range(40)]
    looks = 50
    budget = Budget(looks, None, clock=itertools.count().__next__)

    found = explain(
        clouds.snapshot({"a": host(VCPU=7)}),
        CandidateRequest(tuple(groups)),
        endless(),
        relaxing=lambda: budget,
    )

    assert found.verdict == "none"
    assert 0 < len(compared) <= looks

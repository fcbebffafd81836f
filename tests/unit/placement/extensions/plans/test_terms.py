"""Who may move, and where to (placement/extensions/plans/terms.py)."""

import pytest

from placement.errors import BadRequest
from placement.extensions.plans.terms import Constraints, Movable, Terms, terms_of
from placement.microversions import NEWEST

A, B, C = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "abc")
HOST, OTHER = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "12")


@pytest.mark.parametrize(
    ("movable", "consumer_type", "trees", "allowed"),
    [
        ({}, "INSTANCE", 1, True),
        ({}, "INSTANCE", 2, False),
        ({}, "MIGRATION", 1, False),
        ({}, None, 1, False),
        ({"consumer_types": ["unknown"]}, None, 1, True),
        ({"consumer_types": ["unknown"]}, "INSTANCE", 1, False),
        ({"except": [A.upper()]}, "INSTANCE", 1, False),
        ({"only": [A.replace("-", "")]}, "INSTANCE", 1, True),
        ({"only": [B]}, "INSTANCE", 1, False),
        ({"only": []}, "INSTANCE", 1, False),
        ({"only": [A], "except": [A]}, "INSTANCE", 1, False),
    ],
)
def test_who_may_move(movable, consumer_type, trees, allowed):
    terms = terms_of({"movable": movable}, NEWEST)
    assert terms.movable.allows(A, consumer_type, trees) is allowed


def test_without_terms():
    assert terms_of({}, NEWEST) == Terms(Movable(), Constraints(), {})
    assert terms_of({}, NEWEST).constraints.count == 0


def test_constraints():
    constraints = terms_of(
        {
            "constraints": {
                "apart": [[A.upper(), B], [A, C]],
                "together": [[B, C]],
                "not_on": {A.upper(): [OTHER]},
            }
        },
        NEWEST,
    ).constraints
    assert constraints.count == 4
    assert constraints.named == {A, B, C}
    assert constraints.shut(A, {B: [HOST]}) == {HOST, OTHER}
    assert constraints.shut(B, {A: [HOST], C: [OTHER]}) == {HOST}
    # nobody moved that has to be with somebody
    assert constraints.kept([A], {B: [HOST], C: [OTHER]})
    assert not constraints.kept([B], {B: [HOST], C: [OTHER]})
    assert constraints.kept([B], {B: [HOST], C: [HOST]})
    # who holds nothing is nowhere
    assert constraints.kept([B], {B: [HOST]})


def test_thousands_of_sets_are_gone_through_once():
    class Counted(tuple):
        times = 0

        def __iter__(self):
            Counted.times += 1
            return super().__iter__()

    sets = Counted(frozenset([A, f"other {number}"]) for number in range(10))
    Counted.times = 0
    constraints = Constraints(together=sets)
    for _ in range(5):
        assert constraints.companions("other 3") == {A}
        assert constraints.companions(B) == constraints.partners(A) == frozenset()
        assert constraints.kept(["other 3"], {A: [HOST], "other 3": [HOST]})
        assert not constraints.kept(["other 3"], {A: [HOST], "other 3": [OTHER]})
    assert Counted.times == 1


def test_requests():
    queries = {A.upper(): "resources=VCPU:2", B: "resources=VCPU:2", C: "resources=VCPU:1"}
    requests = terms_of({"requests": queries}, NEWEST).requests
    assert requests[A].amounts() == {"VCPU": 2}
    # equal queries are read once
    assert requests[A] is requests[B] != requests[C]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"requests": {A: "resources=VCPU:x"}}, f"requests.{A}: "),
        ({"requests": {"-" * 36: "resources=VCPU:1"}}, "requests: "),
        ({"constraints": {"not_on": {"-" * 36: []}}}, "constraints.not_on: "),
        ({"movable": {"only": [A] * 10_001}}, "movable.only: at most 10000 may be named"),
        ({"constraints": {"apart": [[A, B]] * 9000}}, "constraints.apart: at most 10000"),
        ({"constraints": {"together": [[A] * 10_001]}}, "constraints.together: at most 10000"),
    ],
)
def test_refusals_name_their_place(body, message):
    with pytest.raises(BadRequest, match=message.replace(".", r"\.")):
        terms_of(body, NEWEST)

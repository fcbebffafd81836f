"""Conflicts of clouds whose providers differ much: each is one, and none of it can be left out."""

import random

from placement.candidates.request import CandidateRequest, Group
from placement.extensions.explain.explanation import explain
from tests.endless import endless
from tests.unit.placement.candidates.snapshots import child, host

NAMES = ("SSE", "SSE2", "SSE3", "SSE41", "SSE42", "MMX", "BMI", "BMI2", "AVX")
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def test_many_kinds_of_providers_and_many_conditions(clouds):
    """There are more kinds of providers, and more conditions, than bits in a word."""
    *wanted, spare = (f"HW_CPU_X86_{name}" for name in NAMES)
    source = random.Random(7)
    providers = {"pool": (None, {"VCPU": 4}, [SHARES, *wanted[1:]], ["rack0"])}
    for number in range(150):
        root = f"h{number}"
        providers[root] = (None, {}, [], [f"rack{number % 5}"])
        for cell in range(source.randint(1, 3)):
            traits = [name for name in wanted if source.random() < 0.6]
            providers[f"{root}.{cell}"] = (root, {"VCPU": 4}, traits, [])
    group = Group(
        "_1",
        {"VCPU": 1},
        tuple(frozenset([name]) for name in wanted),
        forbidden=frozenset([spare]),
        not_member_of=frozenset(f"nobody{number}" for number in range(60)),
    )
    snapshot = clouds.snapshot(providers)

    found = explain(snapshot, CandidateRequest((group,)), endless(), relaxations=False)

    def serving(root):
        borrows = providers[root][3] == ["rack0"]
        return [
            set(traits)
            for name, (parent, stock, traits, _) in providers.items()
            if stock and (parent == root or name == root or (name == "pool" and borrows))
        ]

    judged = list(found.fruitful)
    assert all(any(traits >= set(wanted) for traits in serving(root)) for root in judged)
    for conflict in found.conflicts:
        names = {one.name for one in conflict.conditions}
        assert names <= set(wanted)
        for slot in conflict.roots.nonzero()[0].tolist():
            root = snapshot.register.uuids[slot]
            judged.append(root)
            assert not any(traits >= names for traits in serving(root))
            for name in names:
                assert any(traits >= names - {name} for traits in serving(root))
    assert sorted(judged) == sorted(name for name, one in providers.items() if one[0] is None)


def test_what_is_lent_is_near_to_trees_that_borrow(clouds):
    providers = {
        "a": (None, {}, [], ["rack"]),
        "a0": child("a", VCPU=2),
        "b": host(VCPU=1),
        "pool": (None, {"VCPU": 3}, [SHARES], ["rack"]),
    }

    found = explain(
        clouds.snapshot(providers), CandidateRequest((Group("_1", {"VCPU": 4}),)), endless()
    )

    assert found.message == "0 of 3 trees: 3 short of VCPU 4 in group _1 (nearest: pool has 3)"
    assert [(near.root, near.uuid) for near in found.nearest] == [
        ("a", "pool"),
        ("pool", "pool"),
        ("b", "b"),
    ]

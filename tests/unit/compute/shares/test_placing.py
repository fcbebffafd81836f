"""Which provider gives what, or why none can."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.shares.giver import Giver
from compute.shares.placing import Preferences, leaves_a_choice, places_of


def giver(name, parent="root", traits=(), shares=False, used=None, **totals):
    inventories = {one: {"total": n} for one, n in totals.items()}
    return Giver(name, name, parent, inventories, frozenset(traits), used or {}, shares)


ROOT = giver("root", None, DISK_GB=100)
CELLS = [giver(name, VCPU=4, MEMORY_MB=1024) for name in ("cell0", "cell1")]
HOST = [ROOT, *CELLS]
POOL = giver("pool", None, shares=True, DISK_GB=500)


def asked(policy=None, same_subtree=(), /, **groups):
    """Return a request; `main` is the group without a suffix."""
    suffixes = {name: "" if name == "main" else f"_{name}" for name in groups}
    return ResourceRequest(
        {
            suffixes[name]: one if isinstance(one, RequestGroup) else RequestGroup(one)
            for name, one in groups.items()
        },
        group_policy=policy,
        same_subtree=tuple(frozenset(f"_{n}" for n in names) for names in same_subtree),
    )


class TestTheGroupWithoutASuffix:
    def test_keeps_processors_and_memory_together(self):
        request = asked(main={"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 5})
        busy = giver("cell0", VCPU=4, MEMORY_MB=1024, used={"MEMORY_MB": 800})
        assert places_of(request, [ROOT, busy, CELLS[1]]).places == {
            "root": {"DISK_GB": 5},
            "cell1": {"VCPU": 2, "MEMORY_MB": 512},
        }
        # even if one of them alone would come first
        alone = giver("cell2", VCPU=4)
        assert places_of(request, [ROOT, alone, CELLS[1]]).places == {
            "root": {"DISK_GB": 5},
            "cell1": {"VCPU": 2, "MEMORY_MB": 512},
        }

    def test_spreads_by_class_if_no_provider_has_room_for_all(self):
        tight = [
            giver("cell0", VCPU=4, MEMORY_MB=1024, used={"VCPU": 4}),
            giver("cell1", VCPU=4, MEMORY_MB=1024, used={"MEMORY_MB": 1024}),
        ]
        request = asked(main={"VCPU": 2, "MEMORY_MB": 512})
        assert places_of(request, [ROOT, *tight]).places == {
            "cell0": {"MEMORY_MB": 512},
            "cell1": {"VCPU": 2},
        }

    def test_never_divides_a_class_for_a_claim(self):
        found = places_of(asked(main={"VCPU": 6}), HOST)
        assert (found.places, found.lacking) == ({}, {"VCPU": 6})
        assert found.reasons == [
            "no room for 6 VCPU (free: cell0 4, cell1 4; at most 2147483647 each)"
        ]

    def test_divides_a_class_of_a_guest_that_runs_and_gives_as_much_as_there_is(self):
        runs = Preferences(runs=True)
        assert places_of(asked(main={"VCPU": 6}), HOST, runs).places == {
            "cell0": {"VCPU": 4},
            "cell1": {"VCPU": 2},
        }
        found = places_of(asked(main={"VCPU": 9, "VGPU": 1, "DISK_GB": 1}), HOST, runs)
        assert found.places == {
            "cell0": {"VCPU": 4},
            "cell1": {"VCPU": 4},
            "root": {"DISK_GB": 1},
        }
        assert found.lacking == {"VCPU": 1, "VGPU": 1}

    def test_meets_its_traits_by_all_providers_together(self):
        cards = [giver("card0", VGPU=1), giver("card1", VGPU=1, traits=["CUSTOM_FAST"])]
        group = RequestGroup({"VGPU": 1, "VCPU": 1}, frozenset({"CUSTOM_FAST"}))
        assert places_of(asked(main=group), [*HOST, *cards]).places == {
            "card1": {"VGPU": 1},
            "cell0": {"VCPU": 1},
        }
        found = places_of(asked(main=group), [*HOST, cards[0]])
        assert "CUSTOM_FAST" in found.reasons[0]

    def test_uses_nothing_with_a_forbidden_trait(self):
        cards = [giver("card0", VGPU=1, traits=["CUSTOM_SLOW"]), giver("card1", VGPU=1)]
        group = RequestGroup({"VGPU": 1}, forbidden_traits=frozenset({"CUSTOM_SLOW"}))
        assert places_of(asked(main=group), [ROOT, *cards]).places == {"card1": {"VGPU": 1}}


class TestGroupsWithSuffixes:
    def test_come_from_one_provider_each(self):
        found = places_of(asked(a={"VCPU": 3}, b={"VCPU": 3}), HOST)
        assert found.places == {"cell0": {"VCPU": 3}, "cell1": {"VCPU": 3}}
        found = places_of(asked(a={"VCPU": 3, "DISK_GB": 1}), HOST)
        assert found.reasons == ["no provider has 3 VCPU, 1 DISK_GB together"]

    def test_may_share_one_unless_they_are_isolated(self):
        assert places_of(asked(a={"VCPU": 1}, b={"VCPU": 1}), HOST).places == {"cell0": {"VCPU": 2}}
        apart = places_of(asked("isolate", a={"VCPU": 1}, b={"VCPU": 1}), HOST)
        assert apart.places == {"cell0": {"VCPU": 1}, "cell1": {"VCPU": 1}}
        many = places_of(asked("isolate", **{one: {"VCPU": 1} for one in "abc"}), HOST)
        assert (many.places, many.lacking) == ({}, {"VCPU": 3})

    def test_of_one_subtree_are_below_one_of_them(self):
        ports = [giver(f"port{n}", f"cell{n}", VF=1) for n in (0, 1)]
        busy = giver("cell0", VCPU=4, used={"VCPU": 4})
        request = asked(None, [("a", "b")], a={"VCPU": 1}, b={"VF": 1})
        found = places_of(request, [ROOT, busy, CELLS[1], *ports])
        assert found.places == {"cell1": {"VCPU": 1}, "port1": {"VF": 1}}

    def test_of_traits_alone_stand_for_the_top_of_a_subtree(self):
        tops = [giver(f"top{n}", traits=["CUSTOM_TOP"] * n) for n in (0, 1)]
        ports = [giver(f"port{n}", f"top{n}", VF=1) for n in (0, 1)]
        top = RequestGroup(required_traits=frozenset({"CUSTOM_TOP"}))
        request = asked(None, [("a", "b")], a=top, b={"VF": 1})
        assert places_of(request, [ROOT, *tops, *ports]).places == {"port1": {"VF": 1}}

    def test_with_few_ways_come_first(self):
        cards = [giver(f"card{n:02}", VGPU=1, traits=["CUSTOM_FAST"] * (not n)) for n in range(12)]
        fast = RequestGroup({"VGPU": 1}, frozenset({"CUSTOM_FAST"}))
        groups = {f"a{n:02}": {"VGPU": 1} for n in range(11)} | {"z": fast}
        found = places_of(asked("isolate", **groups), [ROOT, *cards])
        assert found.places == {one.uuid: {"VGPU": 1} for one in cards}

    def test_end_in_bounded_time_where_they_do_not_fit(self):
        cells = [giver(f"c{n}", VCPU=4) for n in range(20)]
        groups = {f"g{n}": {"VCPU": 1} for n in range(21)}
        found = places_of(asked("isolate", **groups), [ROOT, *cells])
        assert found.places == {}


class TestPreferences:
    REQUEST = asked(main={"VCPU": 2, "MEMORY_MB": 512})

    def test_what_is_known_comes_before_what_is_allocated(self):
        known = {"cell1": {"VCPU": 2, "MEMORY_MB": 512}}
        held = {"cell0": {"VCPU": 2, "MEMORY_MB": 512}}
        assert places_of(self.REQUEST, HOST, Preferences([known], held)).places == known
        assert places_of(self.REQUEST, HOST, Preferences(held=known)).places == known

    def test_what_is_known_counts_only_if_it_is_what_is_asked(self):
        known = [{"cell1": {"VCPU": 3}}, {"cell1": {"VCPU": 2}}, {"gone": {"MEMORY_MB": 512}}]
        found = places_of(self.REQUEST, HOST, Preferences(known))
        assert found.places == {"cell1": {"VCPU": 2, "MEMORY_MB": 512}}

    def test_a_known_place_without_room_is_a_refusal(self):
        known = {"cell1": {"VCPU": 2, "MEMORY_MB": 512}}
        full = giver("cell1", VCPU=4, MEMORY_MB=1024, used={"VCPU": 3})
        found = places_of(self.REQUEST, [ROOT, CELLS[0], full], Preferences([known]))
        assert found.lacking == {"VCPU": 2}
        runs = places_of(self.REQUEST, [ROOT, CELLS[0], full], Preferences([known], runs=True))
        assert runs.places == {"cell1": {"VCPU": 1, "MEMORY_MB": 512}}
        assert runs.lacking == {"VCPU": 1}

    def test_what_is_held_may_stay_where_a_provider_became_too_small(self):
        small = giver("cell0", VCPU=1, MEMORY_MB=1024)
        held = {"cell0": {"VCPU": 2, "MEMORY_MB": 512}}
        assert places_of(self.REQUEST, [ROOT, small], Preferences(held=held)).places == held

    def test_what_grew_stays_on_its_provider(self):
        held = {"cell1": {"VCPU": 1, "MEMORY_MB": 64}}
        assert places_of(self.REQUEST, HOST, Preferences(held=held)).places == {
            "cell1": {"VCPU": 2, "MEMORY_MB": 512}
        }

    def test_another_share_of_the_guest_takes_room(self):
        taken = {"cell0": {"VCPU": 3, "MEMORY_MB": 64}}
        assert places_of(self.REQUEST, HOST, Preferences(taken=taken)).places == {
            "cell1": {"VCPU": 2, "MEMORY_MB": 512}
        }


class TestSharingProviders:
    REQUEST = asked(main={"DISK_GB": 5})

    def test_give_what_the_tree_lacks(self):
        root = giver("root", None, VCPU=1)
        assert places_of(self.REQUEST, [root, POOL]).places == {"pool": {"DISK_GB": 5}}
        assert places_of(self.REQUEST, [ROOT, POOL]).places == {"root": {"DISK_GB": 5}}

    def test_give_what_they_are_named_for_and_what_the_guest_has_of_them(self):
        named = Preferences(pooled=frozenset({"DISK_GB"}))
        assert places_of(self.REQUEST, [ROOT, POOL], named).places == {"pool": {"DISK_GB": 5}}
        assert places_of(self.REQUEST, [ROOT], named).places == {"root": {"DISK_GB": 5}}
        held = Preferences(held={"pool": {"DISK_GB": 5}})
        assert places_of(self.REQUEST, [ROOT, POOL], held).places == {"pool": {"DISK_GB": 5}}


@pytest.mark.parametrize(
    ("request_", "choice"),
    [
        (asked(main={"DISK_GB": 1}), False),
        (asked(main={"VCPU": 1}), True),
        (asked(a={"VCPU": 1}), True),
        (asked(a={"VCPU": 1, "DISK_GB": 1}), False),
    ],
)
def test_a_choice_is_left_where_several_providers_have_a_class(request_, choice):
    assert leaves_a_choice(request_, HOST, Preferences()) is choice


AMOUNTS = st.dictionaries(st.sampled_from("ABC"), st.integers(1, 3), min_size=1)
GIVERS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("ABC"), st.integers(1, 4)),
        st.sets(st.sampled_from(["T", "U"])),
    ),
    min_size=1,
    max_size=3,
)


@given(
    givers=GIVERS,
    groups=st.lists(st.tuples(AMOUNTS, st.sets(st.sampled_from(["T", "U"]))), max_size=3),
    main=AMOUNTS,
    policy=st.sampled_from([None, "isolate"]),
    runs=st.booleans(),
)
def test_all_of_it_fits_or_a_reason_is_told(givers, groups, main, policy, runs):
    made = [
        giver(f"p{n}", "p0" if n else None, traits, **totals)
        for n, (totals, traits) in enumerate(givers)
    ]
    named = {f"g{n}": RequestGroup(a, frozenset(t)) for n, (a, t) in enumerate(groups)}
    found = places_of(asked(policy, main=main, **named), made, Preferences(runs=runs))
    totals = {one.uuid: {c: r["total"] for c, r in one.inventories.items()} for one in made}
    assert all(
        amount <= totals[uuid].get(name, 0)
        for uuid, part in found.places.items()
        for name, amount in part.items()
    )
    wanted = [main, *(amounts for amounts, _ in groups)]
    for name in "ABC":
        sum_asked = sum(part.get(name, 0) for part in wanted)
        placed = sum(part.get(name, 0) for part in found.places.values())
        if runs or not found.lacking:
            assert placed + found.lacking.get(name, 0) == sum_asked
    assert bool(found.lacking) == bool(found.reasons)
    assert runs or not found.lacking or not found.places

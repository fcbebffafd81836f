"""Names of providers below a node's root are unique, stable, readable, and fit."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from compute.provider_tree.names import LONGEST, child_name, child_suffix

NODES = st.text("ab.-_~0", min_size=1, max_size=LONGEST)
SUFFIXES = st.text("abc_:.0123456789", min_size=1, max_size=60)


def test_a_name_that_fits_is_the_nodes_name_and_what_it_is():
    assert child_name("compute1", "numa0") == "compute1_numa0"
    assert child_name("compute1", "child", "-") == "compute1-child"
    assert child_name("n" * 194, "numa0") == "n" * 194 + "_numa0"


def test_a_name_too_long_keeps_its_beginning_and_what_it_is():
    name = child_name("n" * 198, "numa0")
    assert name.startswith("n" * 170)
    assert name.endswith("_numa0")
    assert len(name) == LONGEST
    assert name == child_name("n" * 198, "numa0")


def test_names_are_the_same_in_each_release():
    assert child_name("n" * 198, "numa0") == "n" * 177 + "~903815895169ca3e_numa0"


@given(NODES, SUFFIXES)
@example("n" * 200, "s" * 60)
def test_every_name_fits_and_its_suffix_can_be_told(node, suffix):
    name = child_name(node, suffix)
    assert len(name) <= LONGEST
    assert child_suffix(node, name) == suffix


@given(NODES, SUFFIXES, SUFFIXES)
def test_two_providers_of_a_node_have_two_names(node, one, other):
    assume(one != other)
    assert child_name(node, one) != child_name(node, other)


@pytest.mark.parametrize("suffix", ["numa0", "s" * 120, "s" * 190, "s" * 500])
def test_nodes_whose_names_differ_at_the_end_alone_have_different_providers(suffix):
    names = {child_name("n" * 197 + end, suffix) for end in ("001", "002", "003")}
    assert len(names) == 3
    assert {len(name) for name in names} == {LONGEST}


@pytest.mark.parametrize(
    "name", ["host1", "host2_numa0", "host1-numa0", "operators", "~0123456789abcdef_numa0"]
)
def test_other_names_have_no_suffix(name):
    assert child_suffix("host1", name) is None


def test_a_name_that_only_looks_shortened_has_no_suffix():
    name = child_name("n" * 198, "numa0")
    assert child_suffix("n" * 198, f"x{name}") is None
    assert child_suffix("n" * 199, name) is None

"""The rules for moves of providers (rest-api.md 5)."""

import pytest

from placement.domain import tree
from placement.domain.provider import TreePosition

#: two trees: 1 ── 2 ── 3, and 4 ── 5
ROOT = TreePosition(1, "root", 0, root_id=1, parent_id=None)
CHILD = TreePosition(2, "child", 0, root_id=1, parent_id=1)
GRANDCHILD = TreePosition(3, "grandchild", 0, root_id=1, parent_id=2)
OTHER_ROOT = TreePosition(4, "other root", 0, root_id=4, parent_id=None)
OTHER_CHILD = TreePosition(5, "other child", 0, root_id=4, parent_id=4)
TREE = [GRANDCHILD, CHILD, ROOT]


@pytest.mark.parametrize(("top", "ids"), [(1, [1, 2, 3]), (2, [2, 3]), (3, [3])])
def test_a_subtree_is_a_provider_with_its_descendants(top, ids):
    assert tree.subtree(TREE, top) == ids


def test_a_subtree_has_every_branch():
    twig = TreePosition(6, "twig", 0, root_id=1, parent_id=2)
    assert sorted(tree.subtree([*TREE, twig], 1)) == [1, 2, 3, 6]


def test_each_provider_has_the_top_of_its_way_up():
    assert tree.tops({1: None, 3: 2, 2: 1, 4: None, 5: 4}) == {1: 1, 2: 1, 3: 1, 4: 4, 5: 4}


def test_a_parent_outside_is_a_top():
    assert tree.tops({2: 1, 3: 2}) == {1: 1, 2: 1, 3: 1}


def test_a_circle_and_what_is_below_it_has_no_top():
    assert tree.tops({1: 3, 2: 1, 3: 2, 4: 3, 5: None}) == {
        1: None,
        2: None,
        3: None,
        4: None,
        5: 5,
    }


def test_a_provider_that_is_its_own_parent_is_a_circle():
    assert tree.tops({1: 1}) == {1: None}


def move(node, parent, may_reparent):
    new_parent = parent.id if parent else None
    parents = {each.id: each.parent_id for each in (*TREE, OTHER_ROOT, OTHER_CHILD)}
    in_circle = tree.tops(parents | {node.id: new_parent})[node.id] is None
    return tree.why_not_move(node.parent_id, new_parent, in_circle, may_reparent)


@pytest.mark.parametrize("may_reparent", [False, True])
@pytest.mark.parametrize(
    ("node", "parent"),
    [
        pytest.param(ROOT, None, id="a root stays one"),
        pytest.param(ROOT, OTHER_CHILD, id="a root finds a parent"),
        pytest.param(CHILD, ROOT, id="a child keeps its parent"),
    ],
)
def test_moves_that_every_version_allows(node, parent, may_reparent):
    assert move(node, parent, may_reparent) is None


@pytest.mark.parametrize(
    ("node", "parent", "old_reason"),
    [
        pytest.param(CHILD, None, tree.NO_UNPARENTING, id="becoming a root"),
        pytest.param(CHILD, OTHER_ROOT, tree.NO_REPARENTING, id="going to another tree"),
        pytest.param(GRANDCHILD, ROOT, tree.NO_REPARENTING, id="rising within the tree"),
    ],
)
def test_moves_that_need_version_1_37(node, parent, old_reason):
    assert (move(node, parent, False), move(node, parent, True)) == (old_reason, None)


@pytest.mark.parametrize("parent", [ROOT, CHILD, GRANDCHILD])
@pytest.mark.parametrize("may_reparent", [False, True])
def test_a_root_can_not_go_below_itself(parent, may_reparent):
    assert move(ROOT, parent, may_reparent) == tree.LOOP


def test_forbidden_re_parenting_is_reported_before_a_loop():
    assert move(CHILD, GRANDCHILD, False) == tree.NO_REPARENTING


def test_a_loop_is_rejected_if_re_parenting_is_allowed():
    assert move(CHILD, GRANDCHILD, True) == tree.LOOP

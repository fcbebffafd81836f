"""The rules for moves of providers (rest-api.md 5)."""

import pytest

from placement.domain import tree
from placement.domain.provider import Node

#: two trees: 1 ── 2 ── 3, and 4 ── 5
ROOT = Node(1, "root", 0, root_id=1, parent_id=None)
CHILD = Node(2, "child", 0, root_id=1, parent_id=1)
GRANDCHILD = Node(3, "grandchild", 0, root_id=1, parent_id=2)
OTHER_ROOT = Node(4, "other root", 0, root_id=4, parent_id=None)
OTHER_CHILD = Node(5, "other child", 0, root_id=4, parent_id=4)
TREE = [GRANDCHILD, CHILD, ROOT]


@pytest.mark.parametrize(("top", "ids"), [(1, [1, 2, 3]), (2, [2, 3]), (3, [3])])
def test_a_subtree_is_a_provider_with_its_descendants(top, ids):
    assert tree.subtree(TREE, top) == ids


def test_a_subtree_has_every_branch():
    twig = Node(6, "twig", 0, root_id=1, parent_id=2)
    assert sorted(tree.subtree([*TREE, twig], 1)) == [1, 2, 3, 6]


def move(node, parent, may_reparent):
    below = tree.subtree([*TREE, OTHER_ROOT, OTHER_CHILD], node.id)
    return tree.why_not_move(node, parent, below, may_reparent)


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

"""What files added is forgotten when it is gone, by all nodes that know of it (compute.md §4.8)."""

import pytest

from compute import config, exceptions
from compute.provider_tree import ProviderTree
from compute.resource_tracker.additions_ownership import AdditionsOwnership
from compute.resource_tracker.applied_configs import Added, AppliedConfigs

SHARED, TRAIT, KEPT = "u-shared", "CUSTOM_GONE", "CUSTOM_KEPT"


def added(*traits):
    return Added(frozenset(traits))


@pytest.fixture
def ownership(tmp_path):
    """Return what tracks two nodes, a and b, for which a file gave a shared provider two traits."""
    noted = AppliedConfigs(str(tmp_path))
    for node in ("u-a", "u-b"):
        noted.note(node, {SHARED: added(TRAIT, KEPT)}, anew=True)
    overrides = {(None, "state_path"): str(tmp_path)}
    conf = config.load(files=[], environ={}, overrides=overrides)
    configs = {SHARED: {"__source_file": "f.yaml", "traits": {"additional": [KEPT]}}}
    return AdditionsOwnership(None, conf, configs, lambda provider_id: None)


def tree_of(node):
    tree = ProviderTree()
    tree.new_root(node, f"u-{node}", 1)
    tree.new_child("shared", f"u-{node}", SHARED, 1)
    tree.add_traits(SHARED, TRAIT, KEPT)
    return tree.subtree(f"u-{node}")


def update(ownership, node, conflict=None):
    """Update a node's tree, as far as files are concerned."""
    tree = tree_of(node)
    additions = ownership.of_node(f"u-{node}")
    taken = additions.take_out(tree)
    with ownership.remembered(ownership.merge(None, additions, tree, taken), tree):
        if conflict is not None:
            raise conflict
    return tree.data(SHARED).traits


def applied(ownership, node):
    return ownership.of_node(f"u-{node}").applied


def test_what_is_removed_for_one_node_is_gone_for_the_other_too(ownership, caplog):
    caplog.set_level("INFO")

    assert update(ownership, "a") == {KEPT}

    assert applied(ownership, "a") == {SHARED: added(KEPT)}
    assert applied(ownership, "b") == {SHARED: added(KEPT)}
    assert caplog.text.count(f"Removed {TRAIT} from provider shared ({SHARED})") == 1


def test_a_removal_is_told_once(ownership, caplog):
    caplog.set_level("INFO")
    update(ownership, "a")
    update(ownership, "b")

    assert caplog.text.count("Removed") == 1


def test_after_a_conflict_what_was_to_be_removed_is_still_the_files(ownership):
    conflict = exceptions.ResourceProviderUpdateConflict(uuid=SHARED, generation=1, error="e")
    with pytest.raises(exceptions.ResourceProviderUpdateConflict):
        update(ownership, "a", conflict)

    assert applied(ownership, "a") == {SHARED: added(TRAIT, KEPT)}

"""What files added is forgotten when it is gone, by all nodes that know of it (compute.md §4.8)."""

from types import SimpleNamespace

import pytest

from compute import config, exceptions
from compute.provider_tree import ProviderTree
from compute.resource_tracker.provider_yaml import additions_ownership
from compute.resource_tracker.provider_yaml.additions_ownership import AdditionsOwnership
from compute.resource_tracker.provider_yaml.applied_configs import Added, AppliedConfigs
from compute.resource_tracker.provider_yaml.provider_additions import MergedAdditions

SHARED, TRAIT, KEPT = "u-shared", "CUSTOM_GONE", "CUSTOM_KEPT"


def added(*traits):
    return Added(frozenset(traits))


@pytest.fixture
def ownership(tmp_path):
    """Return what tracks two nodes, a and b, for which a file gave a shared provider two traits."""
    return ownership_of(tmp_path, added(TRAIT, KEPT))


def ownership_of(folder, noted, reportclient=None):
    """Return what tracks two nodes with a shared provider, for which something is noted."""
    applied = AppliedConfigs(str(folder))
    for node in ("u-a", "u-b"):
        applied.note(node, {SHARED: noted}, anew=True)
    overrides = {(None, "state_path"): str(folder)}
    conf = config.load(files=[], environ={}, overrides=overrides)
    configs = {SHARED: {"__source_file": "f.yaml", "traits": {"additional": [KEPT]}}}
    return AdditionsOwnership(reportclient, conf, configs, lambda provider_id: None)


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


@pytest.mark.parametrize(
    ("generation", "noted"), [(0, {SHARED: Added(classes=frozenset("C"))}), (1, {}), (None, {})]
)
def test_only_an_inventory_that_was_written_is_the_files_after_a_conflict(generation, noted):
    """Nobody knows what was written of a provider that had no generation before."""
    merged = MergedAdditions(after={SHARED: Added(frozenset("T"), frozenset("C"))})
    owned = additions_ownership.Owned("u-a", {}, merged, True, {SHARED: generation})

    assert owned.disturbed(SHARED, tree_of("a")) == noted


class Holders:
    """A report client that tells who holds a class of any provider; `asked` counts."""

    def __init__(self, name):
        self.allocations = {"consumer": {"resources": {name: 1}}}
        self.asked = 0

    def get_allocations_for_resource_provider(self, context, uuid):
        self.asked += 1
        return SimpleNamespace(allocations=self.allocations)


def test_what_is_held_is_asked_again_as_often_as_a_provider_is_read(tmp_path, monkeypatch):
    clock, holders = SimpleNamespace(now=0.0), Holders("CUSTOM_C")
    monkeypatch.setattr(additions_ownership, "time", SimpleNamespace(monotonic=lambda: clock.now))
    noted = Added(classes=frozenset(["CUSTOM_C"]))
    ownership = ownership_of(tmp_path, noted, holders)

    def kept():
        """Return what the next update of a node keeps because it is held."""
        tree = tree_of("a")
        tree.update_inventory(SHARED, {"CUSTOM_C": {"total": 8}})
        additions = ownership.of_node("u-a")
        return ownership.merge(None, additions, tree, additions.take_out(tree)).merged.kept

    assert kept() == {SHARED: noted}
    holders.allocations = {}
    # of [compute]resource_provider_association_refresh
    clock.now = 299.0
    assert (kept(), holders.asked) == ({SHARED: noted}, 1)
    clock.now = 300.0
    assert (kept(), holders.asked) == ({}, 2)

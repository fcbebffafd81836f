"""Entries of the operator's files for providers that no node has (compute.md §4.8)."""

from types import SimpleNamespace

import pytest

from compute import config, exceptions
from compute.provider_tree import ProviderTree
from compute.resource_tracker.reporting.reporting import Reporting, with_option


def tree(*children):
    made = ProviderTree()
    made.new_root("node", "u-node")
    for child in children:
        made.new_child(child, "u-node")
    return made


@pytest.fixture
def absent(tmp_path):
    """Return what is absent after an update of one of some nodes found no provider `card`.

    Each node is told by its root's children; None: it has no tree yet.
    """

    def absent(*nodes_children, available):
        trees = [None if children is None else tree(*children) for children in nodes_children]
        driver = SimpleNamespace(get_available_nodes=lambda: ["node"] * available)
        conf = config.load(files=[], environ={}, overrides={(None, "state_path"): str(tmp_path)})
        nodes = SimpleNamespace(all=lambda: [SimpleNamespace(tree=each) for each in trees])
        reporting = Reporting(driver, conf, None, None, nodes, None, None, {})
        on_absent = reporting.additions.of_node("u-node").on_absent
        on_absent("card")
        on_absent("card")
        return reporting.absent_providers

    return absent


WARNING = "Provider card of the provider config files doesn't exist"


@pytest.mark.parametrize("nodes", [[None], [[]], [["another"], None], [[], []]])
def test_a_provider_that_no_node_has_is_warned_of_once(absent, caplog, nodes):
    assert absent(*nodes, available=len(nodes)) == {"card"}
    assert caplog.text.count(WARNING) == 1


@pytest.mark.parametrize(
    ("nodes", "available"),
    [([None, None], 2), ([[], None, None], 3), ([[]], 2), ([], 1)],
)
def test_a_node_that_was_not_reported_yet_may_have_it(absent, caplog, nodes, available):
    assert absent(*nodes, available=available) == set()
    assert WARNING not in caplog.text


def test_another_node_may_have_it(absent, caplog):
    assert absent(["card"], None, available=2) == set()
    assert WARNING not in caplog.text


@pytest.mark.parametrize(
    ("shared", "held", "is_named"),
    [(None, "VCPU", True), ("2-3", "VCPU", False), (None, "CUSTOM_VCPU", False)],
)
def test_the_option_that_leaves_no_processor_is_named_if_that_is_why(shared, held, is_named):
    sets = {("compute", "cpu_dedicated_set"): "0-1", ("compute", "cpu_shared_set"): shared}
    conf = config.load(files=[], environ={}, overrides=sets)
    error = with_option(exceptions.ReshapeFailed(error=f"guests hold {held}"), conf)
    assert ("[compute]cpu_dedicated_set alone" in str(error)) is is_named


def test_an_update_that_leaves_devices_unreserved_is_repeated_once(monkeypatch):
    pci = SimpleNamespace(settled=lambda node: False)
    reporting = Reporting(None, config.load(files=[], environ={}), None, None, None, None, pci, {})
    written = []
    monkeypatch.setattr(reporting, "wanted", lambda context, node, startup: startup)
    monkeypatch.setattr(reporting, "flush", lambda context, wanted: written.append(wanted))
    reporting.update(None, SimpleNamespace(name="node", record=1, saved=1), startup=True)
    assert written == [True, True]

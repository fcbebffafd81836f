"""Commands that another plugin of `openstack` has, too, are that one's where it is installed."""

import configparser
import sys
from pathlib import Path

import pytest

from compute.osc import old_names

SETUP = Path(__file__).parents[4] / "setup.cfg"
#: the commands of osc-placement-tree 0.3.1 that begin like ours
THEIRS = ("resource_provider_tree_list", "resource_provider_tree_show")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a distribution with a command; the command is a text."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name, command):
        module = f"plugin_{name.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(f"Command = 'of {name}'")
        folder = tmp_path / f"{name.replace('-', '_')}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        entry = f"[{old_names.GROUP}]\n{command} = {module}:Command\n"
        (folder / "entry_points.txt").write_text(entry)
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def test_the_other_plugins_command_is_found_whichever_is_first(install):
    install("openstack-berth", "resource_provider_tree_show")
    assert old_names.of_other_plugin("resource_provider_tree_show") is None
    install("osc-placement-tree", "resource_provider_tree_show")
    found = old_names.of_other_plugin("resource_provider_tree_show")
    assert found == "of osc-placement-tree"


def test_only_the_old_names_are_those_of_the_other_plugin():
    setup = configparser.ConfigParser()
    setup.read(SETUP)
    lines = setup["options.entry_points"][old_names.GROUP].strip().splitlines()
    ours = dict(line.split(" = ") for line in lines)
    shared = {name: target for name, target in ours.items() if name in THEIRS}
    assert shared.keys() == set(THEIRS)
    assert [t for t in shared.values() if not t.startswith("compute.osc.old_trees:")] == []
    assert {"resource_provider_tree_find", "resource_provider_tree_report"} <= ours.keys()

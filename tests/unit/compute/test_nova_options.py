"""Every option of nova is decided on, and the page has those that are read.

The table nova_options.yaml has nova's names; collect_nova_options.py made it.
"""

import re
from pathlib import Path

import pytest
import yaml

from compute.config import list_opts
from tests.offenders import assert_none
from tests.unit.compute.collect_nova_options import merged, names_of

TABLE = yaml.safe_load(Path(__file__).with_name("nova_options.yaml").read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[3] / "doc" / "options_of_nova.rst"
OURS = {group: {option.dest for option in options} for group, options in list_opts()}
#: options that say how others are reached or asked, and what a request becomes: no report
_OF_CONNECTIONS = {"placement", "scheduler", "filter_scheduler"}
_OF_REQUESTS = {("pci", "alias"), ("DEFAULT", "my_ip")}
_OF_BATCHES = {("compute", "sharing_providers_max_uuids_per_request")}


def decided(*decisions):
    return {
        (group, name)
        for group, lists in TABLE.items()
        for decision in decisions
        for name in lists.get(decision, ())
    }


def test_every_option_of_nova_is_decided_on_once():
    decisions = {"read", "refused", "other_drivers", "others"}
    assert_none(
        f"[{group}] {set(lists) - decisions}"
        for group, lists in TABLE.items()
        if not decisions.issuperset(lists)
    )
    all_names = [(g, n) for g, lists in TABLE.items() for names in lists.values() for n in names]
    assert len(all_names) == len(set(all_names))
    assert len(all_names) > 800


def test_what_is_read_is_an_option_here_and_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    read = decided("read", "refused")
    assert_none(f"[{g}]{n}: no option here" for g, n in sorted(read) if n not in OURS.get(g, ()))
    assert_none(
        f"[{g}]{n}: not on the page"
        for g, n in sorted(read)
        if not re.search(rf"``(\[{g}\] )?{n}``", page)
    )


def test_what_the_page_names_is_read():
    named = set(re.findall(r"^``\[(\w+)\] (\w+)``", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert_none(f"[{group}] {name}" for group, name in named - decided("read", "refused"))


def test_an_option_that_both_have_is_read():
    both = {
        (group, name)
        for group, names in OURS.items()
        for name in names
        if group not in _OF_CONNECTIONS and (group, name) in decided("others", "other_drivers")
    }
    connection = {one for one in both if one[0] == "ironic"}
    assert_none(f"[{g}]{n}" for g, n in both - connection - _OF_REQUESTS - _OF_BATCHES)


@pytest.mark.parametrize("kept", [{}, {"g": {"read": ["a", "gone"]}}])
def test_a_new_name_is_undecided(kept):
    table = merged(kept, names_of("[g]\n# help\n#a = 1\n#\n#b = <None>\n"))
    assert table["g"]["undecided"] == (["b"] if kept else ["a", "b"])

import logging
import os
from itertools import pairwise

import pytest

from compute import exceptions
from tests.unit.virt.consumers import uuid
from virt.ironic.inventory_file import InventoryFile, parse_nodes
from virt.ironic.node import IronicNode

ONE = f"nodes: [{{uuid: {uuid(1)}, resource_class: gold}}]\n...\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "baremetal.yaml"


@pytest.fixture
def good(path):
    """Return a file that has been read once, with one machine."""
    path.write_text(ONE)
    source = InventoryFile(str(path))
    source.nodes()
    return source


def uuids(source):
    return [node.uuid for node in source.nodes()]


def test_a_machine_is_listed_with_all_that_matters():
    text = f"""
      nodes:
        - uuid: {uuid(1).upper()}
          name: rack1-07
          resource_class: baremetal.gold
          traits: [HW_CPU_X86_VMX, CUSTOM_RAID]
          maintenance: true
          power_state: "power on"
          provision_state: active
          instance_uuid: {uuid(77)}
          cpu_arch: x86_64
...
"""

    assert parse_nodes(text) == [
        IronicNode(
            uuid=uuid(1),
            name="rack1-07",
            resource_class="baremetal.gold",
            traits=frozenset({"HW_CPU_X86_VMX", "CUSTOM_RAID"}),
            maintenance=True,
            power_state="power on",
            provision_state="active",
            instance_uuid=uuid(77),
            cpu_arch="x86_64",
        )
    ]


def test_a_uuid_is_enough_for_a_machine_and_it_is_available_then():
    (node,) = parse_nodes(f"nodes: [{{uuid: {uuid(1)}}}]\n...")

    assert (node.is_used, node.is_unavailable, node.resource_class) == (False, False, None)


def test_there_may_be_no_machines():
    assert parse_nodes("nodes: []\n...\n") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nodes: [", r"is not YAML: .* in line \d, column \d"),
        ("nodes:\n  - uuid: [}\n", r"is not YAML: .* in line 2, column"),
        (ONE[:-4] + ONE, "is not YAML: the key 'nodes' occurs twice in line 2, column 1"),
        (ONE + ONE, "is not YAML: .* in line 3"),
        (ONE[:-4], "doesn't end with the line `...`: it may have been cut off"),
        (ONE.replace("...", ".."), "is not YAML"),
        (ONE + "# the end", "doesn't end with the line"),
        ("nodes: " + "[" * 3000, "more than 100 lists"),
        ("nodes: &a [*a]", "has a value that is part of itself: a"),
        (ONE.replace("gold", "9" * 5000), "has a value that makes no sense"),
        (ONE.replace("gold", "!!timestamp x"), "has a value that makes no sense"),
        ("nodes: [{uuid: \0}]", "is not YAML"),
        ("nodes: [{1: x}]", "a key is not a string in line 1, column 10"),
        (ONE.replace("gold", "gold, uuid: x"), "the key 'uuid' occurs twice in line 1"),
        ("", "is not a mapping with the key `nodes`"),
        ("- uuid: 1\n", "is not a mapping with the key `nodes`"),
        ("nodes: {}\n", "is not a mapping with the key `nodes`"),
        ("nodes: []\nnode: []\n", "and only that"),
        ("nodes: [5]\n", "node 1 is not a mapping: 5"),
        (ONE.replace("]", ", {name: a}]"), "node 2 has no uuid"),
        ("nodes: [{uuid: rack1}]", r"node 1 \(rack1\): uuid is not a uuid: 'rack1'"),
        ("nodes: [{uuid: 12}]", r"node 1 \(12\): uuid is not a uuid: 12"),
        (
            ONE.replace("]", f", {{uuid: {uuid(2)}}}, {{uuid: {uuid(1)}}}]"),
            f"nodes 1 and 3 both have uuid {uuid(1)}",
        ),
        (ONE.replace("gold", "7"), rf"node 1 \({uuid(1)}\): resource_class is not a string .*: 7"),
        (ONE.replace("gold", "''"), "resource_class is not a string"),
        (ONE.replace("gold", "x" * 300), "resource_class is too long: 'xxx"),
        ("nodes: [{uuid: 2026-13-45}]", "has a value that makes no sense: month must be in 1"),
        (ONE.replace("gold", "gold, power_state: off"), r"power_state .*in quotes\): False"),
        (ONE.replace("gold", "gold, maintenance: 'no'"), "maintenance is neither true nor false"),
        (ONE.replace("gold", "gold, maintenence: true"), "unknown key 'maintenence'; known are"),
        (ONE.replace("gold", "gold, traits: CUSTOM_A"), "traits is not a list: 'CUSTOM_A'"),
        (ONE.replace("gold", "gold, traits: [FAST]"), "traits has 'FAST', which is neither a"),
        (ONE.replace("gold", "gold, traits: [[]]"), r"traits has \[\], which is neither a"),
        (ONE.replace("gold", "gold, instance_uuid: me"), "instance_uuid is not a uuid: 'me'"),
        ("nodes: [{uuid: !!python/object:os.system x}]", "is not YAML: could not determine"),
    ],
)
def test_what_makes_no_sense_is_refused_with_file_and_entry(path, text, says):
    path.write_text(text)

    with pytest.raises(exceptions.InvalidConfiguration, match=f"baremetal.yaml: .*{says}"):
        InventoryFile(str(path)).nodes()


def test_a_file_that_never_was_there_is_refused_with_its_path(path):
    says = r"baremetal\.yaml: No such file or directory\. \[ironic\]inventory_file names this file"
    with pytest.raises(exceptions.InvalidConfiguration, match=says):
        InventoryFile(str(path)).nodes()


def test_a_file_that_is_no_text_is_refused_with_its_path(path):
    path.write_bytes(b"nodes: \xff\xfe")

    with pytest.raises(exceptions.InvalidConfiguration, match=r"baremetal\.yaml: 'utf-8' codec"):
        InventoryFile(str(path)).nodes()


def test_a_list_cut_off_anywhere_is_never_taken_for_a_shorter_one():
    entry = "  - uuid: {}\n    resource_class: gold\n    traits: [CUSTOM_A]\n"
    whole = "nodes:\n" + "".join(entry.format(uuid(number)) for number in (1, 2, 3)) + "..."
    assert len(parse_nodes(whole)) == 3

    for length in range(len(whole)):
        with pytest.raises(ValueError, match=r"YAML|mapping|uuid|not a list|end with"):
            parse_nodes(whole[:length])


def test_a_list_that_is_being_written_leaves_the_last_good_one_in_force(good, path, caplog):
    whole = ONE.replace("[{", f"[{{uuid: {uuid(2)}}}, {{uuid: {uuid(3)}}}, {{")
    path.write_text(whole.replace("...\n", ""))
    before = uuids(good)
    path.write_text(whole)

    assert (before, uuids(good)) == ([uuid(1)], [uuid(2), uuid(3), uuid(1)])
    assert "may have been cut off" in caplog.text


def test_a_few_lines_that_stand_for_billions_of_values_are_refused(path):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 10)}]" for a, b in pairwise("abcdefghi")]
    path.write_text("\n".join([*lines, "nodes: *i", "..."]))

    with pytest.raises(exceptions.InvalidConfiguration, match="more than 1000000 values"):
        InventoryFile(str(path)).nodes()


def test_a_file_that_is_no_file_is_refused_with_its_path(path):
    os.mkfifo(path)

    with pytest.raises(exceptions.InvalidConfiguration, match=r"yaml: is not a regular file"):
        InventoryFile(str(path)).nodes()


def test_a_file_that_is_huge_is_refused_with_its_path(path):
    with path.open("wb") as file:
        file.truncate(2**40)

    with pytest.raises(exceptions.InvalidConfiguration, match=r"yaml: has more than 16 MiB"):
        InventoryFile(str(path)).nodes()


def test_changes_count_from_the_next_time_on(good, path):
    path.write_text(f"nodes: [{{uuid: {uuid(2)}}}, {{uuid: {uuid(3)}}}]\n...\n")

    assert uuids(good) == [uuid(2), uuid(3)]


def test_a_file_replaced_by_one_of_the_same_size_and_age_is_noticed(good, path):
    path.write_text(ONE.replace(uuid(1), uuid(2)))

    assert uuids(good) == [uuid(2)]


@pytest.mark.parametrize("spoil", [lambda path: path.write_text("nodes: ["), lambda p: p.unlink()])
def test_a_file_that_is_wrong_or_gone_leaves_the_last_good_list_in_force(good, path, caplog, spoil):
    spoil(path)

    assert (uuids(good), uuids(good)) == ([uuid(1)], [uuid(1)])
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith(f"{path}: ")


def test_a_file_put_right_again_is_taken_over_and_said_to_be_good(good, path, caplog):
    caplog.set_level(logging.INFO)
    path.write_text("nodes: [")
    good.nodes()

    path.write_text(ONE.replace(uuid(1), uuid(2)))

    assert uuids(good) == [uuid(2)]
    assert "baremetal.yaml is good again" in caplog.text


def test_another_fault_is_logged_as_well(good, path, caplog):
    path.write_text("nodes: [")
    good.nodes()
    path.write_text("nodes: [5]")
    good.nodes()

    assert ["not YAML" in caplog.text, "node 1 is not a mapping" in caplog.text] == [True, True]

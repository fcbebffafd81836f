"""`tree` and `consumers`: what a person, and a program, gets to see."""

import pytest

from compute.records.instance import Instance
from tests.functional.compute.maintenance.site import HOST

pytestmark = pytest.mark.spread_over_databases("sqlite")

LICENSES = {"CUSTOM_LICENSE": {"total": 4}}
AGGREGATE = "5d1f2f9e-0d41-4b7c-9d5c-0d9f5b6a7c10"


@pytest.fixture
def cloud(site):
    """Make a host with a NUMA cell, an instance on both, and an unrelated provider.

    The uuids by name.
    """
    with site.placement() as outsider:
        root = outsider.provider(
            HOST,
            inventory={"DISK_GB": {"total": 100, "reserved": 20}},
            traits=["HW_CPU_X86_AVX2"],
            aggregates=[AGGREGATE],
        )
        numa = outsider.provider(
            f"{HOST}_numa0", root, {"VCPU": {"total": 4, "allocation_ratio": 2.0}}
        )
        other = outsider.provider("other", inventory=LICENSES)
        guest = outsider.allocate({root: {"DISK_GB": 40}, numa: {"VCPU": 2}})
        stranger = outsider.allocate({other: {"CUSTOM_LICENSE": 4}})
    with site.cell() as cell:
        cell.instances.create(Instance(guest, host=HOST, node=HOST))
    return {"root": root, "numa": numa, "other": other, "guest": guest, "stranger": stranger}


def test_the_tree_of_a_node_is_drawn_with_everything_in_it(site, cloud):
    ended = site.run("tree", "--node", HOST)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        f"{HOST}  {cloud['root']}  generation 4\n"
        "├── DISK_GB  █████░░░░░  40 of 80 used  (total 100, reserved 20)\n"
        "├── traits      HW_CPU_X86_AVX2\n"
        f"├── aggregates  {AGGREGATE}\n"
        f"├── held by     {cloud['guest']} (instance on {HOST})  40 DISK_GB\n"
        f"└── {HOST}_numa0  {cloud['numa']}  generation 2\n"
        "    ├── VCPU  ██░░░░░░░░  2 of 8 used  (total 4, ratio 2)\n"
        f"    └── held by     {cloud['guest']} (instance on {HOST})  2 VCPU\n"
    )


@pytest.mark.parametrize("by", ["name", "uuid"])
def test_a_provider_anywhere_in_a_tree_shows_the_whole_tree(site, cloud, by):
    wanted = f"{HOST}_numa0" if by == "name" else cloud["numa"]
    found = site.run("tree", "--provider", wanted, "--json").json["resource_providers"]
    assert [provider["uuid"] for provider in found] == [cloud["root"], cloud["numa"]]


def test_without_a_choice_all_trees_are_shown_by_name(site, cloud):
    found = site.run("tree", "--json").json["resource_providers"]
    assert [provider["name"] for provider in found] == [HOST, f"{HOST}_numa0", "other"]


def test_json_has_capacity_use_and_holders(site, cloud):
    (found,) = site.run("tree", "--node", "other", "--json").json["resource_providers"]
    record = found["inventories"]["CUSTOM_LICENSE"]
    assert (record["total"], record["capacity"], record["used"]) == (4, 4, 4)
    assert found["allocations"] == {cloud["stranger"]: {"CUSTOM_LICENSE": 4}}


def test_consumers_are_listed_with_what_they_hold_and_where(site, cloud):
    shown = {
        cloud["guest"]: f"{cloud['guest']}  instance on {HOST}\n"
        f"  {HOST:<{len(HOST) + 6}}  40 DISK_GB\n  {HOST}_numa0  2 VCPU\n",
        cloud["stranger"]: f"{cloud['stranger']}\n  {'other':<{len(HOST) + 6}}  4 CUSTOM_LICENSE\n",
    }
    ended = site.run("consumers")
    assert (ended.code, ended.out) == (0, "".join(shown[uuid] for uuid in sorted(shown)))


def test_consumers_of_one_tree_as_json(site, cloud):
    (found,) = site.run("consumers", "--node", HOST, "--json").json["consumers"]
    assert found == {
        "uuid": cloud["guest"],
        "kind": "instance",
        "host": HOST,
        "allocations": {
            cloud["root"]: {"name": HOST, "resources": {"DISK_GB": 40}},
            cloud["numa"]: {"name": f"{HOST}_numa0", "resources": {"VCPU": 2}},
        },
    }


@pytest.mark.parametrize("command", ["tree", "consumers"])
@pytest.mark.parametrize("flag", ["--node", "--provider"])
def test_an_unknown_provider_is_2(site, cloud, command, flag):
    ended = site.run(command, flag, "nobody")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "nova-manage: No such resource provider nobody.\n"


def test_looking_leaves_the_database_as_it_is(sqlite_site):
    with sqlite_site.placement() as outsider:
        outsider.provider(HOST)
    path = sqlite_site.folder / "placement.db"
    before = path.read_bytes(), sorted(sqlite_site.folder.iterdir())
    assert sqlite_site.run("tree").code == 0
    assert (path.read_bytes(), sorted(sqlite_site.folder.iterdir())) == before

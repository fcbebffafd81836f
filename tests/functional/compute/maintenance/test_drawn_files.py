"""`--html FILE`: what is drawn for a ticket, opened from disk by a browser without a network."""

import pytest

from compute.cli.output import drawn_file
from compute.records.instance import Instance
from tests.browsing import expect
from tests.functional.compute.maintenance.drivers import MDEVS, FlatVGPUHost
from tests.functional.compute.maintenance.site import DRIVERS, FLAVOR, HOST
from tests.functional.placement.served import served
from tests.functional.placement.service import Service

#: names that would end the data of the file, or run, if they were more than text
HOSTILE = "</script><script>document.title='broken'</script><!--"


@pytest.fixture
def vgpu_site(sqlite_site):
    """Return a host that will report its GPUs as children, and its guest with one."""
    root = sqlite_site.started(FlatVGPUHost)
    with sqlite_site.placement() as outsider:
        guest = outsider.allocate({root: FLAVOR | {"VGPU": 1}})
    with sqlite_site.cell() as cell:
        cell.instances.create(Instance(guest, host=HOST, node=HOST))
    sqlite_site.write(MDEVS, {guest: {"pci_0000_84_00_0": 1}})
    sqlite_site.configure(f"{DRIVERS}.VGPUHost")
    return sqlite_site, guest


def test_a_tree_is_drawn_in_a_file(vgpu_site, open_page, screenshots, tmp_path):
    site, guest = vgpu_site
    file = tmp_path / "tree.html"
    ended = site.run("tree", "--node", HOST, "--html", str(file))
    assert (ended.code, ended.out, ended.err) == (0, f"{file} shows 1 provider.\n", "")
    page = open_page(file.as_uri(), offline=True)
    expect(page.get_by_role("heading", name=f"Provider tree of {HOST}")).to_be_visible()
    expect(page.locator("article")).to_contain_text(f"{guest} instance on {HOST}")
    screenshots(page, "file-tree", full_page=True)


def test_a_reshape_is_drawn_before_it_happens(vgpu_site, open_page, screenshots, tmp_path):
    site, guest = vgpu_site
    file = tmp_path / "reshape.html"
    before = site.rows()
    ended = site.run("migrate_compute_inventory", "--dry-run", "--html", str(file))
    plain = site.run("migrate_compute_inventory", "--dry-run")
    # the output is the same, and nothing is written to placement
    assert (ended, site.rows()) == (plain, before)
    page = open_page(file.as_uri(), offline=True)
    expect(page.get_by_text("1 consumer moves and keeps what it holds.")).to_be_visible()
    expect(page.get_by_role("group", name="What consumers hold of it")).to_contain_text(guest)
    assert page.locator("path.move").count() == 1
    screenshots(page, "file-reshape", full_page=True)


def test_json_and_a_file_together(vgpu_site, tmp_path):
    site, _ = vgpu_site
    file = tmp_path / "reshape.html"
    ended = site.run("migrate_compute_inventory", "--dry-run", "--json", "--html", str(file))
    (node,) = ended.json["nodes"]
    assert node["uuid"] in file.read_text()


def test_the_page_draws_what_json_says(vgpu_site, open_page, tmp_path):
    site, _ = vgpu_site
    file = tmp_path / "reshape.json"
    file.write_text(site.run("migrate_compute_inventory", "--dry-run", "--json").out)
    service = Service(f"sqlite:///{tmp_path}/of-the-page.db")
    with served(service.app) as url:
        page = open_page(f"{url}/berth/v1/ui/#/reshape")
        page.get_by_label("File of a rehearsal").set_input_files(file)
        expect(page.get_by_text("1 consumer moves and keeps what it holds.")).to_be_visible()
    service.running.close()


def test_hostile_names_are_texts_in_files(sqlite_site, open_page, tmp_path):
    file = tmp_path / "tree.html"
    with sqlite_site.placement() as outsider:
        root = outsider.provider(HOSTILE, inventory={"VCPU": {"total": 4}})
        outsider.allocate({root: {"VCPU": 1}})
    assert sqlite_site.run("tree", "--html", str(file)).code == 0
    page = open_page(file.as_uri(), offline=True)
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert (page.title(), page.locator("main script").count()) == ("Provider trees", 0)


def test_an_empty_placement_is_said_to_be_empty(open_page, tmp_path):
    file = tmp_path / "tree.html"
    drawn_file.write(str(file), "Provider trees", "tree", {"trees": [], "consumers": {}})
    page = open_page(file.as_uri(), offline=True)
    expect(page.get_by_text("There is no provider.")).to_be_visible()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("migrate_compute_inventory", "--html", "x.html"), "argument --html: needs --dry-run"),
        (("tree", "--html", "x.html", "--json"), "argument --html: not allowed with"),
        (("tree", "--html", "/nowhere/x.html"), "--html: there is no folder /nowhere"),
        (("tree", "--html", "/"), "--html: / is a folder"),
        (("tree", "--html", "/dev/null"), "--html: /dev/null is no file"),
        (("migrate_compute_inventory", "--dry-run", "--html", "/"), "--html: / is a folder"),
    ],
)
def test_what_can_not_be_drawn_is_refused(sqlite_site, capsys, command, said):
    try:
        ended = sqlite_site.run(*command)
        code, text = ended.code, ended.out + ended.err
    except SystemExit as end:
        code, text = end.code, "".join(capsys.readouterr())
    assert (code, said in text) == (127, True), text


def test_a_file_that_can_not_be_drawn_again_stays(vgpu_site, tmp_path):
    site, _ = vgpu_site
    file = tmp_path / "tree.html"
    file.write_text("of last week")
    ended = site.run("tree", "--node", "nobody", "--html", str(file))
    assert (ended.code, file.read_text(), list(tmp_path.glob(".*"))) == (2, "of last week", [])


def test_the_longest_name_of_a_class_breaks(open_page, tmp_path):
    file = tmp_path / "tree.html"
    name = "CUSTOM_" + 248 * "X"
    provider = {"uuid": "u", "name": "n", "parent_provider_uuid": None, "generation": 1}
    stock = {"inventories": {name: {"total": 1}, "VCPU": {"total": 1}}, "used": {}}
    provider |= stock | {"traits": [name], "aggregates": [], "allocations": {}}
    data = {"trees": [[provider]], "consumers": {}}
    drawn_file.write(str(file), "Provider trees", "tree", data)
    page = open_page(file.as_uri(), offline=True)
    for width in (360, 768, 1440, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width

"""`nova-manage placement heal_allocations` over HTTP, with the reference as the service."""

import contextlib
import json

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from compute import config
from compute.records.instance import Flavor
from tests.functional.compute.compute_host import ComputeHost
from tests.functional.compute.maintenance.drivers import MDEVS, VGPUHost
from tests.functional.compute.maintenance.http_service import described
from tests.functional.compute.maintenance.site import DRIVERS, HOST, Site
from tests.functional.compute.outsider import Outsider
from tests.reference.environment import reference_python
from tests.reference.starting import Starter, wait_for

SIZE = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}
FLAVOR = Flavor(vcpus=2, memory_mb=1024, root_gb=10, extra_specs={"resources:VGPU": "1"})
CARDS = ("pci_0000_84_00_0", "pci_0000_85_00_0", "pci_0000_86_00_0")


@pytest.fixture
def adapter(tmp_path):
    """Reach a reference of this test's own."""
    starter = Starter(reference_python(), tmp_path / "reference")
    try:
        port, _ = starter.start()
        wait_for(port)
        session = Session(auth=Token(f"http://127.0.0.1:{port}", "admin"))
        yield Adapter(session, service_type="placement", raise_exc=False)
    finally:
        starter.close()


@pytest.fixture
def site(tmp_path, adapter, capsys):
    folder = tmp_path / "host"
    folder.mkdir()
    site = Site(folder, "sqlite:////nowhere/placement.db", capsys.readouterr)
    url = adapter.session.auth.endpoint
    site.configure(f"{DRIVERS}.VGPUHost", described(url))
    return site


def test_lost_and_doubled_virtual_gpus_are_healed(site, adapter):
    host = ComputeHost(config.load(files=[str(site.file)], environ={}), lambda: adapter)
    with contextlib.closing(host.cell):
        host.start(VGPUHost)
        root = host.uuid
    outsider = Outsider(adapter)
    rows = outsider.call("GET", f"/resource_providers?in_tree={root}")["resource_providers"]
    uuids = {row["name"]: row["uuid"] for row in rows}
    first, second, third = (uuids[f"{HOST}_{card}"] for card in CARDS)
    lost, doubled = site.guest(flavor=FLAVOR), site.guest(flavor=FLAVOR)
    site.write(MDEVS, {lost: {CARDS[0]: 1}, doubled: {CARDS[1]: 1}})
    twice = {root: SIZE, second: {"VGPU": 1}, third: {"VGPU": 1}}
    outsider.allocate(twice, consumer=doubled)
    told = site.run("heal_allocations", "--http", "--dry-run", "--json")
    results = {one["instance"]: one["result"] for one in json.loads(told.out)["instances"]}
    assert (told.code, results[lost]) == (9, "would create")
    assert (outsider.allocations(lost), outsider.allocations(doubled)) == ({}, twice)
    ended = site.run("heal_allocations", "--http", "--mend-doubled")
    assert (ended.code, ended.err) == (0, "")
    assert outsider.allocations(lost) == {root: SIZE, first: {"VGPU": 1}}
    assert outsider.allocations(doubled) == {root: SIZE, second: {"VGPU": 1}}
    assert site.run("heal_allocations", "--http", "--mend-doubled").code == 4

"""`migrate_compute_inventory` stores what the service would, which then does nothing.

See compute.md §7.1.
"""

import random
from uuid import uuid4

import pytest

from compute.exceptions import ResourceProviderUpdateConflict
from compute.records.instance import Flavor, Instance
from compute.records.service import Service
from compute.report.trees.steps import RereadInventory
from compute.report.wire.extensions import Extensions
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.drivers import (
    DEVICES,
    DeviceHost,
    FlatDeviceHost,
    FlatDiskHost,
    FlatVGPUHost,
    PoolHost,
    VGPUHost,
)
from tests.functional.compute.maintenance.site import DRIVERS, HOST
from virt.fake import MediumFakeDriver
from virt.fake.legacy import ResourceOnlyDriver

SMALL = Flavor(vcpus=1, memory_mb=512, root_gb=10)
HELD = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}


@pytest.fixture
def single_requests(monkeypatch):
    """Have providers written one by one: each step of a dry run is a request then."""
    monkeypatch.setattr(Extensions, "has", lambda *asked: False)
    for read_or_write in ("get", "query", "put"):
        monkeypatch.setattr(Extensions, read_or_write, lambda *asked: None)


@pytest.fixture
def writes(monkeypatch):
    """Collect the writes of all report clients in order: method, URL and body."""
    seen = []

    def watched(name):
        method = getattr(Transport, name)

        def send(client, url, *args, **kwargs):
            seen.append((name.upper(), url, args[0] if args and name != "delete" else None))
            return method(client, url, *args, **kwargs)

        return send

    for name in ("post", "put", "delete"):
        monkeypatch.setattr(Transport, name, watched(name))
    return seen


def provider_yaml(site, root=None, child=None, traits=("CUSTOM_RACK",)):
    """Have a file give the root and a provider of the operator's so much of classes of its own."""
    folder = site.folder / "provider_config"
    folder.mkdir(exist_ok=True)
    entries = [
        {
            "identification": {"uuid": "$COMPUTE_NODE"},
            "inventories": {"additional": [{"CUSTOM_LICENSE": {"total": root}}] if root else []},
            "traits": {"additional": list(traits)},
        }
    ]
    if child:
        entries.append(
            {
                "identification": {"name": f"{HOST}-pool"},
                "inventories": {"additional": [{"CUSTOM_SLOT": {"total": child}}]},
            }
        )
    # JSON is YAML
    site.write("a", {"meta": {"schema_version": "1.0"}, "providers": entries})
    (site.state / "a").rename(folder / "a.yaml")


def more(site, writer="auto", report=False, **ratios):
    lines = "".join(f"{name} = {value}\n" for name, value in ratios.items())
    return (
        f"[compute]\nallocation_writer = {writer}\n"
        f"provider_config_location = {site.folder}/provider_config\n"
        f"[pci]\nreport_in_placement = {report}\n"
        f"[DEFAULT]\n{lines}"
    )


def device(number, kind="type-PCI"):
    return {
        "address": f"0000:8{number}:00.0",
        "vendor_id": "10de",
        "product_id": "1db6",
        "dev_type": kind,
        "parent_addr": None,
        "numa_node": 0,
        "status": "available",
        "label": "label_10de_1db6",
    }


def guest(site, devices=()):
    with site.cell() as cell:
        instance = Instance(
            str(uuid4()),
            host=HOST,
            node=HOST,
            project_id="project",
            user_id="user",
            vm_state="active",
            flavor=SMALL,
            pci_devices=list(devices),
        )
        cell.instances.create(instance)
        return instance.uuid


def settled(site, driver_class):
    """Start the service until it has nothing more to write, and return the root's uuid."""
    for _ in range(3):
        root = site.start_service_once(driver_class)
    return root


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("flags", [(), ("--sync",)])
def test_what_an_operator_s_file_gives_survives_a_reshape(sqlite_site, held, flags):
    provider_yaml(sqlite_site, root=5)
    sqlite_site.configure("fake.MediumFakeDriver", more(sqlite_site))
    root = sqlite_site.start_service_once(FlatDeviceHost)
    with sqlite_site.placement() as outsider:
        license_held = {"CUSTOM_LICENSE": 2} if held else {}
        consumer = outsider.allocate({root: HELD | license_held})
    sqlite_site.configure(f"{DRIVERS}.DeviceHost", more(sqlite_site))
    ended = sqlite_site.run("migrate_compute_inventory", *flags)
    assert (ended.code, ended.err) == (0, "")
    with sqlite_site.placement() as outsider:
        assert outsider.totals(root) == {"DISK_GB": 1028, "CUSTOM_LICENSE": 5}
        assert outsider.allocations(consumer)[root] == {"DISK_GB": 10} | license_held


@pytest.mark.parametrize(
    "seed",
    # without a reshape, and with guests that it moves; deep has this with each writer
    [0, 8, *(pytest.param(n, marks=pytest.mark.thorough) for n in (1, 2, 3, 4, 5, 6, 7, 9))],
)
def test_after_a_migration_the_service_sends_no_write(sqlite_site, single_requests, writes, seed):
    chance = random.Random(seed)
    site = sqlite_site
    writer = ("scheduler", "tracker", "auto")[seed % 3]
    report = chance.random() < 0.5
    site.write(DEVICES, [device(number) for number in range(chance.randint(0, 4))])
    provider_yaml(site, root=chance.choice([None, 4]))
    site.configure(f"{DRIVERS}.FlatDeviceHost", more(site, writer))
    site.start_service_once(FlatDeviceHost)
    with site.placement() as outsider, site.cell() as cell:
        root = cell.compute_nodes.by_host_and_node(HOST, HOST).uuid
        outsider.provider(f"{HOST}-pool", parent=root, inventory={"CUSTOM_SLOT": {"total": 2}})
        for number in range(chance.randint(0, 3)):
            holds = [device(number) | {"status": "allocated"}] if number < 2 else []
            uuid = guest(site, holds)
            if writer != "tracker":
                custom = {"CUSTOM_LICENSE": 1} if "CUSTOM_LICENSE" in outsider.totals(root) else {}
                outsider.allocate({root: HELD | custom}, uuid)
    settled(site, FlatDeviceHost)
    # The new release, and what the operator changes along with it.
    new_driver = chance.choice([DeviceHost, FlatDeviceHost])
    licenses = 6 if "CUSTOM_LICENSE" in totals(site, root) else chance.choice([None, 6])
    provider_yaml(site, licenses, chance.choice([None, 9]), traits=("CUSTOM_RACK", "CUSTOM_NEW"))
    ratio = {"cpu_allocation_ratio": chance.choice([2.0, 4.0])}
    site.configure(f"{DRIVERS}.{new_driver.__name__}", more(site, writer, report, **ratio))
    if chance.random() < 0.5:
        disable(site)

    rehearsed = site.run("migrate_compute_inventory", "--dry-run", "--sync", "--json")
    assert rehearsed.code in (0, 4), rehearsed.err
    (plan,) = rehearsed.json["nodes"]
    before = site.everything()
    writes.clear()
    ended = site.run("migrate_compute_inventory", "--sync", "--json")
    assert (ended.code, ended.err) == (0, "")
    sent = list(writes)
    names = names_of(site)
    assert told(plan, names) == done(sent, names)
    assert bool(sent) == (before != site.everything())

    writes.clear()
    site.start_service_once(new_driver)
    assert writes == []


def totals(site, uuid):
    with site.placement() as outsider:
        return outsider.totals(uuid)


def disable(site):
    with site.cell() as cell:
        service = cell.services.by_host(HOST) or Service(HOST)
        service.disabled = True
        cell.services.save(service)


def names_of(site):
    with site.placement() as outsider:
        rows = outsider.call("GET", "/resource_providers")["resource_providers"]
        return {row["uuid"]: row["name"] for row in rows}


def told(plan, names):
    """Return what a dry run announces: the reshape, and each provider it sets, by name."""
    made = {one["uuid"]: one["name"] for one in plan["created"]}
    names = {**names, **made}
    return {
        "created": sorted(made.values()),
        "reshape": named(plan["reshaper"], names),
        "set": sorted(
            (what, names[uuid])
            for step in plan["steps"]
            if step.startswith("set ")
            for what, uuid in [(step.split()[1], step.split()[3])]
        ),
    }


def done(sent, names):
    """Return the same of the requests that were sent."""
    reshapes = [body for _, url, body in sent if url == "/reshaper" and body["inventories"]]
    return {
        "created": sorted(body["name"] for _, url, body in sent if url == "/resource_providers"),
        "reshape": next((named(body, names) for body in reshapes), None),
        "set": sorted(
            ({"inventories": "inventory"}.get(what, what), names[uuid])
            for method, url, _ in sent
            if method == "PUT" and url.startswith("/resource_providers/")
            for uuid, what in [url.split("/")[2:]]
        ),
    }


def named(payload, names):
    """Return a body of `POST /reshaper` with names for uuids: new children have random uuids."""
    if payload is None:
        return None
    return {
        "inventories": {names[uuid]: record for uuid, record in payload["inventories"].items()},
        "allocations": {
            consumer: body
            | {"allocations": {names[uuid]: part for uuid, part in body["allocations"].items()}}
            for consumer, body in payload["allocations"].items()
        },
    }


def test_a_reshape_of_gpus_leaves_nothing_to_the_service(sqlite_site, writes):
    provider_yaml(sqlite_site, root=5)
    root = sqlite_site.start_service_once(FlatVGPUHost)
    sqlite_site.configure(f"{DRIVERS}.VGPUHost", more(sqlite_site))
    assert sqlite_site.run("migrate_compute_inventory").code == 0
    with sqlite_site.placement() as outsider:
        assert outsider.totals(root)["CUSTOM_LICENSE"] == 5
    writes.clear()
    sqlite_site.start_service_once(VGPUHost)
    assert writes == []


def test_a_driver_of_an_older_kind_gets_the_ratios_of_a_new_record(sqlite_site, writes):
    sqlite_site.configure("fake.legacy.ResourceOnlyDriver")
    (sqlite_site.state / "compute_id").write_text(str(uuid4()))
    with sqlite_site.placement() as outsider:
        outsider.call("GET", "/")
    driver = "virt.fake.legacy.ResourceOnlyDriver"
    ended = sqlite_site.run("migrate_compute_inventory", "--sync", "--driver", driver)
    assert (ended.code, ended.err) == (0, "")
    writes.clear()
    sqlite_site.start_service_once(ResourceOnlyDriver)
    assert writes == []


def test_the_records_of_the_host_stay_as_they_are(sqlite_site):
    sqlite_site.start_service_once(MediumFakeDriver)
    uuid = guest(sqlite_site)

    def records():
        with sqlite_site.cell() as cell:
            return (
                cell.compute_nodes.all(),
                cell.instances.by_uuid(uuid),
                cell.services.all(),
            )

    before = records()
    sqlite_site.configure(f"{DRIVERS}.BiggerHost", "cpu_allocation_ratio = 3.0\n")
    assert sqlite_site.run("migrate_compute_inventory", "--sync").code == 0
    assert records() == before


@pytest.mark.parametrize("flags", [("--dry-run",), (), ("--sync",)])
def test_a_bad_file_of_the_operator_s_is_127_and_named(sqlite_site, flags):
    sqlite_site.start_service_once(MediumFakeDriver)
    folder = sqlite_site.folder / "provider_config"
    folder.mkdir()
    (folder / "a.yaml").write_text("when: 2026-13-45")
    sqlite_site.configure(more=more(sqlite_site))
    ended = sqlite_site.run("migrate_compute_inventory", *flags)
    assert (ended.code, ended.out, ended.err.count("\n")) == (127, "", 1)
    assert str(folder / "a.yaml") in ended.err


def test_a_dry_run_on_a_host_that_placement_doesnt_know_tells_what_a_run_does(
    sqlite_site, single_requests, writes
):
    site = sqlite_site
    site.write(DEVICES, [device(number) for number in range(2)])
    site.configure(f"{DRIVERS}.DeviceHost", more(site))
    root = site.start_service_once(DeviceHost)
    with site.placement() as outsider:
        for row in outsider.call("GET", f"/resource_providers?in_tree={root}")[
            "resource_providers"
        ][::-1]:
            outsider.call("DELETE", f"/resource_providers/{row['uuid']}")
    site.configure(f"{DRIVERS}.DeviceHost", more(site, report=True))
    rehearsed = site.run("migrate_compute_inventory", "--dry-run", "--sync", "--json")
    assert (rehearsed.code, rehearsed.err) == (0, "")
    (plan,) = rehearsed.json["nodes"]
    writes.clear()
    ended = site.run("migrate_compute_inventory", "--sync", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert told(plan, names_of(site)) == done(list(writes), names_of(site))


@pytest.fixture
def joining(sqlite_site):
    """Have a host with a disk of its own get a driver that joins a pool of other hosts."""
    site = sqlite_site
    site.configure(f"{DRIVERS}.FlatDiskHost", more(site))
    root = site.start_service_once(FlatDiskHost)
    with site.placement() as outsider:
        outsider.allocate({root: HELD})
        outsider.provider(
            uuid=PoolHost.uuid_of_pool(),
            name=PoolHost.pool_name,
            inventory={"DISK_GB": {"total": 500}},
            traits=["MISC_SHARES_VIA_AGGREGATE", "CUSTOM_GOLD"],
            aggregates=[str(uuid4())],
        )
    site.configure(f"{DRIVERS}.PoolHost", more(site))
    return site


def test_a_dry_run_on_a_host_that_joins_a_pool_tells_what_a_run_does(joining, writes):
    before = joining.everything()
    rehearsed = joining.run("migrate_compute_inventory", "--dry-run", "--json")
    assert (rehearsed.code, rehearsed.err) == (4, "")
    assert joining.everything() == before
    (plan,) = rehearsed.json["nodes"]
    writes.clear()
    ended = joining.run("migrate_compute_inventory", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert told(plan, names_of(joining)) == done(list(writes), names_of(joining))


def test_a_dry_run_on_a_host_that_joins_a_full_pool_tells_that(joining):
    with joining.placement() as outsider:
        outsider.allocate({PoolHost.uuid_of_pool(): {"DISK_GB": 495}})
    rehearsed = joining.run("migrate_compute_inventory", "--dry-run", "--json")
    (plan,) = rehearsed.json["nodes"]
    assert plan["misfits"] == ["ssp has room for 500 DISK_GB, of which 505 would be in use"]
    assert joining.run("migrate_compute_inventory").code == 3


def test_a_writer_that_comes_right_after_the_reshape_doesnt_make_it_undone(
    sqlite_site, writes, monkeypatch
):
    sqlite_site.configure("fake.MediumFakeDriver", more(sqlite_site))
    root = sqlite_site.start_service_once(FlatDeviceHost)
    with sqlite_site.placement() as outsider:
        consumer = outsider.allocate({root: HELD})
    sqlite_site.configure(f"{DRIVERS}.DeviceHost", more(sqlite_site))
    read, conflicts = RereadInventory.apply, []

    def disturbed(step, parts, context):
        if not conflicts:
            conflicts.append(step.uuid)
            raise ResourceProviderUpdateConflict(uuid=step.uuid, generation=1, error="others")
        read(step, parts, context)

    monkeypatch.setattr(RereadInventory, "apply", disturbed)
    ended = sqlite_site.run("migrate_compute_inventory", "--json")
    (report,) = ended.json["nodes"]
    assert (ended.code, report["result"]) == (0, "migrated")
    assert list(report["moves"]) == [consumer]
    writes.clear()
    sqlite_site.start_service_once(DeviceHost)
    assert writes == []

"""The code in doc/library.rst works, against the service in its own process."""

import importlib
import re
import sys
from uuid import uuid4

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ConnectFailure

from compute import exceptions
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.instance import Flavor
from compute.records.node_identity import NodeIdentity
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.report.wire.context import admin_context
from compute.resource_tracker import ResourceTracker
from tests.page_code import files_of, text_of

PAGE = text_of("library.rst")
FILES = files_of("library.rst")
SMALL = Flavor(vcpus=2, memory_mb=1024, root_gb=10)
LARGE = Flavor(vcpus=4, memory_mb=2048, root_gb=10)
CONTEXT = admin_context()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Import a module of the page by name."""
    folder = tmp_path_factory.mktemp("page")
    for name, code in FILES.items():
        (folder / name).write_text(code, encoding="utf-8")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module
    sys.path.remove(str(folder))
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


@pytest.fixture
def conf(page, tmp_path):
    return page("one_process").configuration(tmp_path, "host-1")


@pytest.fixture
def client(page, conf):
    with page("one_process").client_of(conf) as client:
        yield client


@pytest.fixture
def sent(monkeypatch):
    """Collect the writes to placement from now on, as (method, url)."""
    writes = []
    request = Adapter.request

    def noted(self, url, method, **kwargs):
        if method != "GET":
            writes.append((method, url))
        return request(self, url, method, **kwargs)

    monkeypatch.setattr(Adapter, "request", noted)
    return writes


@pytest.fixture
def hosts(page, conf, client, tmp_path):
    """Two agents of one cell that write allocations themselves."""
    cell = MemoryCellDatabase()
    agents = []
    for name in ("host-1", "host-2"):
        own = page("one_process").configuration(tmp_path, name)
        own.set_override("allocation_writer", "tracker", group="compute")
        own.set_override("provider_config_location", str(tmp_path), group="compute")
        agents.append(page("own_agent").Agent(own, client, cell))
        agents[-1].start()
    return agents


def held(client, consumer):
    found = client.get_allocations_for_consumer(CONTEXT, consumer)
    return {uuid: part["resources"] for uuid, part in found.items()}


def of(agent):
    return agent.tracker.get_node_by_name(agent.host).uuid


def whole(flavor):
    return {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mb, "DISK_GB": flavor.root_gb}


def test_the_page_has_these_files():
    assert list(FILES) == [
        "one_process.py",
        "report_host.py",
        "schedule.py",
        "careful.py",
        "shelf_driver.py",
        "own_agent.py",
        "guests.py",
    ]
    assert max(len(line) for code in FILES.values() for line in code.splitlines()) <= 96


def test_a_host_is_reported_and_a_second_report_writes_nothing(page, client, sent):
    uuid = str(uuid4())
    page("report_host").report(client, CONTEXT, uuid, "machine")
    providers = client.get_providers_in_tree(CONTEXT, uuid)
    first = list(sent)
    page("report_host").report(client, CONTEXT, uuid, "machine")
    assert {row["name"] for row in providers} == {"machine", "machine_numa0", "machine_numa1"}
    assert sent == first != []


def test_an_instance_is_scheduled(page, client):
    uuid = str(uuid4())
    page("report_host").report(client, CONTEXT, uuid, "machine")
    schedule = page("schedule").schedule
    instance = str(uuid4())

    schedule(client, CONTEXT, instance, {"VCPU": 2, "DISK_GB": 10})

    amounts = sorted(held(client, instance).values(), key=str)
    assert amounts == [{"DISK_GB": 10}, {"VCPU": 2}]
    with pytest.raises(RuntimeError, match="no host has room"):
        schedule(client, CONTEXT, str(uuid4()), {"VCPU": 1000})


def test_a_conflict_is_met_from_a_fresh_tree(page, client, sent, monkeypatch):
    uuid = str(uuid4())
    page("report_host").report(client, CONTEXT, uuid, "machine")
    client.clear_provider_cache()
    row = client.get(f"/resource_providers/{uuid}").json()
    traits = f"/resource_providers/{uuid}/traits"
    body = {"traits": [], "resource_provider_generation": row["generation"]}
    read = client.get_provider_tree_and_ensure_root
    reads = []

    def read_before_others_write(*args, **kwargs):
        tree = read(*args, **kwargs)
        reads.append(tree)
        if len(reads) == 1:
            tree.remove_traits("machine", "CUSTOM_RACK_7", "COMPUTE_VOLUME_EXTEND")
            tree.add_traits("machine", "CUSTOM_RACK_8")
            assert client.put(traits, body, version="1.6").status_code == 200
        return tree

    monkeypatch.setattr(client, "get_provider_tree_and_ensure_root", read_before_others_write)
    page("careful").report_undisturbed(client, CONTEXT, uuid, "machine")

    found = client.get_provider_traits(CONTEXT, uuid).traits
    assert (len(reads), found) == (2, {"CUSTOM_RACK_7", "COMPUTE_VOLUME_EXTEND"})


class NovasDriver:
    """Has what nova's base class has, and nothing that only ours has."""

    OURS = ("all_instance_uuids", "manages_instances", "requires_allocation_refresh")

    def __init__(self, driver):
        self._driver = driver

    def __getattr__(self, name):
        if name in self.OURS:
            raise AttributeError(name)
        return getattr(self._driver, name)


@pytest.mark.parametrize("mode", ["auto", "tracker"])
def test_a_driver_of_nova_s_works_with_the_tracker(page, client, tmp_path, mode):
    conf = page("one_process").configuration(tmp_path, "host-1")
    conf.set_override("allocation_writer", mode, group="compute")
    conf.set_override("provider_config_location", str(tmp_path), group="compute")
    agent = page("own_agent").Agent(conf, client, MemoryCellDatabase())
    agent.driver.list_instance_uuids = list
    identity = NodeIdentity.from_config(conf)
    agent.tracker = ResourceTracker(
        "host-1", NovasDriver(agent.driver), client, conf=conf, cell=agent.cell, identity=identity
    )
    agent.start()
    instance = page("guests").build(agent, SMALL)
    unknown = str(uuid4())
    body = {"allocations": {of(agent): {"resources": {"VCPU": 1}}}, "consumer_generation": None}
    client.put_allocations(CONTEXT, unknown, {**body, "project_id": "p", "user_id": "u"})
    agent.tracker.reset()

    agent.update()

    assert held(client, instance.uuid) == {of(agent): whole(SMALL)}
    assert bool(held(client, unknown)) is (mode == "auto")


def test_a_guest_is_built_and_deleted(page, client, hosts):
    agent, _ = hosts
    instance = page("guests").build(agent, SMALL)
    before = held(client, instance.uuid)
    page("guests").delete(agent, instance)
    assert (before, held(client, instance.uuid)) == ({of(agent): whole(SMALL)}, {})


def test_a_guest_is_resized_and_stays_there(page, client, hosts):
    source, dest = hosts
    instance = page("guests").build(source, SMALL)
    migration = page("guests").resize(source, dest, instance, LARGE)
    both = held(client, instance.uuid)
    page("guests").confirm(source, instance, migration)
    for agent in hosts:
        agent.update()
    assert both == {of(source): whole(SMALL), of(dest): whole(LARGE)}
    assert held(client, instance.uuid) == {of(dest): whole(LARGE)}


def test_a_guest_is_resized_and_goes_back(page, client, hosts):
    source, dest = hosts
    instance = page("guests").build(source, SMALL)
    migration = page("guests").resize(source, dest, instance, LARGE)
    page("guests").revert(source, dest, instance, migration)
    for agent in hosts:
        agent.update()
    assert held(client, instance.uuid) == {of(source): whole(SMALL)}


def test_a_guest_is_evacuated(page, client, hosts):
    source, dest = hosts
    instance = page("guests").build(source, SMALL)
    page("guests").evacuate(dest, instance)
    both = held(client, instance.uuid)
    page("guests").return_after_evacuation(source, instance)
    for agent in hosts:
        agent.update()
    assert both == {of(source): whole(SMALL), of(dest): whole(SMALL)}
    assert held(client, instance.uuid) == {of(dest): whole(SMALL)}


def test_an_instance_that_does_not_fit_is_refused_and_holds_nothing(page, client, hosts):
    agent, _ = hosts
    with pytest.raises(exceptions.ComputeResourcesUnavailable):
        page("guests").build(agent, Flavor(vcpus=1, memory_mb=10**6))
    assert agent.tracker.tracked_instances == set()
    assert client.get_allocations_for_resource_provider(CONTEXT, of(agent)).allocations == {}


def test_an_unreachable_placement_is_none_or_an_exception_as_the_page_says(client, monkeypatch):
    def lost(*args, **kwargs):
        raise ConnectFailure("gone")

    monkeypatch.setattr(Adapter, "request", lost)
    request = ResourceRequest({"": RequestGroup(resources={"VCPU": 1})})
    consumer, other = str(uuid4()), {"allocations": {str(uuid4()): {"resources": {"VCPU": 1}}}}
    claim = (consumer, other, "project", "user", "1.36")
    assert client.delete_allocation_for_instance(CONTEXT, consumer) is None
    assert client.get_allocation_candidates(CONTEXT, request) is None
    assert client.claim_resources(CONTEXT, *claim) is None
    with pytest.raises(ConnectFailure):
        client.get_allocs_for_consumer(CONTEXT, consumer)


def test_a_reshape_without_an_answer_is_found_done_by_the_next_start(client, monkeypatch):
    uuid = str(uuid4())
    inventory = {"VCPU": {"total": 8}}
    tree = client.get_provider_tree_and_ensure_root(CONTEXT, uuid, name="machine")
    tree.update_inventory("machine", inventory)
    client.update_from_provider_tree(CONTEXT, tree)
    request = Adapter.request

    def lost(self, url, method, **kwargs):
        answer = request(self, url, method, **kwargs)
        if url == "/reshaper" or (method == "PUT" and url.startswith("/berth/v1/")):
            raise ConnectFailure("the answer is lost")
        return answer

    monkeypatch.setattr(Adapter, "request", lost)
    tree.new_child("machine_numa0", "machine")
    tree.update_inventory("machine_numa0", inventory)
    tree.update_inventory("machine", {})
    with pytest.raises(exceptions.ReshapeUnanswered):
        client.update_from_provider_tree(CONTEXT, tree, allocations={})
    client.clear_provider_cache()
    found = client.get_provider_tree_and_ensure_root(CONTEXT, uuid, name="machine")
    assert list(found.data("machine_numa0").inventory) == ["VCPU"]
    assert found.data("machine").inventory == {}


def test_each_exception_of_the_page_exists():
    named = set(re.findall(r"``([A-Z]\w+)``", PAGE.split("\nExceptions\n")[1].split("A driver")[0]))
    named -= {"ClientException", "None"}
    assert {name for name in named if not hasattr(exceptions, name)} == set()

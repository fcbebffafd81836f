"""A tracker of an equipped host, without a placement."""

import pytest

from compute import config
from compute.records.cell_database.memory import MemoryCellDatabase
from compute.records.instance import Instance
from compute.records.migration import Migration
from compute.records.node_identity import NodeIdentity
from compute.records.service import Service
from compute.resource_tracker import ResourceTracker
from tests.unit.compute.recording_client import RecordingReportClient
from tests.unit.compute.resource_tracker.equipped_host import HOST, TINY, EquippedDriver, update
from virt.virtapi import NoopVirtAPI


@pytest.fixture
def cell():
    """Return records with the host's service."""
    cell = MemoryCellDatabase()
    cell.services.create(Service(host=HOST))
    return cell


@pytest.fixture
def new_tracker(cell, tmp_path):
    """Return a function that makes a tracker of the host, as after a start."""
    overrides = {(None, "host"): HOST, ("compute", "allocation_writer"): "scheduler"}
    conf = config.load(files=[], environ={}, overrides=overrides)

    def new(driver_class=EquippedDriver):
        driver = driver_class(NoopVirtAPI(), conf)
        driver.init_host(HOST)
        client = RecordingReportClient()
        identity = NodeIdentity(str(tmp_path))
        return ResourceTracker(HOST, driver, client, conf=conf, cell=cell, identity=identity)

    return new


@pytest.fixture
def tracker(new_tracker):
    """Return a tracker that has updated its node once."""
    tracker = new_tracker()
    update(tracker)
    return tracker


@pytest.fixture
def uuid(tracker):
    """Return the uuid of the node."""
    return tracker.compute_nodes[HOST].uuid


@pytest.fixture
def make(cell):
    """Return a function that records an instance."""

    def make(**fields):
        instance = Instance(**{"project_id": "p", "flavor": TINY, **fields})
        cell.instances.create(instance)
        return instance

    return make


@pytest.fixture
def move(cell):
    """Return a function that records a migration to the host."""

    def move(instance, source="other", dest=HOST, **fields):
        migration = Migration(
            **{
                "instance_uuid": instance.uuid,
                "migration_type": "resize",
                "status": "migrating",
                "source_compute": source,
                "source_node": source,
                "dest_compute": dest,
                "dest_node": dest,
                **fields,
            }
        )
        cell.migrations.create(migration)
        return migration

    return move

"""Fixtures: a host of the libvirt driver, what shares its storage, and another host."""

import json
from functools import partial
from uuid import uuid4

import pytest

from compute.records.migration import Migration
from tests.unit.virt.node.hosts import KnownHost
from virt.libvirt import LibvirtDriver

SERVER = {"DISK_GB": 20, "MEMORY_MB": 2048, "VCPU": 2}
DISK_AND_CPU = {"VCPU": 2, "DISK_GB": 20}
NETWORK = json.dumps({"devname": "ens1", "physical_network": "physnet1"})


@pytest.fixture
def known(host):
    """Return the hypervisor that the host's driver reads."""
    return KnownHost(hostname=host.name)


@pytest.fixture
def start(host, known):
    """Start the service, after setting options (`group__option=value`)."""

    def start(driver=LibvirtDriver, **options):
        for name, value in options.items():
            group, _, option = name.rpartition("__")
            host.conf.set_override(option, value, group or None)
        return host.start(partial(driver, host_info=known))

    return start


@pytest.fixture
def flat(host, start):
    """Report the host as a service without any of these features did."""
    start()
    return host


@pytest.fixture
def elsewhere(outsider):
    """Another host's provider."""
    return outsider.provider(
        inventory={"VCPU": {"total": 99}, "VGPU": {"total": 99}, "DISK_GB": {"total": 999}}
    )


@pytest.fixture
def pool(outsider, flat):
    """Storage shared with the host, of which somebody on another host holds 100."""
    aggregate = str(uuid4())
    outsider.set_aggregates(flat.uuid, [aggregate])
    pool = outsider.provider(
        inventory={"DISK_GB": {"total": 500}},
        traits=["MISC_SHARES_VIA_AGGREGATE"],
        aggregates=[aggregate],
    )
    pool_user = outsider.allocate({pool: {"DISK_GB": 100}})
    yield pool
    assert outsider.allocations(pool_user) == {pool: {"DISK_GB": 100}}


def places_of(outsider, query):
    """Return the providers of each candidate."""
    found = outsider.call("GET", f"/allocation_candidates?{query}")
    return [set(one["allocations"]) for one in found["allocation_requests"]]


def migrating(host, outsider, instance, resources, status="pre-migrating"):
    """Make a migration to another host that holds the instance's resources."""
    migration = Migration(instance, status=status, source_compute=host.name, source_node=host.name)
    migration.dest_compute = migration.dest_node = "another"
    host.cell.migrations.create(migration)
    return outsider.allocate(resources, migration.uuid)

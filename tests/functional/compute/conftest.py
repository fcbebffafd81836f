"""A report client, and an outsider, at the same placement service."""

import os
import zlib
from uuid import uuid4

import pytest

from compute import config
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from tests.functional.compute import device_hosts, shaped_hosts
from tests.functional.compute.compute_host import ComputeHost
from tests.functional.compute.outsider import Outsider
from tests.functional.conftest import PLACEMENT_URL
from tests.wsgi_transport import direct_services_called

#: modules whose tests run with a placement that offers what only Berth has, and without
BOTH = {
    "test_report_client_reading",
    "test_report_client_reshape",
    "test_report_client_tree_sync",
    "test_shared_client",
}
#: module → the fixture that gets a writer of allocations as parameter, and which there are
WRITTEN = {
    "test_devices_in_the_way": ("writer", device_hosts.WRITERS),
    "test_other_classes": ("licensed", device_hosts.WRITERS),
    "test_placed_shares": ("shaped", shaped_hosts.WRITERS),
    "test_taken_back_classes": ("shaped", shaped_hosts.WRITERS),
}
#: the same as BOTH, for what the client does above single trees and requests
SPREAD = {
    "test_dropped_additions",
    "test_fenced_devices",
    "test_found_providers",
    "test_owner_trait",
    "test_shared_pools",
}


def pytest_generate_tests(metafunc):
    """Run the tests of BOTH twice, except those that don't ask for more than single requests.

    An ordinary run has one of the two of each test of SPREAD, and one writer of each of WRITTEN.
    """
    module = metafunc.module.__name__.rpartition(".")[2]
    number = zlib.crc32(metafunc.definition.nodeid.encode())
    fixture, writers = WRITTEN.get(module, ("", ()))
    if fixture in metafunc.fixturenames:
        metafunc.parametrize(fixture, one_ordinary(writers, writers, number), indirect=True)
    if (
        module in BOTH | SPREAD
        and "placement_http" in metafunc.fixturenames
        and metafunc.definition.get_closest_marker("one_by_one") is None
        and PLACEMENT_URL not in os.environ
    ):
        ways, names = (True, False), ("whole", "one by one")
        chosen = one_ordinary(ways, names, number) if module in SPREAD else ways
        metafunc.parametrize("extensions", chosen, ids=names)


def one_ordinary(values, names, number):
    """Return parameters of which an ordinary run has one, by a number of the test."""
    return [
        pytest.param(
            value, id=name, marks=() if place == number % len(values) else pytest.mark.thorough
        )
        for place, (value, name) in enumerate(zip(values, names, strict=True))
    ]


@pytest.fixture(scope="module", autouse=True)
def _services_are_called():
    """Spare the tests the pretended HTTP between a client and a service in this process."""
    with direct_services_called():
        yield


@pytest.fixture
def context():
    return admin_context()


@pytest.fixture
def compute_conf(request):
    """Return the compute side's configuration, with all defaults.

    In tests that are marked `one_by_one`, the client doesn't use what only Berth offers.
    """
    return config.load(files=[], environ={}, overrides=_ways(request))


def _ways(request):
    whole = request.node.get_closest_marker("one_by_one") is None
    return {("berth", "whole_trees"): whole}


@pytest.fixture(autouse=True)
def _programs_ways(request, monkeypatch):
    """Have programs that run in this process, with files of their own, go the test's way, too."""
    if request.node.get_closest_marker("one_by_one"):
        monkeypatch.setenv("OS_BERTH__WHOLE_TREES", "false")


@pytest.fixture
def outsider(new_adapter):
    return Outsider(new_adapter())


@pytest.fixture
def new_client(new_adapter, compute_conf):
    """Return a function that makes report clients with empty caches."""

    def new():
        return SchedulerReportClient(new_adapter(), conf=compute_conf, sleep=lambda seconds: None)

    return new


@pytest.fixture
def client(placement_adapter, compute_conf):
    """Return a report client whose requests are recorded by `placement_adapter`."""
    return SchedulerReportClient(placement_adapter, conf=compute_conf, sleep=lambda seconds: None)


@pytest.fixture
def host(request, tmp_path, new_adapter):
    """Return a host with a name of its own, which never ran the service."""
    overrides = _ways(request) | {
        (None, "host"): f"host-{uuid4()}",
        (None, "state_path"): str(tmp_path / "state"),
        ("compute", "provider_config_location"): str(tmp_path / "provider_config"),
    }
    host = ComputeHost(config.load(files=[], environ={}, overrides=overrides), new_adapter)
    yield host
    host.cell.close()


@pytest.fixture
def flat_host(host, outsider):
    """Return a host with everything on the root and two instances, `first` and `second`."""
    host.start()
    host.first = outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}})
    host.second = outsider.allocate({host.uuid: {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 20}})
    return host

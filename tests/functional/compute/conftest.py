"""A report client, and an outsider, at the same placement service."""

import os
import zlib
from uuid import uuid4

import pytest

from compute import config
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
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
#: the same, for what the client does above single trees and requests
SPREAD = {
    "test_dropped_additions",
    "test_fenced_devices",
    "test_found_providers",
    "test_owner_trait",
    "test_shared_pools",
}


def pytest_generate_tests(metafunc):
    """Run the tests of BOTH twice, except those that don't ask for more than single requests.

    An ordinary run has one of the two of each test of SPREAD.
    """
    module = metafunc.module.__name__.rpartition(".")[2]
    if (
        module in BOTH | SPREAD
        and "placement_http" in metafunc.fixturenames
        and metafunc.definition.get_closest_marker("one_by_one") is None
        and PLACEMENT_URL not in os.environ
    ):
        left = zlib.crc32(metafunc.definition.nodeid.encode()) % 2 if module in SPREAD else None
        ways = [
            pytest.param(whole, id=name, marks=pytest.mark.thorough if whole == left else ())
            for whole, name in ((True, "whole"), (False, "one by one"))
        ]
        metafunc.parametrize("extensions", ways)


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

"""A refusal keeps nothing alive of the request that was refused."""

import weakref

import pytest

from tests.functional.placement import small_cloud
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import ROOT, UNKNOWN


@pytest.fixture
def service(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db", berth__snapshot_audit_interval=0)
    small_cloud.fill(service)
    return service


def ask(service, path):
    """Send a GET as a server does, and read the answer, which needs no `close`."""
    environ = service.client_environ(path, {"openstack-api-version": "placement 1.39"})
    statuses = []
    b"".join(service.app.application(environ, lambda status, *rest: statuses.append(status)))
    return statuses[0][:3]


@pytest.mark.parametrize(
    "query", ["resources=CUSTOM_NONE:1", "resources=VCPU:1&required=CUSTOM_NONE"]
)
def test_a_refused_search_does_not_keep_its_snapshot(service, query):
    assert ask(service, f"/allocation_candidates?{query}") == "400"
    old = weakref.ref(service.running.snapshot.current())
    assert ask(service, f"/allocation_candidates?{query}") == "400"
    service.write("PUT", f"/resource_providers/{ROOT}", {"name": "another"})
    service.running.snapshot.current()
    assert old() is None
    assert ask(service, f"/resource_providers/{UNKNOWN}") == "404"

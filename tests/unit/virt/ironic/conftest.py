import pytest

from tests.extras import needed_library
from tests.unit.virt.ironic.bare_metal_service import bare_metal_service


@pytest.fixture
def service():
    needed_library("openstack", "ironic")
    with bare_metal_service() as service:
        yield service


@pytest.fixture
def api_conf(make_conf):
    def make(service, **options):
        return make_conf(
            ironic__node_source="openstack",
            ironic__auth_type="admin_token",
            ironic__endpoint_override=service.url,
            **options,
        )

    return make

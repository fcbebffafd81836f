import pytest

from tests.unit.virt.libvirt.hosts import KnownHost
from tests.unit.virt.libvirt.library import require_libvirt
from virt.libvirt import LibvirtDriver


@pytest.fixture
def libvirt():
    """The library."""
    require_libvirt()
    import libvirt

    return libvirt


@pytest.fixture
def host():
    return KnownHost()


@pytest.fixture
def make_driver(make_conf, virtapi, host):
    """Make a driver of `host`, with options as make_conf takes them."""

    def make(host_info=host, **options):
        driver = LibvirtDriver(virtapi, make_conf(**options), host_info)
        driver.init_host("host1")
        return driver

    return make

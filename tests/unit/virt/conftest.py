import pytest

from compute import config
from compute.provider_tree import ProviderTree
from tests.unit.virt.node.hosts import KnownHost
from virt.libvirt import LibvirtDriver
from virt.virtapi import NoopVirtAPI

ROOT_UUID = "11111111-0000-4000-8000-000000000001"


@pytest.fixture
def make_conf(tmp_path):
    """Make a configuration from `option=value` and `group__option=value`."""

    def make(**options):
        overrides = {(None, "state_path"): str(tmp_path)}
        for name, value in options.items():
            group, _, option = name.rpartition("__")
            overrides[group or None, option] = value
        return config.load(files=[], environ={}, overrides=overrides)

    return make


@pytest.fixture
def conf(make_conf):
    return make_conf()


@pytest.fixture
def virtapi():
    return NoopVirtAPI()


@pytest.fixture
def tree():
    """Return a tree with the bare root `host1`, as on a host's first start."""
    tree = ProviderTree()
    tree.new_root("host1", ROOT_UUID, generation=0)
    return tree


@pytest.fixture
def host():
    """Return a machine as plain values."""
    return KnownHost()


@pytest.fixture
def make_driver(make_conf, virtapi, host):
    """Make a driver of `host`, with options as make_conf takes them."""

    def make(host_info=host, **options):
        driver = LibvirtDriver(virtapi, make_conf(**options), host_info)
        driver.init_host("host1")
        return driver

    return make

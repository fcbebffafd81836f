"""Drivers are found by name, and made with nova's signature or with ours (compute.md §6.3)."""

import configparser
import pathlib
from importlib.metadata import EntryPoint

import pytest
from stevedore import ExtensionManager

from compute import config
from compute.service.driver_callbacks import NoopVirtAPI
from compute.service.drivers import (
    NAMESPACE,
    DriverLoadError,
    ServiceDriver,
    available_drivers,
    driver_class,
    load_driver,
)
from tests.extras import needed_library
from virt import fake
from virt.driver import ComputeDriver
from virt.fake import SmallFakeDriver
from virt.host.driver import HostDriver


class StubbornDriver(ComputeDriver):
    def __init__(self, virtapi, conf):
        raise ValueError("the flux capacitor is missing")


class NovasSignature(ComputeDriver):
    def __init__(self, virtapi):
        super().__init__(virtapi)
        self.seen = self.conf.host


class NovasSignatureWithMore(ComputeDriver):
    def __init__(self, virtapi, read_only=False):
        self.read_only = read_only
        self.seen = self.conf.host
        super().__init__(virtapi)


class Both(ComputeDriver):
    def __init__(self, virtapi, conf):
        super().__init__(virtapi, conf)
        self.seen = conf.host


class BothByAnotherName(ComputeDriver):
    def __init__(self, virtapi, settings):
        super().__init__(virtapi, settings)
        self.seen = settings.host


class BothOptional(ComputeDriver):
    def __init__(self, virtapi, conf=None, machines=3):
        super().__init__(virtapi, conf)
        self.seen = self.conf.host


class Anything(ComputeDriver):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = self.conf.host


class AnythingAroundBoth(Both):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class MoreAroundBoth(Both):
    def __init__(self, virtapi, *args, **kwargs):
        super().__init__(virtapi, *args, **kwargs)


class AnythingAroundNovas(NovasSignatureWithMore):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class MadeOnce(Both):
    _made = None

    def __new__(cls, *args, **kwargs):
        cls._made = cls._made or super().__new__(cls)
        return cls._made


class NewWithArguments(Both):
    def __new__(cls, virtapi, conf):
        return super().__new__(cls)


class CallsPassThrough(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class WithAMetaclass(Both, metaclass=CallsPassThrough):
    pass


class NoInitOfItsOwn(ComputeDriver):
    @property
    def seen(self):
        return self.conf.host


class Standalone:
    """A driver that inherits nothing."""

    manages_instances = rebalances_nodes = requires_allocation_refresh = False

    def __init__(self, virtapi):
        self.virtapi = virtapi
        self.seen = self.conf.host

    def _nothing(self, *args, **kwargs):
        """Do nothing."""

    init_host = get_available_nodes = get_nodenames_by_uuid = node_is_available = _nothing
    is_node_deleted = get_available_resource = update_provider_tree = get_inventory = _nothing
    get_traits = capabilities_as_traits = list_instance_uuids = set_host_enabled = _nothing


SIGNATURES = [
    NovasSignature,
    NovasSignatureWithMore,
    Both,
    BothByAnotherName,
    BothOptional,
    Anything,
    AnythingAroundBoth,
    MoreAroundBoth,
    AnythingAroundNovas,
    MadeOnce,
    NewWithArguments,
    WithAMetaclass,
    NoInitOfItsOwn,
    Standalone,
]


@pytest.fixture
def conf(tmp_path):
    overrides = {(None, "state_path"): str(tmp_path), (None, "host"): "the host of this test"}
    return config.load(files=[], environ={}, overrides=overrides)


@pytest.fixture
def virtapi():
    return NoopVirtAPI()


@pytest.fixture
def broken_module(tmp_path, monkeypatch):
    (tmp_path / "broken_driver_module.py").write_text("import a_package_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "broken_driver_module"


@pytest.fixture
def broken_entry_point(monkeypatch):
    entry_point = EntryPoint("vendor", "a_package_nobody_has:ServiceDriver", NAMESPACE)
    cache = {NAMESPACE: [entry_point]}
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", cache)
    return "vendor"


def test_every_driver_we_ship_is_an_entry_point():
    setup = configparser.ConfigParser()
    setup.read(pathlib.Path(__file__).parents[4] / "setup.cfg")
    entries = dict(
        line.split(" = ") for line in setup["options.entry_points"][NAMESPACE].strip().splitlines()
    )

    assert entries == {
        "host": "virt.host.driver:HostDriver",
        "libvirt": "virt.libvirt.driver:LibvirtDriver",
        "ironic": "virt.ironic.driver:IronicDriver",
        **{f"fake.{name}": f"virt.fake:{name}" for name in fake.__all__},
    }


@pytest.mark.parametrize("name", fake.__all__)
def test_every_fake_driver_is_found_by_its_name(virtapi, conf, name):
    assert type(load_driver(virtapi, f"fake.{name}", conf)) is getattr(fake, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("host", HostDriver),
        ("fake.SmallFakeDriver", SmallFakeDriver),
        ("fake.driver.SmallFakeDriver", SmallFakeDriver),
        ("virt.fake.SmallFakeDriver", SmallFakeDriver),
        ("virt.host.driver.HostDriver", HostDriver),
    ],
)
def test_a_driver_is_found_by_entry_point_by_name_in_virt_and_by_full_path(
    virtapi, conf, name, expected
):
    assert type(load_driver(virtapi, name, conf)) is expected


def test_the_driver_gets_the_virtapi_and_the_configuration(virtapi, conf):
    driver = load_driver(virtapi, "fake.SmallFakeDriver", conf)

    assert (driver.virtapi, driver.conf) == (virtapi, conf)


@pytest.mark.parametrize(
    "name",
    ["nosuch", "fake.NoSuchDriver", "no.such.module.Driver", "..", "fake.", "a b.C", "host:X"],
)
def test_an_unknown_name_is_answered_with_the_names_there_are(virtapi, conf, name):
    with pytest.raises(DriverLoadError) as caught:
        load_driver(virtapi, name, conf)

    told = str(caught.value)
    fakes = [known for known in available_drivers() if known.startswith("fake.")]
    assert f"{name!r}: it is neither one of host, ironic, libvirt" in told
    # the drivers for tests are shown to those who want one of them
    assert [known for known in fakes if known in told] == (fakes if "fake" in name else [])


@pytest.mark.parametrize("name", ["", None])
def test_no_name_at_all_is_answered_with_the_option_to_set(virtapi, conf, name):
    with pytest.raises(DriverLoadError, match=r"set compute_driver to one of .*host"):
        load_driver(virtapi, name, conf)


def test_a_class_that_is_no_driver_is_refused(virtapi, conf):
    with pytest.raises(DriverLoadError, match=r"not a subclass of virt\.driver\.ComputeDriver"):
        load_driver(virtapi, "json.JSONDecoder", conf)


def test_a_thing_that_is_no_class_is_refused(virtapi, conf):
    with pytest.raises(DriverLoadError, match=r"not a subclass"):
        load_driver(virtapi, "json.dumps", conf)


def test_a_module_that_fails_to_import_is_not_called_unknown(virtapi, conf, broken_module):
    with pytest.raises(DriverLoadError, match=r"can't be imported: .*a_package_nobody_has"):
        load_driver(virtapi, f"{broken_module}.Driver", conf)


@pytest.mark.parametrize("content", ["1 / 0\n", "not python\n", "from os import nothing_of_it\n"])
def test_a_module_that_fails_in_any_way_is_refused_with_the_reason(
    virtapi, conf, tmp_path, monkeypatch, content
):
    (tmp_path / "failing_driver_module.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(DriverLoadError, match=r"failing_driver_module\.Driver' can't be imported"):
        load_driver(virtapi, "failing_driver_module.Driver", conf)


def test_an_entry_point_that_can_not_be_imported_is_not_called_unknown(
    virtapi, conf, broken_entry_point
):
    with pytest.raises(DriverLoadError, match=r"'vendor' .*can't be imported: .*nobody_has"):
        load_driver(virtapi, broken_entry_point, conf)


def test_a_driver_that_refuses_to_start_is_named_with_its_reason(virtapi, conf):
    with pytest.raises(DriverLoadError, match=r"StubbornDriver.*the flux capacitor is missing"):
        load_driver(virtapi, f"{__name__}.StubbornDriver", conf)


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda one: one.__name__)
def test_a_driver_of_either_signature_has_its_configuration_from_the_start(
    virtapi, conf, signature
):
    driver = load_driver(virtapi, f"{__name__}.{signature.__name__}", conf)

    assert (driver.virtapi, driver.conf, driver.seen) == (virtapi, conf, "the host of this test")


@pytest.mark.parametrize("name", ["NovasSignatureWithMore", "AnythingAroundNovas"])
def test_an_argument_of_novas_drivers_keeps_its_default(virtapi, conf, name):
    driver = load_driver(virtapi, f"{__name__}.{name}", conf)

    assert driver.read_only is False


@pytest.mark.parametrize("name", fake.__all__)
def test_every_fake_driver_can_be_made_as_novas_are(virtapi, name):
    driver = getattr(fake, name)(virtapi)

    assert driver.conf.reserved_host_memory_mb == 512


@pytest.mark.parametrize("name", available_drivers())
def test_every_driver_offers_what_the_compute_service_calls(virtapi, conf, name):
    if name == "libvirt":
        needed_library("libvirt", "libvirt")

    assert isinstance(load_driver(virtapi, name, conf), ServiceDriver)


def test_a_class_is_found_without_making_a_driver(conf):
    assert driver_class(f"{__name__}.StubbornDriver") is StubbornDriver

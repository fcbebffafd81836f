import configparser
import logging
import pathlib
from importlib.metadata import EntryPoint

import pytest
from stevedore import ExtensionManager

from virt import fake
from virt.driver import (
    NAMESPACE,
    ComputeDriver,
    DriverLoadError,
    available_drivers,
    load_compute_driver,
    load_driver,
)
from virt.fake import SmallFakeDriver
from virt.host.driver import HostDriver


class StubbornDriver(ComputeDriver):
    def __init__(self, virtapi, conf):
        raise ValueError("the flux capacitor is missing")


@pytest.fixture
def broken_module(tmp_path, monkeypatch):
    (tmp_path / "broken_driver_module.py").write_text("import a_package_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "broken_driver_module"


@pytest.fixture
def broken_entry_point(monkeypatch):
    entry_point = EntryPoint("vendor", "a_package_nobody_has:Driver", NAMESPACE)
    cache = {NAMESPACE: [entry_point]}
    monkeypatch.setattr(ExtensionManager, "ENTRY_POINT_CACHE", cache)
    return "vendor"


def test_every_driver_we_ship_is_an_entry_point():
    setup = configparser.ConfigParser()
    setup.read(pathlib.Path(__file__).parents[3] / "setup.cfg")
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
    ("name", "driver_class"),
    [
        ("host", HostDriver),
        ("fake.SmallFakeDriver", SmallFakeDriver),
        ("fake.driver.SmallFakeDriver", SmallFakeDriver),
        ("virt.fake.SmallFakeDriver", SmallFakeDriver),
        ("virt.host.driver.HostDriver", HostDriver),
    ],
)
def test_a_driver_is_found_by_entry_point_by_name_in_virt_and_by_full_path(
    virtapi, conf, name, driver_class
):
    assert type(load_driver(virtapi, name, conf)) is driver_class


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

    assert all(known in str(caught.value) for known in [repr(name), *available_drivers()])


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


def test_loading_for_a_service_falls_back_on_the_configured_driver(virtapi, make_conf):
    conf = make_conf(compute_driver="fake.SmallFakeDriver")

    assert type(load_compute_driver(virtapi, None, conf)) is SmallFakeDriver


def test_loading_for_a_service_logs_the_reason_and_exits_with_1(virtapi, conf, caplog):
    with caplog.at_level(logging.ERROR), pytest.raises(SystemExit) as caught:
        load_compute_driver(virtapi, "nosuch", conf)

    assert (caught.value.code, "Unknown compute driver 'nosuch'" in caplog.text) == (1, True)

import logging

import pytest

from virt.driver import ComputeDriver, load_compute_driver
from virt.fake import SmallFakeDriver


@pytest.fixture
def driver_with(make_conf, virtapi):
    return lambda **options: ComputeDriver(virtapi, make_conf(**options))


def test_a_configured_ratio_wins_over_the_one_in_placement(driver_with):
    driver = driver_with(cpu_allocation_ratio=2.0)

    ratios = driver._get_allocation_ratios({"VCPU": {"total": 4, "allocation_ratio": 8.0}})

    assert ratios["VCPU"] == 2.0


def test_without_a_configured_ratio_the_one_in_placement_stays(driver_with):
    driver = driver_with()

    ratios = driver._get_allocation_ratios({"VCPU": {"total": 4, "allocation_ratio": 8.0}})

    assert ratios["VCPU"] == 8.0


def test_a_class_reported_for_the_first_time_gets_the_initial_ratio(driver_with):
    driver = driver_with(
        initial_cpu_allocation_ratio=16.1,
        initial_ram_allocation_ratio=1.6,
        initial_disk_allocation_ratio=1.1,
    )

    ratios = driver._get_allocation_ratios({})

    assert ratios == {"VCPU": 16.1, "MEMORY_MB": 1.6, "DISK_GB": 1.1}


def test_a_ratio_of_zero_counts_as_not_configured(driver_with):
    driver = driver_with(ram_allocation_ratio=0.0)

    assert driver._get_allocation_ratios({})["MEMORY_MB"] == 1.0


@pytest.mark.parametrize(("configured_mb", "reserved_gb"), [(0, 0), (1, 1), (1024, 1), (1025, 2)])
def test_reserved_disk_is_rounded_up_to_whole_gib(driver_with, configured_mb, reserved_gb):
    driver = driver_with(reserved_host_disk_mb=configured_mb)

    assert driver._get_reserved_host_disk_gb_from_config() == reserved_gb


def test_a_node_not_in_the_list_is_looked_for_once_more_with_refresh(conf, virtapi):
    class LateDriver(ComputeDriver):
        def get_available_nodes(self, refresh=False):
            return ["late"] if refresh else []

    driver = LateDriver(virtapi, conf)

    assert (driver.node_is_available("late"), driver.node_is_available("other")) == (True, False)


def test_the_local_node_uuid_belongs_to_the_first_node(conf, virtapi):
    class OneNodeDriver(ComputeDriver):
        def get_available_nodes(self, refresh=False):
            return ["host1"]

    driver = OneNodeDriver(virtapi, conf)

    assert driver.get_nodenames_by_uuid() == {virtapi.local_node_uuid(): "host1"}


def test_a_vanished_node_is_not_deleted_unless_the_driver_says_so(driver_with):
    assert driver_with().is_node_deleted("host1") is False


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("init_host", ["host1"]),
        ("get_available_nodes", []),
        ("get_available_resource", ["host1"]),
        ("update_provider_tree", [None, "host1"]),
        ("get_inventory", ["host1"]),
        ("get_traits", ["host1"]),
        ("set_host_enabled", [True]),
    ],
)
def test_what_a_driver_does_not_support_is_not_implemented(driver_with, method, arguments):
    with pytest.raises(NotImplementedError):
        getattr(driver_with(), method)(*arguments)


def test_cleaning_up_needs_no_implementation(driver_with):
    assert driver_with().cleanup_host("host1") is None


def test_loading_for_a_service_falls_back_on_the_configured_driver(virtapi, make_conf):
    conf = make_conf(compute_driver="fake.SmallFakeDriver")

    assert type(load_compute_driver(virtapi, None, conf)) is SmallFakeDriver


def test_loading_for_a_service_logs_the_reason_and_exits_with_1(virtapi, conf, caplog):
    with caplog.at_level(logging.ERROR), pytest.raises(SystemExit) as caught:
        load_compute_driver(virtapi, "nosuch", conf)

    assert (caught.value.code, "Unknown compute driver 'nosuch'" in caplog.text) == (1, True)


def test_a_service_that_knows_nova_names_the_driver_by_keyword(virtapi, conf):
    driver = load_compute_driver(virtapi, compute_driver="fake.SmallFakeDriver", conf=conf)

    assert (type(driver), driver.conf) == (SmallFakeDriver, conf)


def test_without_a_configuration_the_one_of_the_service_is_read(virtapi, monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__COMPUTE_DRIVER", "fake.SmallFakeDriver")
    monkeypatch.setenv("OS_DEFAULT__RESERVED_HOST_CPUS", "3")

    driver = load_compute_driver(virtapi)

    assert (type(driver), driver.conf.reserved_host_cpus) == (SmallFakeDriver, 3)


def test_a_driver_made_without_a_configuration_has_the_defaults(virtapi, monkeypatch):
    monkeypatch.setenv("OS_DEFAULT__RESERVED_HOST_CPUS", "3")

    driver = ComputeDriver(virtapi)

    assert (driver.virtapi, driver.conf.reserved_host_cpus) == (virtapi, 0)

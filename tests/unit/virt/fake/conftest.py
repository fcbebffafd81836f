"""Fake drivers at work."""

import pytest


@pytest.fixture
def make(virtapi, conf):
    """Make a fake driver that works as host1."""

    def make_driver(driver_class, **options):
        driver = driver_class(virtapi, conf, **options)
        driver.init_host("host1")
        return driver

    return make_driver

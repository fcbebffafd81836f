"""A report client, and an outsider, at the same placement service."""

import pytest

from compute import config
from compute.context import admin_context
from compute.report import SchedulerReportClient
from tests.functional.compute.outsider import Outsider


@pytest.fixture
def context():
    return admin_context()


@pytest.fixture
def compute_conf():
    """The compute side's configuration: all defaults. Override with `set_override`."""
    return config.load(files=[], environ={})


@pytest.fixture
def outsider(new_adapter):
    return Outsider(new_adapter())


@pytest.fixture
def new_client(new_adapter, compute_conf):
    """Makes report clients, each as fresh as after a restart of the service."""

    def new():
        return SchedulerReportClient(new_adapter(), compute_conf, sleep=lambda seconds: None)

    return new


@pytest.fixture
def client(placement_adapter, compute_conf):
    """A report client whose requests are recorded by `placement_adapter`."""
    return SchedulerReportClient(placement_adapter, compute_conf, sleep=lambda seconds: None)

"""Report clients whose adapter answers from a list."""

import pytest

from compute import config
from compute.report import SchedulerReportClient
from tests.unit.compute.report.answers import ONE_BY_ONE, FakeAdapter


@pytest.fixture
def make():
    """Return a maker of clients that get the given answers; `naps` has the times they wait."""

    def make(*answers):
        naps = []
        client = SchedulerReportClient(
            FakeAdapter(*answers),
            conf=config.load(files=[], environ={}, overrides=ONE_BY_ONE),
            sleep=naps.append,
        )
        client.naps = naps
        return client

    return make

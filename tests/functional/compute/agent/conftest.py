"""A placement service on a port of its own, and the agent of one host."""

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from tests.functional.compute.agent.process import Agent, Service
from tests.functional.compute.outsider import Outsider


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path / "placement.db")
    yield service
    service.stop()


@pytest.fixture
def outsider(service):
    session = Session(auth=Token(service.url, "admin"))
    return Outsider(Adapter(session, service_type="placement", raise_exc=False))


@pytest.fixture
def agent(request, tmp_path, service):
    agent = Agent(tmp_path, service.url)
    if request.node.get_closest_marker("one_by_one"):
        agent.options["OS_BERTH__WHOLE_TREES"] = "false"
    yield agent
    for watchdog in agent.watchdogs:
        watchdog.cancel()
    for process in agent.running:
        if process.poll() is None:
            process.kill()
        process.communicate()

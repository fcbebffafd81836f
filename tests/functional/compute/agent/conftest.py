"""A placement service on a port of its own, and the agent of one host."""

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from tests.databases.fresh import SQLiteFiles
from tests.functional.compute.agent.process import Agent, Service
from tests.functional.compute.outsider import Outsider
from tests.functional.placement.conftest import own_logging

__all__ = ["own_logging"]


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    """Serve placement for the module's tests, whose hosts have names of their own."""
    folder = tmp_path_factory.mktemp("placement")
    service = Service(SQLiteFiles.filled(folder / "placement.db"))
    yield service
    service.stop()


@pytest.fixture
def service(placement):
    yield placement
    placement.before = None


@pytest.fixture
def outsider(service):
    session = Session(auth=Token(service.url, "admin"))
    return Outsider(Adapter(session, service_type="placement", raise_exc=False))


@pytest.fixture
def agent(request, tmp_path, service, forking):
    agent = Agent(tmp_path, service.url)
    if request.node.get_closest_marker("one_by_one"):
        agent.options["OS_BERTH__WHOLE_TREES"] = "false"
    yield agent
    agent.end()

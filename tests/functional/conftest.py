"""A placement service for tests: ours in this process, or the one at BERTH_TEST_PLACEMENT_URL.

The tests of a module share it. They can't assume an empty database, so they generate names and
uuids.
"""

import os

import pytest
import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from tests.databases.fresh import SQLiteFiles
from tests.service_settings import UNTIMED

PLACEMENT_URL = "BERTH_TEST_PLACEMENT_URL"


class RecordingAdapter(Adapter):
    """A keystoneauth1 adapter that records requests, and can be told to fail.

    `requests` has `(method, url, microversion)`. `before`, if set, is called with method and url
    before each request. Its exceptions propagate; a Response that it returns is the response.
    `after`, if set, is called with method and url after each request: what it raises stands for an
    answer that got lost.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.requests = []
        self.before = None
        self.after = None

    def request(self, url, method, **kwargs):
        version = (kwargs.get("headers") or {}).get("OpenStack-API-Version")
        self.requests.append((method, url, version and version.removeprefix("placement ")))
        instead = self.before(method, url) if self.before else None
        response = super().request(url, method, **kwargs) if instead is None else instead
        if self.after:
            self.after(method, url)
        return response

    @property
    def writes(self):
        return [sent for sent in self.requests if sent[0] != "GET"]


@pytest.fixture
def extensions():
    """Say whether the service of the tests offers what only Berth has."""
    return PLACEMENT_URL not in os.environ


@pytest.fixture(scope="module")
def whole_placement(tmp_path_factory):
    """Return a client of the module's service."""
    with own_service(tmp_path_factory.mktemp("placement"), extensions=True) as client:
        # the first request starts it
        client.get("/")
        yield client


@pytest.fixture(scope="module")
def standard_placement(tmp_path_factory):
    """Return a client of the module's service that lacks what only Berth has."""
    with own_service(tmp_path_factory.mktemp("placement"), extensions=False) as client:
        client.get("/")
        yield client


@pytest.fixture
def placement_http(request, extensions):
    """Return a `requests` session that reaches placement, and its URL."""
    url = os.environ.get(PLACEMENT_URL)
    if url:
        with requests.Session() as http:
            yield http, url
    else:
        name = "whole_placement" if extensions else "standard_placement"
        client = request.getfixturevalue(name)
        yield client.session.session, client.get_endpoint()


def own_service(folder, extensions):
    """Return a service that stores in the folder, to be opened."""
    from placement.direct import PlacementDirect

    url = SQLiteFiles.filled(folder / "placement.db")
    return PlacementDirect.configured(
        files=[],
        environ=False,
        overrides={
            **UNTIMED,
            ("placement_database", "connection"): url,
            ("placement_database", "sqlite_synchronous"): False,
            ("berth", "extensions"): extensions,
        },
    )


@pytest.fixture
def new_adapter(placement_http):
    """Return a function that makes adapters, each with its own record."""
    http, url = placement_http

    def new():
        return RecordingAdapter(
            Session(auth=Token(url, "admin"), session=http),
            service_type="placement",
            raise_exc=False,
            additional_headers={"x-roles": "admin,service"},
        )

    return new


@pytest.fixture
def placement_adapter(new_adapter):
    """Return the adapter of an administrator who may also reshape."""
    return new_adapter()

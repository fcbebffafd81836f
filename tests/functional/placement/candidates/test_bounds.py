"""A search for candidates ends at a limit, or with its client; it says "none" only if proven."""

import json
import logging

import pytest

from placement.candidates import sampling
from tests.extent import examples
from tests.functional.placement.service import Service
from tests.functional.placement.topology import Cloud

VF = "SRIOV_NET_VF"
TIME = "berth__search_time_limit"
MEMORY = "berth__search_memory_limit"
RANDOM = "placement__randomize_allocation_candidates"
CAP = "placement__max_allocation_candidates"
DEVICES, GROUPS = 8, 6
#: 8^6 candidates
MANY = "&".join(f"resources{n}={VF}:1" for n in range(1, GROUPS + 1)) + "&group_policy=none"
NO_TIME = 1e-9
#: up to so many are drawn at once, more of them one after the other, and none twice
AT_ONCE = examples(3000, sampling._MOST_AT_ONCE)


@pytest.fixture
def service_with(tmp_path):
    """Return a function that makes a service with options and one tree of devices.

    Unless an option says so, time is no limit: a busy machine may be slow.
    """

    def make(options=None):
        options = {TIME: 0} | (options or {})
        service = Service(f"sqlite:///{tmp_path}/placement.db", **options)
        devices = [
            {"name": f"d{n}", "parent": "root", "inventories": {VF: {"total": 8}}}
            for n in range(DEVICES)
        ]
        root = {"name": "root", "inventories": {"VCPU": {"total": 8}}}
        service.root = Cloud(service).build([root, *devices]).uuids["root"]
        return service

    return make


def ask(service, query, version="1.39", **headers):
    """Return the status, and the candidates or the error."""
    response = service.get(
        f"/allocation_candidates?{query}", version=version, environ_overrides=headers
    )
    status, body = response.status_code, response.json
    return status, body["errors"][0] if "errors" in body else body["allocation_requests"]


def test_more_candidates_than_fit_into_memory_are_an_error_that_names_the_cause(
    service_with,
):
    service = service_with()

    status, error = ask(service, MANY)

    assert (status, error["code"]) == (503, "berth.search_unfinished")
    assert "[berth]search_memory_limit" in error["detail"]
    assert f"In the tree of resource provider {service.root} there are" in error["detail"]
    assert "262,144 combinations" in error["detail"]
    assert "8 providers for each of 6 groups" in error["detail"]
    assert "There are at least 262,144 candidates." in error["detail"]


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("limit", [1000, AT_ONCE + 1])
def test_with_a_limit_the_same_request_succeeds(service_with, random, limit, monkeypatch):
    monkeypatch.setattr(sampling, "_MOST_AT_ONCE", AT_ONCE)

    status, found = ask(service_with({RANDOM: random}), f"{MANY}&limit={limit}")

    assert (status, len(found)) == (200, limit)
    assert len({json.dumps(candidate["mappings"], sort_keys=True) for candidate in found}) == limit


def test_with_a_maximum_the_same_request_succeeds(service_with):
    status, found = ask(service_with({CAP: 1000}), MANY)

    assert (status, len(found)) == (200, 1000)


def test_a_random_order_of_more_candidates_than_fit_is_an_error(service_with):
    status, error = ask(service_with({RANDOM: True}), MANY)

    assert (status, error["code"]) == (503, "berth.search_unfinished")


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("limit", [10**5, 10**30])
def test_a_limit_that_does_not_fit_into_memory_gets_those_that_fit(
    service_with, random, limit, caplog
):
    status, found = ask(service_with({MEMORY: 1, RANDOM: random}), f"{MANY}&limit={limit}")

    assert status == 200
    assert 500 < len(found) < 2000
    assert "A search for allocation candidates was ended" in caplog.text


@pytest.mark.parametrize("limit", ["", "&limit=1"])
@pytest.mark.parametrize("query", [f"resources={VF}:1", f"resources={VF}:9", MANY])
def test_a_search_that_found_nothing_in_time_is_an_error_whether_candidates_exist_or_not(
    service_with, query, limit
):
    status, error = ask(service_with({TIME: NO_TIME}), query + limit)

    assert (status, error["code"]) == (503, "berth.search_unfinished")
    assert "[berth]search_time_limit" in error["detail"]
    assert "Whether there are candidates that it didn't find is not known." in error["detail"]


def test_microversions_without_codes_get_none(service_with):
    status, error = ask(service_with({TIME: NO_TIME}), f"resources={VF}:1", "1.22")

    assert status == 503
    assert "code" not in error


def test_without_limits_every_search_succeeds(service_with):
    service = service_with({TIME: 0, MEMORY: 0})
    query = "&".join(f"resources{n}={VF}:1" for n in range(1, 5)) + "&group_policy=none"

    status, found = ask(service, query)

    assert (status, len(found)) == (200, DEVICES**4)


def test_a_search_ends_when_its_client_has_disconnected(service_with, caplog):
    service = service_with({TIME: 0, MEMORY: 0})
    caplog.set_level(logging.INFO, "placement.candidates")

    status, error = ask(service, MANY, **{"waitress.client_disconnected": lambda: True})

    assert (status, error["code"]) == (503, "berth.search_abandoned")
    assert "ended because the client left" in caplog.text

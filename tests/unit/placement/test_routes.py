"""The table of endpoints."""

import inspect

import pytest

from placement.routes import EXTENSIONS, METRICS, ROUTES, Endpoint

ENDPOINTS = [
    endpoint
    for table in (ROUTES, EXTENSIONS, METRICS)
    for endpoints in table.values()
    for endpoint in endpoints
]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.function)
def test_an_endpoint_names_its_handler(endpoint: Endpoint) -> None:
    handler = endpoint.handler
    module = inspect.getmodule(handler)
    assert module is not None
    assert f"{module.__name__}.{handler.__name__}" == f"placement.handlers.{endpoint.function}"


def test_a_handler_is_looked_up_once() -> None:
    endpoint = ROUTES["/"][0]
    assert vars(endpoint)["handler"] is endpoint.handler

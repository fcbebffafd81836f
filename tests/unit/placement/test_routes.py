"""The table of endpoints."""

import inspect

import pytest

from placement.app import api
from placement.routes import ROUTES, Endpoint

ENDPOINTS = [
    endpoint for endpoints in api(with_metrics=True).routes.values() for endpoint in endpoints
]


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.function)
def test_an_endpoint_names_its_handler(endpoint: Endpoint) -> None:
    handler = endpoint.handler
    module = inspect.getmodule(handler)
    assert module is not None
    home = endpoint.home or f"placement.handlers.{endpoint.function.rpartition('.')[0]}"
    name = endpoint.function.rpartition(".")[2]
    assert f"{module.__name__}.{handler.__name__}" == f"{home}.{name}"


def test_a_handler_is_looked_up_once() -> None:
    endpoint = ROUTES["/"][0]
    assert vars(endpoint)["handler"] is endpoint.handler

"""Berth and the reference give the same responses to the same requests.

This is a limited part of :mod:`tests.reference.run`, always with the same requests.
"""

from collections.abc import Iterator

import pytest

from tests.reference import exploring
from tests.reference.environment import reference_python
from tests.reference.starting import Bench, bench

SEEDS = range(5)
REQUESTS = 120


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Yield the bench on which both services are started."""
    with bench(reference_python(), tmp_path_factory.mktemp("comparison")) as services:
        yield services


@pytest.mark.parametrize("seed", SEEDS)
def test_both_services_give_the_same_responses(services: Bench, seed: int) -> None:
    found = next(exploring.explore(services, seed, REQUESTS), None)

    assert found is None, str(exploring.minimal(services, found))

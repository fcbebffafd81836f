"""What holds for every test."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import responses_hook

# no test is about how quick it is on the machine it happens to run on
settings.register_profile("untimed", settings.default, deadline=None)
settings.load_profile("untimed")

pytest_plugins = ["tests.databases.fixtures"]


@pytest.fixture(scope="session", autouse=True)
def _answers_are_judged() -> Iterator[None]:
    """Every answer of the service, in any test, has the form its schema says."""
    with responses_hook.every_answer_judged():
        yield


@pytest.fixture(autouse=True)
def _no_wrong_answer() -> Iterator[None]:
    """Wrong answers fail the test even where their exception is swallowed."""
    with responses_hook.nothing_found():
        yield

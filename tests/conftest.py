"""Settings and fixtures for all tests."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import os_traits
import pytest
from hypothesis import HealthCheck, settings

from placement.wsgi import collection
from tests import compiled_once, compiling, responses_hook
from tests.patience import PATIENCE

# no test depends on the speed of the machine, also where CI isn't set
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("untimed", untimed, max_examples=30)
settings.register_profile("thorough", untimed, max_examples=100)
settings.load_profile("untimed")

pytest_plugins = [
    "tests.leftovers",
    "tests.browsing",
    "tests.compact_reports",
    "tests.databases.fixtures",
    "tests.functional.forked",
    "tests.functional.placement.processes",
    "tests.quick.order",
]


def pytest_configure(config: pytest.Config) -> None:
    """Have a thorough run draw more where a test doesn't say how many examples it wants."""
    if config.getoption("thorough"):
        settings.load_profile("thorough")


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` means: as many as said, or two for each processor.

    Tests wait for servers much of their time.
    """
    said = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    return int(said) if said else 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Have one worker compile what all of them import, and no garbage looked for meanwhile."""
    alone = nullcontext() if "PYTEST_XDIST_WORKER" not in os.environ else compiling.by_one_process()
    with alone, collection.paused():
        return (yield)


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from what lasts: thousands of tests, and what they import.

    Many tests have it look for what they left (`tests/leftovers.py`). By itself it looks as seldom
    as in a service.
    """
    collection.settle()


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Iterator[object]:
    """Change for all tests what `leftovers` and others need; a fixture would cost each test time.

    Every response of the service is checked against its schema, and every service of the process
    ends with the test or fixture that started it.
    """
    # imported here: what is imported before the plugins can't have its assertions explained
    from tests import running_services

    with (
        responses_hook.every_answer_judged(),
        compiled_once.for_all_engines(),
        _traits_listed_once(),
        _unhurried_plans(),
        running_services.closed_by_owners(),
    ):
        return (yield)


@contextmanager
def _traits_listed_once() -> Iterator[None]:
    """Spare the tests what os-traits does at each call: it looks through all names that it has.

    Each start of a service asks for them, and each update of many drivers.
    """
    plain = functools.cache(os_traits.get_traits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os_traits, "get_traits", lambda *given, **named: [*plain(*given, **named)])
        yield


@contextmanager
def _unhurried_plans() -> Iterator[None]:
    """Have no search of a plan end early, however slow the machine is: two seconds are usual."""
    from placement.extensions.evacuation import operation
    from placement.extensions.plans import room
    from placement.extensions.survives import judging

    with pytest.MonkeyPatch.context() as patch:
        for planning in (operation, room, judging):
            patch.setattr(planning, "_LONGEST", PATIENCE)
        yield


@pytest.fixture(autouse=True)
def _no_wrong_answer() -> Iterator[None]:
    """Fail the test after an invalid response, even if the code swallowed the exception."""
    with responses_hook.nothing_found():
        yield

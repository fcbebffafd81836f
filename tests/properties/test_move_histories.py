"""Random histories of claims and moves settle as the flavors say (compute.md §4.9–4.11).

BERTH_TEST_MOVES is the number of histories of each kind, BERTH_TEST_MOVE_SEED where they begin.
"""

import itertools
import os

import pytest

from placement.direct import PlacementDirect
from tests.properties.move_histories import history, play, shortest
from tests.properties.moving_hosts import Settings, World

HISTORIES = int(os.environ.get("BERTH_TEST_MOVES", "3"))
SEED = int(os.environ.get("BERTH_TEST_MOVE_SEED", "1"))
STEPS = 60


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    """A service in this process: a session, and the URL to reach it under."""
    folder = tmp_path_factory.mktemp("placement")
    service = PlacementDirect.configured(
        files=[],
        environ=False,
        overrides={
            ("placement_database", "connection"): f"sqlite:///{folder}/placement.db",
            ("placement_database", "sync_on_startup"): True,
            ("placement_database", "sqlite_synchronous"): False,
        },
    )
    with service as client:
        yield client.session.session, client.get_endpoint()


@pytest.mark.parametrize("devices_in_placement", [False, True])
@pytest.mark.parametrize("writer", ["scheduler", "auto", "tracker"])
def test_histories_settle_as_the_flavors_say(placement, tmp_path, writer, devices_in_placement):
    settings = Settings(writer, devices_in_placement)
    folders = (tmp_path / str(number) for number in itertools.count())

    def fails(steps):
        try:
            play(steps, World(*placement, settings, next(folders)))
        except Exception as wrong:
            return wrong
        return None

    for seed in range(SEED, SEED + HISTORIES):
        steps = history(seed, STEPS)
        if fails(steps):
            few = shortest(steps, fails)
            wrong = fails(few)
            wrong.add_note(f"seed {seed}, the shortest history:")
            for step in few:
                wrong.add_note(f"    {step}")
            raise wrong

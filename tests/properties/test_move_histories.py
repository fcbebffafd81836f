"""Random histories of claims and moves settle as the flavors say (compute.md §4.9–4.11).

BERTH_TEST_MOVES is the number of histories of each kind, BERTH_TEST_MOVE_SEED where they begin.
"""

import itertools
import os

import pytest

from tests.extent import examples
from tests.functional.placement.service import Service
from tests.properties.direct_adapter import DirectAdapter
from tests.properties.flaky_hosts import Settings
from tests.properties.move_histories import history, play, settles
from tests.properties.moving_hosts import World

HISTORIES = int(os.environ.get("BERTH_TEST_MOVES", examples(1, 4)))
SEED = int(os.environ.get("BERTH_TEST_MOVE_SEED", "1"))
STEPS = 50


@pytest.fixture(scope="module")
def new_adapter(tmp_path_factory):
    """Return a function that makes adapters for a service in this process."""
    folder = tmp_path_factory.mktemp("placement")
    service = Service(f"sqlite:///{folder}/placement.db")
    return lambda: DirectAdapter(service.app)


#: each value of each setting in an ordinary run, and with `--thorough` more pairs of them
KINDS = [
    Settings("scheduler", report_in_placement=True),
    Settings("auto"),
    Settings("tracker", shared_storage=True),
    Settings("auto", report_in_placement=True, ordered_devices=True),
    *(
        pytest.param(one, marks=pytest.mark.thorough)
        for one in (
            Settings("scheduler"),
            Settings("auto", report_in_placement=True),
            Settings("tracker"),
            Settings("tracker", report_in_placement=True),
            Settings("scheduler", report_in_placement=True, ordered_devices=True),
        )
    ),
]


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_histories_settle_as_the_flavors_say(new_adapter, tmp_path, settings):
    folders = (tmp_path / str(number) for number in itertools.count())

    def settle(steps):
        play(steps, World(new_adapter, settings, next(folders)))

    for seed in range(SEED, SEED + HISTORIES):
        settles(history(seed, STEPS), settle, f"{settings}, seed {seed}")

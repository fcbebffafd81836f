"""Random histories on hosts of all shapes settle as the translations say (compute.md §4.9–4.11).

BERTH_TEST_SHAPES is the number of histories of each kind, BERTH_TEST_MOVE_SEED where they begin.
"""

import itertools
import os

import pytest

from tests.extent import examples
from tests.functional.conftest import PLACEMENT_URL, extensions, new_adapter, placement_http
from tests.functional.placement.service import Service
from tests.properties.direct_adapter import DirectAdapter
from tests.properties.flaky_hosts import Settings
from tests.properties.move_histories import history, play, settles
from tests.properties.shaped_others import CrowdedWorld
from tests.properties.shaped_player import STEPS, ShapedPlayer
from tests.properties.shapes import SHAPES

__all__ = ["extensions", "new_adapter", "placement_http"]

HISTORIES = int(os.environ.get("BERTH_TEST_SHAPES", examples(1, 10)))
SEED = int(os.environ.get("BERTH_TEST_MOVE_SEED", "1"))
LENGTH = examples(25, 50)


@pytest.fixture(scope="module")
def quick_adapter(tmp_path_factory):
    """Return a function that makes adapters for a service in this process."""
    folder = tmp_path_factory.mktemp("placement")
    service = Service(f"sqlite:///{folder}/placement.db")
    return lambda: DirectAdapter(service.app)


@pytest.fixture
def an_adapter(request):
    """Return a function that makes adapters: for the reference, if the tests run with it."""
    name = "new_adapter" if PLACEMENT_URL in os.environ else "quick_adapter"
    return request.getfixturevalue(name)


#: each shape with one writer in an ordinary run, and with all of them with `--thorough`
KINDS = [
    pytest.param(
        Settings(
            writer,
            report_in_placement=True,
            shared_storage=shape == "pooled",
            ordered_devices=True,
            shape=shape,
        ),
        id=f"{shape}-{writer}",
        marks=pytest.mark.thorough if (at_shape - at_writer) % 3 else (),
    )
    for at_shape, shape in enumerate(SHAPES)
    for at_writer, writer in enumerate(("scheduler", "auto", "tracker"))
]


@pytest.mark.parametrize("settings", KINDS)
def test_histories_settle_as_the_translations_say(an_adapter, tmp_path, settings):
    folders = (tmp_path / str(number) for number in itertools.count())

    def settle(steps):
        play(steps, CrowdedWorld(an_adapter, settings, next(folders)), ShapedPlayer)

    for seed in range(SEED, SEED + HISTORIES):
        settles(history(seed, LENGTH, STEPS), settle, f"{settings}, seed {seed}")

"""Consumer generations (rest-api.md 3.8)."""

import pytest

from placement.domain.consumer import UNCHECKED, ConsumerRequest, check_generation
from placement.errors import ConcurrentUpdate


def asking(generation):
    return ConsumerRequest("c", "p", "u", generation, None, {})


@pytest.mark.parametrize(
    ("given", "stored"),
    [(None, None), (0, 0), (7, 7), (7.0, 7), (UNCHECKED, None), (UNCHECKED, 7)],
)
def test_the_stored_generation_is_accepted(given, stored):
    assert check_generation(asking(given), stored) is None


@pytest.mark.parametrize(
    ("given", "stored", "words"),
    [
        (None, 0, "expected 0 but got None"),
        (None, 3, "expected 3 but got None"),
        (0, None, "expected null but got 0"),
        (7, None, "expected null but got 7"),
        (1, 2, "expected 2 but got 1"),
    ],
)
def test_another_generation_is_a_conflict(given, stored, words):
    with pytest.raises(ConcurrentUpdate) as conflict:
        check_generation(asking(given), stored)
    assert conflict.value.message == f"consumer generation conflict - {words}"

"""A slow keystone blocks a limited number of threads."""

import threading

import pytest

from placement.http.identity.keystone import SLOW, TokenValidations, TooManyValidations
from tests.clock import Clock
from tests.patience import PATIENCE


@pytest.fixture
def clock():
    return Clock(0.0)


def test_no_more_validations_run_than_allowed(clock):
    validations = TokenValidations(2, clock)
    with validations.one(), validations.one():
        clock.now += SLOW
        with pytest.raises(TooManyValidations), validations.one():
            pass
    with validations.one():
        """There is room again."""


def test_no_validation_waits_for_a_slow_one(clock):
    validations = TokenValidations(1, clock)
    with validations.one():
        clock.now += SLOW + 1
    with validations.one(), pytest.raises(TooManyValidations), validations.one():
        pass


def test_validations_wait_again_when_keystone_is_fast_again(clock):
    validations = TokenValidations(1, clock)
    with validations.one():
        clock.now += SLOW + 1
    with validations.one():
        """A quick one."""
    first, done = validations.one(), threading.Event()

    def another():
        with validations.one():
            done.set()

    first.__enter__()
    waiting = threading.Thread(target=another)
    waiting.start()
    assert not done.is_set()
    first.__exit__(None, None, None)
    assert done.wait(PATIENCE)
    waiting.join()


def test_a_failed_validation_no_longer_counts(clock):
    validations = TokenValidations(1, clock)
    with pytest.raises(KeyError), validations.one():
        raise KeyError
    with validations.one():
        """There is room."""

"""Clocks that disagree: the service's and keystone's."""

import time

import pytest

from tests.keystone.clocks import shifted
from tests.keystone.cloud import options, start_ours, start_reference
from tests.keystone.server import HOUR


@pytest.mark.parametrize("begin", [start_ours, start_reference], ids=["ours", "reference"])
@pytest.mark.parametrize(
    ("seconds", "status"), [(-2 * HOUR, 200), (-60, 200), (60, 200), (2 * HOUR, 401)]
)
def test_a_service_whose_clock_is_ahead_takes_tokens_for_expired(
    start, tmp_path, identity, people, reference_interpreter, begin, seconds, status
):
    chosen = options(identity.url)
    if begin is start_reference:
        chosen["interpreter"] = reference_interpreter

    def start_shifted(command, url, **environ):
        return start(command, url, **environ, **shifted(seconds))

    assert begin(start_shifted, tmp_path, **chosen).status(people.token("admin")) == status


def test_keystone_s_clock_says_when_a_token_ends(keystone, ours, identity, people):
    """A service whose clock is behind doesn't accept what keystone takes for expired."""
    token = people.token("admin")
    keystone.stop()
    keystone.start(**shifted(2 * HOUR))
    try:
        before = time.time()
        assert ours.status(token) == 401
        assert time.time() - before < HOUR
    finally:
        keystone.stop()
        keystone.start()
    assert ours.status(token) == 200

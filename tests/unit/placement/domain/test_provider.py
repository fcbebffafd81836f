"""A row's time (rest-api.md 1.10)."""

import datetime

from placement.domain.provider import Provider

CREATED = datetime.datetime(2026, 1, 1)
UPDATED = datetime.datetime(2026, 2, 2)


def provider(updated_at):
    return Provider(1, "u", "n", 0, None, "u", CREATED, updated_at)


def test_a_row_s_time_is_that_of_its_last_update():
    assert provider(UPDATED).modified == UPDATED


def test_the_time_of_a_row_without_update_is_that_of_its_creation():
    assert provider(None).modified == CREATED

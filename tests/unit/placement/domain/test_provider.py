"""A provider's row time (rest-api.md 1.10)."""

import datetime

from placement.domain.provider import Provider

CREATED = datetime.datetime(2026, 1, 1)
UPDATED = datetime.datetime(2026, 2, 2)


def provider(updated_at):
    return Provider(1, "u", "n", 0, None, "u", CREATED, updated_at)


def test_a_row_time_is_that_of_the_last_update():
    assert provider(UPDATED).modified == UPDATED


def test_the_row_time_of_a_row_that_was_never_updated_is_that_of_its_creation():
    assert provider(None).modified == CREATED

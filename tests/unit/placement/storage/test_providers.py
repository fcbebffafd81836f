"""Rows of providers."""

import pytest

from placement.storage.providers import inserted_id


def test_the_id_of_a_row_that_was_not_inserted_is_nobody_s_guess():
    class Nothing:
        inserted_primary_key = None

    with pytest.raises(LookupError):
        inserted_id(Nothing())

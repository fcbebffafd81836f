"""The versions at which schemathesis asks: some in an ordinary run, more with `--thorough`."""

import pytest

from tests.functional.placement.extensions.openapi.test_document import VERSIONS


def asked_at(*ordinary: tuple[int, int]) -> list[object]:
    """Return the versions at which much changed; all but these are for thorough runs."""
    assert set(ordinary) <= set(VERSIONS)
    return [
        one if one in ordinary else pytest.param(one, marks=pytest.mark.thorough)
        for one in VERSIONS
    ]

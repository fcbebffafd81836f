"""Which paths are those of extensions."""

import pytest

from placement.http.extensions import is_below_prefix


@pytest.mark.parametrize("path", ["/berth/v1", "/berth/v1/", "/berth/v1/claims", "/berth/v1//"])
def test_a_path_below_the_prefix_is_that_of_an_extension(path):
    assert is_below_prefix(path)


@pytest.mark.parametrize(
    "path", ["", "/", "/berth", "/berth/", "/berth/v10", "/x/berth/v1", "berth/v1"]
)
def test_a_path_beside_the_prefix_is_not(path):
    assert not is_below_prefix(path)

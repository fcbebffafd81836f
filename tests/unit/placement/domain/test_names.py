"""Names of resource classes and traits (rest-api.md 1.13)."""

import pytest

from placement.domain.names import is_custom, is_valid_custom


@pytest.mark.parametrize("name", ["CUSTOM_A", "CUSTOM_0", "CUSTOM__", "CUSTOM_" + "A" * 248])
def test_valid_custom_names(name):
    assert is_valid_custom(name)


@pytest.mark.parametrize(
    "name",
    [
        *("CUSTOM_", "CUSTOM_a", "CUSTOM_Ä", "CUSTOM_A-B", "custom_A", "VCPU", "", " CUSTOM_A"),
        "CUSTOM_" + "A" * 249,
    ],
)
def test_invalid_custom_names(name):
    assert not is_valid_custom(name)


@pytest.mark.parametrize(("name", "custom"), [("CUSTOM_a", True), ("HW_CPU", False), ("", False)])
def test_only_the_prefix_separates_custom_names_from_standard_ones(name, custom):
    assert is_custom(name) is custom

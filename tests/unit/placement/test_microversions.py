"""Negotiation of microversions, and the choice of a table's entry by version (rest-api.md 1.2)."""

import pytest

from placement import microversions
from placement.microversions import UnacceptableVersion, UnreadableVersion


def test_the_versions_follow_each_other_without_a_gap():
    count = len(microversions.HISTORY)
    assert list(microversions.HISTORY) == [(1, minor) for minor in range(count)]


def test_they_include_every_version_of_openstack_placement():
    assert (1, 39) in microversions.HISTORY


@pytest.mark.parametrize(
    "header",
    [None, "", "compute 2.5", "placement", "1.6", "placementx 1.6"],
)
def test_a_request_that_names_no_version_of_placement_has_the_oldest(header):
    assert microversions.negotiate(header) == (1, 0)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        ("placement 1.10", (1, 10)),
        ("PLACEMENT 1.10", (1, 10)),
        ("placement latest", microversions.NEWEST),
        ("placement  1. 5", (1, 5)),
        ("placement 01.05", (1, 5)),
        ("compute 2.5, placement 1.7", (1, 7)),
        ("placement 1.3, placement 1.4", (1, 4)),
        ("placement 1.4,compute latest", (1, 4)),
    ],
)
def test_the_last_entry_for_placement_is_used(header, version):
    assert microversions.negotiate(header) == version


ABOVE = microversions.name((microversions.NEWEST[0], microversions.NEWEST[1] + 1))


@pytest.mark.parametrize("version", [ABOVE, "2.0", "0.9", "-1.5"])
def test_a_version_that_is_not_served_is_not_acceptable(version):
    with pytest.raises(UnacceptableVersion) as refused:
        microversions.negotiate(f"placement {version}")
    assert refused.value.message == f"Invalid microversion: Unacceptable version header: {version}"


@pytest.mark.parametrize("version", ["1", "abc", "1.x", "1.5.6", "LATEST"])
def test_an_unreadable_version_is_a_bad_request(version):
    with pytest.raises(UnreadableVersion) as refused:
        microversions.negotiate(f"placement {version}")
    wording = f"Invalid microversion: invalid version string: {version}; "
    assert refused.value.message.startswith(wording)


def test_a_rejected_header_is_rejected_again():
    for _ in range(2):
        with pytest.raises(UnacceptableVersion):
            microversions.negotiate("placement 1.99")


def test_versions_are_written_with_a_dot():
    assert microversions.name((1, 10)) == "1.10"

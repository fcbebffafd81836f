"""How two responses of a search may differ."""

import pytest

from placement.compare.searches import limit_of, limited, missing, without_limit

SEARCH = "/allocation_candidates?resources=VCPU:1"


def found(*amounts):
    """Return a response with a candidate on provider `p0` with the first amount, and so on."""
    return {
        "allocation_requests": [
            {"allocations": {f"p{n}": {"resources": {"VCPU": amount}}}, "mappings": {"": [f"p{n}"]}}
            for n, amount in enumerate(amounts)
        ],
        "provider_summaries": {f"p{n}": {"resources": {}} for n in range(len(amounts))},
    }


def test_any_candidates_may_remain_under_a_limit():
    everything, some = found(1, 1, 1), found(1, 1)

    assert limited(some, everything, 2) == []


@pytest.mark.parametrize(
    ("some", "limit"),
    [
        (found(1), 2),
        (found(1, 1, 1), 2),
        (found(1, 2), 2),
        (found(1, 1) | {"provider_summaries": {}}, 2),
        (found(1, 1) | {"provider_summaries": {"p0": {}, "p1": {}}}, 2),
    ],
)
def test_a_limit_is_the_number_of_candidates_and_summaries_match_them(some, limit):
    assert limited(some, found(1, 1, 1), limit)


def test_candidates_that_one_response_lacks_are_reported():
    assert missing(found(1), found(1, 1)) == []
    assert missing(found(1, 1), found(1))


def test_amounts_may_be_ignored_but_not_providers():
    assert missing(found(3, 1), found(1, 1))
    assert missing(found(3, 1), found(1, 1), amounts=False) == []
    assert missing(found(3, 1), found(1), amounts=False)


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        (SEARCH, None),
        (f"{SEARCH}&limit=2", 2),
        (f"{SEARCH};limit=2&limit=3", 2),
        (f"{SEARCH}&limit=x", None),
        ("/resource_providers?limit=2", None),
    ],
)
def test_the_first_limit_of_a_search_counts(path, limit):
    assert limit_of(path) == limit


def test_a_search_without_its_limit_is_otherwise_the_same():
    path = "/allocation_candidates?limit=1&in_tree=${made:3};limit=2&resources=VCPU%3A1"

    assert without_limit(path) == "/allocation_candidates?in_tree=${made:3}&resources=VCPU%3A1"

"""The microversions, what each changed, and how a request names one (rest-api.md 1.2, 8).

A version is a pair of integers, compared as such: `(1, 9) < (1, 10)`.
"""

import functools

import microversion_parse

from placement.errors import BadRequest, NotAcceptable

Version = tuple[int, int]

SERVICE_TYPE = "placement"

#: every version, and what it changes for clients
HISTORY: dict[Version, str] = {
    (1, 0): "providers, inventories, allocations, usages",
    (1, 1): "aggregates of a provider",
    (1, 2): "resource classes",
    (1, 3): "member_of on the provider list",
    (1, 4): "resources on the provider list",
    (1, 5): "DELETE all inventories of a provider",
    (1, 6): "traits, and traits of a provider",
    (1, 7): "PUT of a resource class without a body creates it",
    (1, 8): "allocations need project_id and user_id",
    (1, 9): "GET /usages",
    (1, 10): "GET /allocation_candidates",
    (1, 11): "allocations link of a provider",
    (1, 12): "allocations as an object keyed by provider",
    (1, 13): "POST /allocations",
    (1, 14): "nested providers, in_tree",
    (1, 15): "last-modified and cache-control",
    (1, 16): "limit on candidates",
    (1, 17): "required on candidates, traits in summaries",
    (1, 18): "required on the provider list",
    (1, 19): "aggregates with the provider generation",
    (1, 20): "POST of a provider answers with the provider",
    (1, 21): "member_of on candidates",
    (1, 22): "forbidden traits",
    (1, 23): "error codes",
    (1, 24): "member_of may be repeated",
    (1, 25): "numbered request groups, group_policy",
    (1, 26): "reserved may equal total",
    (1, 27): "all resource classes in summaries",
    (1, 28): "consumer generations",
    (1, 29): "nested candidates",
    (1, 30): "POST /reshaper",
    (1, 31): "in_tree on candidates",
    (1, 32): "forbidden aggregates",
    (1, 33): "suffixes of request groups are free text",
    (1, 34): "mappings of request groups to providers",
    (1, 35): "root_required",
    (1, 36): "same_subtree",
    (1, 37): "re-parenting and un-parenting of providers",
    (1, 38): "consumer types",
    (1, 39): "any-of traits: required=in:",
}

OLDEST: Version = min(HISTORY)
NEWEST: Version = max(HISTORY)
#: first version whose responses have Last-Modified and Cache-Control
SINCE_CACHE_HEADERS: Version = (1, 15)
#: first versions whose queries may forbid traits, and ask for any of several
SINCE_FORBIDDEN_TRAITS: Version = (1, 22)
SINCE_ANY_TRAITS: Version = (1, 39)
#: first version whose errors have a code
SINCE_CODES: Version = (1, 23)
_NAMES = [f"{major}.{minor}" for major, minor in HISTORY]


class UnacceptableVersion(NotAcceptable):
    """The requested version isn't served; the response names the oldest and newest version."""

    text = "Invalid microversion: {why}"


class UnreadableVersion(BadRequest):
    text = "Invalid microversion: {why}"


def name(version: Version) -> str:
    """Return the version as headers have it, such as `1.39`."""
    return f"{version[0]}.{version[1]}"


def named(text: str) -> Version:
    """Return the version with this name; `latest` is the newest. Raises ValueError for others."""
    known = dict(zip(_NAMES, HISTORY, strict=True)) | {"latest": NEWEST}
    if text not in known:
        raise ValueError(f"There is no {text!r}, only {_NAMES[0]} to {_NAMES[-1]} and latest.")
    return known[text]


@functools.lru_cache(maxsize=256)
def negotiate(header: str | None) -> Version:
    """Return the version that the `OpenStack-API-Version` header requests; OLDEST without one.

    Raises UnreadableVersion if the version for this service can't be parsed and
    UnacceptableVersion if that version isn't served.
    """
    if header is None:
        return OLDEST
    headers = {microversion_parse.STANDARD_HEADER: header}
    try:
        found = microversion_parse.extract_version(headers, SERVICE_TYPE, _NAMES)
    except ValueError as unacceptable:
        raise UnacceptableVersion(why=unacceptable) from unacceptable
    except TypeError as unreadable:
        raise UnreadableVersion(why=unreadable) from unreadable
    return (found.major, found.minor)

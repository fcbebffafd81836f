"""What consumers ask for as somebody gives it, in place of once more what they hold."""

from collections.abc import Collection, Mapping
from typing import TypeVar

from placement.candidates.cloud.snapshot import Snapshot
from placement.domain.uuids import is_uuid_like, normalised
from placement.errors import BadRequest
from placement.extensions.evacuation.movers import TreeDemand
from placement.extensions.evacuation.schema import MOST_NAMED
from placement.extensions.what_if.refusals import refused_at
from placement.handlers.allocation_candidates import request_in_body
from placement.microversions import Version

Given = TypeVar("Given", bound=Collection[object])


def given_requests(given: Mapping[str, str], version: Version) -> dict[str, TreeDemand]:
    """Read queries by consumer; equal queries are read once.

    Raises BadRequest, with the place of what is wrong.

    :param given: valid by `schema.REQUESTS`
    :param version: what queries are understood as
    """
    known: dict[str, TreeDemand] = {}
    found = {}
    for consumer, query in few(given, "requests").items():
        if query not in known:
            with refused_at(f"requests.{consumer}"):
                known[query] = TreeDemand.of(query, request_in_body(query, version))
        found[uuid_key(consumer, "requests")] = known[query]
    return found


def check_requests(cloud: Snapshot, requests: Mapping[str, TreeDemand]) -> None:
    """Raise BadRequest, with the place, if a class or trait doesn't exist."""
    names = cloud.names
    first: dict[str, str] = {}
    for consumer, asked in requests.items():
        first.setdefault(asked.given[0].text, consumer)
    for consumer in first.values():
        request = requests[consumer].given[0].request
        for name in request.demand:
            if name not in names.class_ids:
                raise BadRequest(f"requests.{consumer}: there is no resource class {name!r}.")
        traits = request.root_required | request.root_forbidden
        for group in request.groups:
            traits = traits.union(group.forbidden, *group.required)
        for name in sorted(traits):
            if name not in names.trait_ids:
                raise BadRequest(f"requests.{consumer}: there is no trait {name!r}.")


def uuid_key(given: str, place: str) -> str:
    """Return a key as a uuid. Its schema knows its length and characters alone."""
    if not is_uuid_like(given):
        raise BadRequest(f"{place}: {given!r} is not a uuid.")
    return normalised(given)


def few(given: Given, place: str) -> Given:
    """Return what is given. Raises BadRequest if it is too much."""
    if len(given) > MOST_NAMED:
        raise BadRequest(f"{place}: at most {MOST_NAMED} may be named, and these are {len(given)}.")
    return given

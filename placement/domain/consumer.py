"""Consumers, and requests for their allocations (rest-api.md 3.8, 4.6)."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping

from placement.errors import ConcurrentUpdate


class Unchecked(enum.Enum):
    """The type of `UNCHECKED`: the request's microversion has no consumer generations."""

    UNCHECKED = enum.auto()


UNCHECKED = Unchecked.UNCHECKED
#: the type that responses show for a consumer without a type
UNKNOWN_TYPE = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class Consumer:
    """A stored consumer; its project, user and type are database ids."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    type_id: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumerRequest:
    """The allocations that a request wants one consumer to have.

    :param generation: the consumer generation that the caller expects; None: the consumer must be
        new
    :param type_name: None: the request's microversion has no consumer types
    :param allocations: `{provider uuid: {resource class: amount}}`; empty: remove all
    """

    uuid: str
    project: str
    user: str
    generation: int | Unchecked | None
    type_name: str | None
    allocations: Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """A consumer's allocation of one class from one provider."""

    provider_uuid: str
    provider_generation: int
    resource_class: str
    used: int
    modified: datetime.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """A consumer's project, user and type, by their external names, and its generation."""

    project: str
    user: str
    generation: int
    type_name: str | None


def check_generation(request: ConsumerRequest, stored: int | None) -> None:
    """Raise ConcurrentUpdate if the generation in the request isn't the stored one.

    :param stored: the stored generation, or None if there is no such consumer
    """
    given = request.generation
    if isinstance(given, Unchecked) or given == stored:
        return
    raise _conflict("null" if stored is None else stored, given)


def named_twice(request: ConsumerRequest, expected: int) -> ConcurrentUpdate:
    """Return the error for a second request for a consumer that the first has written already.

    This happens if the request spells one uuid in two ways and the database treats both as equal.

    :param expected: the generation after the first write
    """
    given = None if isinstance(request.generation, Unchecked) else request.generation
    return _conflict(expected, given)


def _conflict(expected: int | str, given: int | None) -> ConcurrentUpdate:
    text = f"consumer generation conflict - expected {expected} but got {given}"
    return ConcurrentUpdate(text)

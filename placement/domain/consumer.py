"""Consumers: who holds allocations, and what a request may say of them (rest-api.md 3.8, 4.6)."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping

from placement.errors import ConcurrentUpdate


class Unchecked(enum.Enum):
    """The request's microversion knows no consumer generations."""

    UNCHECKED = enum.auto()


UNCHECKED = Unchecked.UNCHECKED


@dataclasses.dataclass(frozen=True, slots=True)
class Consumer:
    """A stored consumer; projects, users and types by their database ids."""

    id: int
    uuid: str
    generation: int
    project_id: int
    user_id: int
    type_id: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumerRequest:
    """What a request wants one consumer to hold.

    :param generation: the generation the caller knows; None: the consumer must be new
    :param type_name: None: the request's microversion knows no consumer types
    :param allocations: `{provider uuid: {resource class: amount}}`; empty: nothing any more
    """

    uuid: str
    project: str
    user: str
    generation: int | Unchecked | None
    type_name: str | None
    allocations: Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class Holding:
    """What a consumer holds of one class from one provider."""

    provider_uuid: str
    provider_generation: int
    resource_class: str
    used: int
    modified: datetime.datetime | None


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """A consumer's attributes by their outside names."""

    project: str
    user: str
    generation: int
    type_name: str | None


def check_generation(request: ConsumerRequest, stored: int | None) -> None:
    """Raise ConcurrentUpdate if the caller's idea of the consumer is not the stored one.

    :param stored: the stored generation, or None if there is no such consumer
    """
    given = request.generation
    if isinstance(given, Unchecked) or given == stored:
        return
    raise _conflict("null" if stored is None else stored, given)


def named_twice(request: ConsumerRequest, expected: int) -> ConcurrentUpdate:
    """The refusal of a second request for one consumer, which the first one has made or changed.

    It happens where the database holds two spellings of a uuid for one.
    """
    given = None if isinstance(request.generation, Unchecked) else request.generation
    return _conflict(expected, given)


def _conflict(expected: int | str, given: int | None) -> ConcurrentUpdate:
    text = f"consumer generation conflict - expected {expected} but got {given}"
    return ConcurrentUpdate(text)

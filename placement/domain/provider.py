"""A resource provider: its attributes, and its place in a tree."""

import dataclasses
import datetime
import enum


class Unchanged(enum.Enum):
    """The type of `UNCHANGED`: the request doesn't name a parent."""

    UNCHANGED = enum.auto()


UNCHANGED = Unchanged.UNCHANGED


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """One row of the provider table with the uuids of its parent and root.

    `modified` is the row time of rest-api.md 1.10, `updated_at` the last change or None.
    """

    id: int
    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None

    @property
    def modified(self) -> datetime.datetime | None:
        """When the row last changed: `updated_at`, or `created_at` if it never did."""
        return self.updated_at or self.created_at


@dataclasses.dataclass(frozen=True, slots=True)
class TreePosition:
    """A provider's place in its tree, by database ids; operations read it under a lock."""

    id: int
    uuid: str
    generation: int
    root_id: int
    parent_id: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A provider's place in its tree, with its name."""

    id: int
    uuid: str
    name: str
    generation: int
    root_id: int
    parent_id: int | None

"""What a repository needs of the store of its records."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from compute.exceptions import NovaException

R = TypeVar("R")


class DuplicateRecord(NovaException):
    """Another record has the same identity."""

    msg_fmt = "A record of %(what)s exists already."


class Store(Protocol[R]):
    """The records of one kind. Records are copied on the way in and out."""

    def add(self, record: R, what: str) -> None:
        """Keep a new record and give it its `id`. Raises DuplicateRecord, naming `what`."""

    def put(self, record: R, what: str) -> bool:
        """Keep the record as it is now; False if it was never added. Raises as `add` does."""

    def change(
        self, record_id: int | None, expected: Mapping[str, object], **changes: object
    ) -> bool:
        """Change some columns of a record if it has the `expected` values; return whether it did.

        One atomic step: no other writer comes in between.
        """

    def remove(self, record_id: int | None) -> bool:
        """Keep the record no longer; return whether there was one."""

    def has_any(self) -> bool:
        """Say whether there is any record at all."""

    def find(self, **wanted: object) -> list[R]:
        """Return the records with these values in these columns, oldest first.

        A list stands for any of its members.
        """

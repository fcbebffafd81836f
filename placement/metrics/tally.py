"""What the parts of the service report for metrics; a meter counts it."""

from typing import Protocol


class Tally(Protocol):
    """Is told what happens. No method fails or waits."""

    def statement(self) -> None:
        """Count an SQL statement."""

    def retried(self, cause: str) -> None:
        """Count a transaction that is run again."""

    def loaded(self, cause: str) -> None:
        """Count a snapshot that was loaded as a whole."""

    def refreshed(self, seconds: float, providers: int, size: int | None) -> None:
        """Count a snapshot that was loaded or brought up to date.

        :param size: bytes that it takes; None: about as many as before
        """

    def audited(self, result: str) -> None:
        """Count a comparison of a snapshot with the tables."""


class Uncounted:
    """Counts nothing: for a service that nobody asks for metrics."""

    def statement(self) -> None:
        """Do nothing."""

    def retried(self, cause: str) -> None:
        """Do nothing."""

    def loaded(self, cause: str) -> None:
        """Do nothing."""

    def refreshed(self, seconds: float, providers: int, size: int | None) -> None:
        """Do nothing."""

    def audited(self, result: str) -> None:
        """Do nothing."""


UNCOUNTED = Uncounted()

"""What the parts of the service report for metrics; a meter counts it."""


class Tally:
    """Is told what happens, and counts nothing; see `Meter`. No method fails or waits."""

    def statements(self, count: int) -> None:
        """Count SQL statements that no request sends."""

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


#: for a service that nobody asks for metrics
UNCOUNTED = Tally()

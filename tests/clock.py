"""A clock of tests, in place of the one that a part asks for the time."""


class Clock:
    """Tells the same time until a test changes it.

    :param now: seconds
    """

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now

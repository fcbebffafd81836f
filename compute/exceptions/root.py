"""The root of the family, and the two branches with a status of their own: 404 and 400."""

from typing import Any


class NovaException(Exception):
    """The root of the family.

    `message` is used as it stands; without one the class's `msg_fmt` is filled from `kwargs`, and
    where that doesn't work out `msg_fmt` itself is the message: an error about an error helps
    nobody. `kwargs` always holds a `code`, the HTTP status that fits.
    """

    msg_fmt = "An unknown exception occurred."
    code = 500

    def __init__(self, message: str | BaseException | None = None, **kwargs: Any) -> None:
        self.kwargs = kwargs
        self.kwargs.setdefault("code", self.code)
        self.message = str(message) if message else self._formatted()
        super().__init__(self.message)

    def _formatted(self) -> str:
        try:
            return self.msg_fmt % self.kwargs
        except (KeyError, TypeError, ValueError):
            return self.msg_fmt

    def format_message(self) -> str:
        """Return the message alone, as it is shown to people."""
        return self.message

    def __repr__(self) -> str:
        shown = {key: value for key, value in self.kwargs.items() if key != "code"}
        return f"{type(self).__name__}({self.message!r}, {shown!r})"


class NotFound(NovaException):
    """Something asked for by name doesn't exist."""

    msg_fmt = "Resource could not be found."
    code = 404


class Invalid(NovaException):
    """Something given to us is unacceptable."""

    msg_fmt = "Bad Request - Invalid Parameters"
    code = 400

"""The class of all errors, and how handlers replace the text of one."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
UNDEFINED = "placement.undefined_code"


class PlacementError(Exception):
    """An error with an HTTP status.

    :param message: the text for the client; None: `text`, formatted with `facts`
    :param facts: values for the fields of `text`, and for the words of a handler
    """

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal Server Error"
    code: ClassVar[str] = UNDEFINED
    text: ClassVar[str] = ""
    #: whether the response names the microversion's header in `vary` (rest-api.md 1.9)
    vary: ClassVar[bool] = True
    #: seconds after which the client may ask again, for the header Retry-After
    retry_after: ClassVar[int | None] = None

    def __init__(self, message: str | None = None, **facts: Any) -> None:
        self.facts = facts
        self.message = self.text.format(**facts) if message is None else message
        super().__init__(self.message)


def codes_of(kind: type[PlacementError]) -> tuple[str, ...]:
    """Return the codes of a class of errors and its subclasses, sorted."""
    return tuple(sorted({each.code for each in kinds_of(kind)}))


def kinds_of(kind: type[PlacementError]) -> Iterator[type[PlacementError]]:
    """Yield a class of errors and its subclasses, each before its own subclasses."""
    yield kind
    for each in kind.__subclasses__():
        yield from kinds_of(each)


Wording = tuple[type[PlacementError], type[PlacementError], str]


def worded(*wordings: Wording) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that replaces errors which a handler raises.

    :param wordings: `(raised, answered, text)`: an error of class `raised` becomes an error of
        class `answered` with `text`; the first match applies. `text` may contain `{error}` (the
        raised error's own text), the facts of the error and the parameters of the route
    """

    def decorate(handler: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(handler)
        def answer(*call: P.args, **place: P.kwargs) -> R:
            try:
                return handler(*call, **place)
            except PlacementError as error:
                for raised, answered, text in wordings:
                    if isinstance(error, raised):
                        message = text.format(**(place | error.facts), error=error.message)
                        raise answered(message) from error
                raise

        return answer

    return decorate

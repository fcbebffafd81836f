"""Looks at a cloud that share a window: to open one costs more than most of them."""

import inspect
from collections.abc import Callable
from typing import Any

from tests.browsing import expect


class Looks:
    """The looks of a file, in their order: each is a function that decorates itself with this.

    A look is given a `page`, a `cloud` that others look at too, and fixtures by their names. It
    goes where it wants to be, and leaves the cloud as it was. Whoever routes requests, listens,
    or needs the page's first moments opens a window of its own: `open_page`.
    """

    def __init__(self) -> None:
        self._looks: list[Callable[..., None]] = []

    def __call__(self, look: Callable[..., None]) -> Callable[..., None]:
        """Add a look."""
        self._looks.append(look)
        return look

    def part(self, which: int, parts: int, request: Any, page: Any, cloud: Any) -> None:
        """Look at one part of all, from 0, each after a view that shows nothing of the last one."""
        for look in self._looks[which::parts]:
            page.goto(f"{cloud.ui}#/none")
            expect(page.get_by_role("heading", name="There is no such view")).to_be_visible()
            known = {"page": page, "cloud": cloud}
            wanted = inspect.signature(look).parameters
            look(**{name: known.get(name) or request.getfixturevalue(name) for name in wanted})

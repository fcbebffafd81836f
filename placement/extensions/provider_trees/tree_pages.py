"""Writes an answer with whole trees, page by page (extensions.md 2).

The memory is that of one page, however many trees there are. A page takes the same number of
statements, however many providers it has.
"""

import functools
import itertools
from array import array
from collections.abc import Callable, Iterator, Sequence

import orjson

from placement.errors import SearchAbandoned
from placement.extensions.provider_trees import rows, tree_text
from placement.extensions.provider_trees.query import CONSUMERS, OF_PROVIDERS, TreesQuery
from placement.storage import holdings
from placement.storage.database.engine import Connection
from placement.storage.holdings import HeldRow

#: how many trees a page has at most, and how many providers if it has several trees
TREES_OF_PAGE, PROVIDERS_OF_PAGE = 1000, 2000
#: how many consumers stand in one line
CONSUMERS_OF_LINE = 1000


class Pages:
    """The trees that a query wants, read in one transaction.

    The constructor reads which trees there are. It raises BadRequest if a trait or a resource class
    doesn't exist. Its methods raise SearchAbandoned if the client left.

    :param limit: how many trees at most; None: all
    :param client_left: says whether the client left; called before each page but the first
    """

    def __init__(
        self,
        connection: Connection,
        query: TreesQuery,
        limit: int | None,
        client_left: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._fields = [name for name in OF_PROVIDERS if name in query.fields]
        self._shows_consumers = CONSUMERS in query.fields
        self._client_left = client_left
        self._last: str | None = None
        # arrays take less memory than lists: a cloud may have a hundred thousand trees
        self._roots, self._sizes = array("q"), array("q")
        one_more = None if limit is None else limit + 1
        for root in rows.roots(connection, query.wanted, query.after, one_more):
            self._roots.append(root.id)
            self._sizes.append(root.size)
        self._has_more = limit is not None and len(self._roots) > limit
        if self._has_more:
            self._roots.pop()

    def as_json(self, position: str) -> Iterator[bytes]:
        """Yield one JSON value with all trees, in pieces."""
        yield from tree_text.joined(b'{"trees":[', self._trees(), b"]")
        if self._shows_consumers:
            yield from tree_text.joined(b',"consumers":{', self._consumers(), b"}")
        yield b"," + self._end(position)[1:]

    def as_lines(self, position: str) -> Iterator[bytes]:
        """Yield JSON values of a line each: trees, then consumers, then the end."""
        for tree in self._trees():
            yield tree + b"\n"
        if self._shows_consumers:
            found = self._consumers()
            while some := list(itertools.islice(found, CONSUMERS_OF_LINE)):
                yield b'{"consumers":{%b}}\n' % b",".join(some)
        yield self._end(position) + b"\n"

    def _end(self, position: str) -> bytes:
        marker = {"marker": self._last} if self._has_more else {}
        return orjson.dumps(marker | {"position": position})

    def _trees(self) -> Iterator[bytes]:
        for _, page in self._pages():
            for uuid, text in tree_text.trees(self._connection, page, self._fields):
                self._last = uuid
                yield text

    def _consumers(self) -> Iterator[bytes]:
        """Yield each consumer once: with the page that has its first tree."""
        order = {root_id: number for number, root_id in enumerate(self._roots)}
        for first, page in self._pages():
            begins_here = functools.partial(_begins_in_page, order, first)
            yield from tree_text.consumers(holdings.of_trees(self._connection, page), begins_here)

    def _pages(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield the roots of each page, with the number of the first one."""
        first = providers = 0
        for number, size in enumerate(self._sizes[: len(self._roots)]):
            is_full = number - first == TREES_OF_PAGE or providers + size > PROVIDERS_OF_PAGE
            if is_full and number > first:
                yield first, self._page(first, number)
                first, providers = number, 0
            providers += size
        if len(self._roots) > first:
            yield first, self._page(first, len(self._roots))

    def _page(self, first: int, end: int) -> Sequence[int]:
        if first and self._client_left():
            raise SearchAbandoned("The client left before its answer was complete.")
        return self._roots[first:end]


def _begins_in_page(order: dict[int, int], first: int, held: list[HeldRow]) -> bool:
    """Return whether a consumer of a page's trees holds nothing in the wanted trees before it.

    :param order: the number of each wanted tree, by database id of its root
    :param first: the number of the first tree of the page
    """
    return all(order.get(holding.root_id, first) >= first for holding in held)

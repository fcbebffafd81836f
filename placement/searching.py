"""Stands for the parts that search until a process needs them (decisions.rst).

An idle worker has neither numpy nor the code of searches, claims, lists and metrics in memory.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

from placement.http.environ import Environ, StartResponse, WSGIApplication

if TYPE_CHECKING:
    from placement.candidates.cloud.snapshot import Snapshot
    from placement.domain.provider_filter import ProviderFilter
    from placement.extensions.claims.operation import Claimed, ClaimRequest
    from placement.extensions.suspects.operation import SuspectPage
    from placement.extensions.suspects.rules import SuspectMark
    from placement.operations.database_lists import DatabaseLists, ListedProviders, Write
    from placement.search_parts import SearchParts
    from placement.storage.database.engine import Connection

T = TypeVar("T")


class LazySearch:
    """The snapshot, claims, lists and pages of metrics of one service, made by their first use.

    :param make: makes them, and starts nothing. Threads that come first at the same time may all
        call it; then all use what one of them made
    :param asked: answers the first lists
    """

    def __init__(self, make: Callable[[], "SearchParts"], asked: "DatabaseLists") -> None:
        self._make = make
        self._asked = asked
        self._made: dict[str, SearchParts] = {}

    @property
    def parts(self) -> "SearchParts":
        """The parts; they are made if need be."""
        made = self._made.get("parts")
        # without a lock, which a child that is forked meanwhile would find locked for ever
        return self._made.setdefault("parts", self._make()) if made is None else made

    def current(self) -> "Snapshot":
        """Return the cloud as of now; see `LiveSnapshot`."""
        return self.parts.snapshot.current()

    def at_once(self, question: "Callable[[Connection, Snapshot], T]") -> "tuple[Snapshot, T]":
        """Return the cloud and the answer to a question, of one moment; see `LiveSnapshot`."""
        return self.parts.snapshot.at_once(question)

    def look_for_others(self) -> None:
        """Look for writes that the change feed lacks; before the first search nothing is loaded."""
        if self._made:
            self.parts.snapshot.look_for_others()

    @property
    def is_distrusted(self) -> bool:
        """Whether the next search loads everything anew; not if it is the first one."""
        return bool(self._made) and self.parts.snapshot.is_distrusted

    def age(self) -> float | None:
        """Return the seconds since the snapshot was as the database is; None: not loaded yet."""
        return self.parts.snapshot.age() if self._made else None

    def rest(self) -> None:
        """End the audits until the next search; wait for an audit that is under way."""
        if self._made:
            self.parts.snapshot.rest()

    def make(self, claim: "ClaimRequest") -> "dict[str, Claimed]":
        """Make a claim; see `ClaimLines`."""
        return self.parts.claims.make(claim)

    def find(self, wanted: "ProviderFilter", form: Hashable, write: "Write") -> "ListedProviders":
        """Return the providers that pass a filter, as JSON; see `ProviderLists`."""
        if not self._made and not self._asked.is_worth_loading(wanted):
            return self._asked.find(wanted, write)
        return self.parts.lists.find(wanted, form, write)

    def suspected(
        self, kinds: Collection[str], after: "SuspectMark | None", limit: int
    ) -> "SuspectPage":
        """Return suspects; see `Suspects`."""
        return self.parts.suspects.suspected(kinds, after, limit)

    def page(self, path: str) -> WSGIApplication:
        """Return the application that answers with a page of metrics."""

        def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
            return self.parts.pages[path](environ, start_response)

        return answer

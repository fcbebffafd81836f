"""Query strings (rest-api.md 1.8)."""

import re
from collections import Counter
from collections.abc import Collection
from urllib.parse import unquote_to_bytes

from placement.errors import BadQuery, DuplicateKey
from placement.microversions import Version
from placement.schemas.json_schema import SchemaTable, pick

_SEPARATORS = re.compile("[&;]")


def why_no_nul(place: str) -> str:
    """Return what is wrong with a text that has the character NUL."""
    return f"{place} has the character NUL, which no text may have"


class Query:
    """The parameters of a query string, in order; a name may repeat.

    :param text: as WSGI gives it: bytes that the client didn't escape are latin-1 characters

    The constructor raises BadQuery if a part is not UTF-8.
    """

    def __init__(self, text: str) -> None:
        self.pairs: list[tuple[str, str]] = []
        for part in _SEPARATORS.split(text):
            if part:
                name, _, value = part.partition("=")
                self.pairs.append((_decoded(name), _decoded(value)))
        self._last = dict(self.pairs)

    def last(self) -> dict[str, str]:
        """Return each parameter with its last value."""
        return dict(self._last)

    def get(self, name: str) -> str | None:
        """Return the parameter's last value, or None."""
        return self._last.get(name)

    def all(self, name: str) -> list[str]:
        """Return all values of the parameter, in order."""
        return [value for key, value in self.pairs if key == name]

    def refuse_repeated(self, names: Collection[str]) -> None:
        """Raise DuplicateKey if one of these parameters is given more than once."""
        counts = Counter(name for name, _ in self.pairs if name in names)
        for name, count in counts.items():
            if count > 1:
                raise DuplicateKey(f"Query parameter '{name}' may be specified only once.")

    def __contains__(self, name: str) -> bool:
        return name in self._last


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode()
    except UnicodeDecodeError as undecodable:
        raise BadQuery(why=undecodable) from undecodable


def checked_query(text: str, schemas: SchemaTable, version: Version) -> Query:
    """Parse a query string and validate it against the schema of the version. Raises BadQuery."""
    query = Query(text)
    reason = pick(schemas, version).why_not(query.last())
    if reason is not None:
        raise BadQuery(why=reason)
    for name, value in query.pairs:
        # databases disagree on it (see `Call.read`)
        if "\0" in value:
            raise BadQuery(why=why_no_nul(name))
    return query

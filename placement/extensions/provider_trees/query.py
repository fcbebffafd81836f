"""Reads the query of GET /berth/v1/provider_trees (extensions.md 2)."""

import base64
import dataclasses
import functools
import hashlib
from typing import Any

from placement.domain.provider_filter import ProviderFilter
from placement.domain.uuids import normalised
from placement.errors import BadQuery
from placement.extensions.provider_trees import schema as schemas
from placement.handlers.provider_filters import filters_of
from placement.http.query import Query
from placement.microversions import Version
from placement.schemas.json_schema import pick

#: what an answer can show of each provider, in this order; and what it shows by default
OF_PROVIDERS = ("inventories", "traits", "aggregates", "usages", "allocations")
CONSUMERS = "consumers"
FIELDS = (*OF_PROVIDERS, CONSUMERS)
DEFAULT_FIELDS = OF_PROVIDERS[:4]

_SEVERAL = "in:"
#: no cloud has more trees, and every database can compare with the number
_MOST_TREES = 2**31 - 2
#: size of the cache of parsed queries, and the longest query that it takes, in characters
_KEPT, _LONGEST_KEPT = 256, 2048


@dataclasses.dataclass(frozen=True)
class TreesQuery:
    """Which trees are wanted, and what of them.

    :param fields: some of FIELDS
    :param limit: how many trees at most; None: the caller didn't say
    :param after: the uuid of a root: only trees that follow it are wanted
    :param digest: a short text that is the same for queries that mean the same
    """

    wanted: ProviderFilter
    fields: frozenset[str]
    limit: int | None
    after: str | None
    digest: str

    @property
    def named(self) -> list[str]:
        """The uuids of the providers whose trees alone are in the answer; []: any trees may be."""
        wanted = self.wanted
        single = [uuid for uuid in (wanted.uuid, wanted.in_tree) if uuid is not None]
        return single + sorted(wanted.uuids or ())

    @property
    def depends_on_names_alone(self) -> bool:
        """Whether a change of a provider outside of the named trees can't change the answer."""
        others = dataclasses.replace(self.wanted, uuid=None, uuids=None, in_tree=None)
        return bool(self.named) and others == ProviderFilter() and CONSUMERS not in self.fields


def read_query(text: str, version: Version) -> TreesQuery:
    """Parse a query string. Raises BadQuery, DuplicateKey or BadRequest if it is invalid."""
    read = _read_once if len(text) <= _LONGEST_KEPT else _read
    return read(text, version)


def _read(text: str, version: Version) -> TreesQuery:
    query = Query(text)
    uuids = _several_uuids(query)
    _check(query, uuids, version)
    query.refuse_repeated(schemas.GIVEN_ONCE)
    wanted = filters_of(query, version)
    if uuids is not None:
        wanted = dataclasses.replace(wanted, uuid=None, uuids=frozenset(uuids))
    fields = _fields(query)
    limit, after = query.get("limit"), query.get("marker")
    number = None if limit is None else min(int(limit[:18]), _MOST_TREES)
    marker = None if after is None else normalised(after)
    return TreesQuery(wanted, fields, number, marker, digest_of(wanted, fields, number, marker))


_read_once = functools.lru_cache(maxsize=_KEPT)(_read)


def _several_uuids(query: Query) -> list[str] | None:
    value = query.get("uuid")
    if value is None or not value.startswith(_SEVERAL):
        return None
    return value.removeprefix(_SEVERAL).split(",")


def _check(query: Query, uuids: list[str] | None, version: Version) -> None:
    """Raise BadQuery if the query doesn't fit the schema; each of several uuids is one value."""
    schema = pick(schemas.LIST, version)
    values = query.last()
    given = [values] if uuids is None else [values | {"uuid": uuid} for uuid in uuids]
    for candidate in given:
        reason = schema.why_not(candidate)
        if reason is not None:
            raise BadQuery(why=reason)


def _fields(query: Query) -> frozenset[str]:
    values = query.all("fields")
    if not values:
        return frozenset(DEFAULT_FIELDS)
    names = [name.strip() for value in values for name in value.split(",")]
    unknown = [name for name in names if name and name not in FIELDS]
    if unknown:
        raise BadQuery(
            why=f"Expected 'fields' parameter to name some of {','.join(FIELDS)}. Got: {unknown[0]}"
        )
    return frozenset(name for name in names if name)


def digest_of(
    wanted: ProviderFilter, fields: frozenset[str], limit: int | None, after: str | None
) -> str:
    given = {part: _in_order(value) for part, value in wanted.given.items()}
    parts = [given, sorted(fields), limit, after]
    digest = hashlib.blake2b(repr(parts).encode(errors="replace"), digest_size=9).digest()
    return base64.urlsafe_b64encode(digest).decode()


def _in_order(value: object) -> Any:
    """Return a part of a filter so that parts that mean the same are written alike."""
    if isinstance(value, dict):
        return sorted(value.items())
    if isinstance(value, tuple | frozenset):
        return sorted(map(_in_order, value))
    return value

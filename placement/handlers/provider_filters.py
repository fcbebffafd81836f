"""Read the query of GET /resource_providers (rest-api.md 3.1)."""

from placement.domain.provider_filter import ProviderFilter
from placement.errors import BadRequest
from placement.http.call import Call
from placement.http.query import Query, parse_all_traits, parse_member_of, parse_resources
from placement.microversions import Version
from placement.schemas import resource_providers as schemas
from placement.schemas.filters import FORBIDDEN_AGGREGATES, REPEATED_MEMBER_OF

Sets = tuple[frozenset[str], ...]


def read_filters(call: Call) -> ProviderFilter:
    """Parse the query of the call. Raises BadQuery or BadRequest."""
    return filters_of(call.query(schemas.LIST), call.version)


def filters_of(query: Query, version: Version) -> ProviderFilter:
    """Return the filter that a query has beside other parameters. Raises BadQuery or BadRequest.

    :param query: valid for the schema of the version
    """
    member_of, not_member_of = _read_member_of(query, version)
    required, forbidden = parse_all_traits(query.all("required"), version)
    resources = query.get("resources")
    return ProviderFilter(
        name=query.get("name") or None,
        uuid=query.get("uuid"),
        in_tree=query.get("in_tree"),
        required=required,
        forbidden=forbidden,
        member_of=member_of,
        not_member_of=not_member_of,
        resources={} if resources is None else parse_resources(resources),
    )


def _read_member_of(query: Query, version: Version) -> tuple[Sets, frozenset[str]]:
    values = query.all("member_of")
    if len(values) > 1 and version < REPEATED_MEMBER_OF:
        raise BadRequest("Multiple member_of parameters are not supported")
    required: list[frozenset[str]] = []
    forbidden: frozenset[str] = frozenset()
    for value in values:
        is_forbidden, aggregates = parse_member_of(value)
        if is_forbidden and version < FORBIDDEN_AGGREGATES:
            raise BadRequest(
                "Forbidden member_of parameters are not supported in the specified microversion"
            )
        if is_forbidden:
            forbidden |= aggregates
        else:
            required.append(aggregates)
    return tuple(dict.fromkeys(required)), forbidden

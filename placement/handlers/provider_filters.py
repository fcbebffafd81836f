"""Reading the query of GET /resource_providers (rest-api.md 3.1).

The grammar of traits, aggregates and resources is that of allocation candidates, too.
"""

from placement.domain.provider_filter import ProviderFilter
from placement.domain.uuids import is_uuid_like
from placement.errors import BadQuery, BadRequest
from placement.http.call import Call
from placement.http.query import Query
from placement.microversions import Version
from placement.schemas import resource_providers as schemas

FORBIDDEN_TRAITS: Version = (1, 22)
REPEATED_MEMBER_OF: Version = (1, 24)
FORBIDDEN_AGGREGATES: Version = (1, 32)
ANY_TRAITS: Version = (1, 39)

Sets = tuple[frozenset[str], ...]


def read_filters(call: Call) -> ProviderFilter:
    """The filter a request asks for. Raises BadQuery or BadRequest."""
    query = call.query(schemas.LIST)
    member_of, not_member_of = _read_member_of(query, call.version)
    required, forbidden = _read_required(query, call.version)
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


def _read_required(query: Query, version: Version) -> tuple[Sets, frozenset[str]]:
    values = query.all("required")
    if version < ANY_TRAITS:
        # a repeated parameter was never refused, all but the last were lost
        values = values[-1:]
    required: list[frozenset[str]] = []
    forbidden: frozenset[str] = frozenset()
    for value in values:
        more, not_these = parse_traits(value, version)
        required += more
        forbidden |= not_these
    return tuple(required), forbidden


def parse_traits(value: str, version: Version) -> tuple[list[frozenset[str]], frozenset[str]]:
    """One value of `required`: sets of which one trait is needed each, and the forbidden ones."""
    if value.startswith("in:"):
        return [_any_of(value, version)], frozenset()
    forbidding = version >= FORBIDDEN_TRAITS
    form = f"HW_CPU_X86_VMX,{'!' if forbidding else ''}CUSTOM_MAGIC"
    names = [name.strip() for name in value.split(",")]
    if not all(name.lstrip("!") if forbidding else name for name in names):
        raise _bad_required(form, f"an empty trait in: {value}")
    refused = [name for name in names if name.startswith("!")]
    if refused and not forbidding:
        raise _bad_required(form, value)
    required = [frozenset([name]) for name in names if not name.startswith("!")]
    return required, frozenset(name.lstrip("!") for name in refused)


def _any_of(value: str, version: Version) -> frozenset[str]:
    form = "HW_CPU_X86_VMX,CUSTOM_MAGIC"
    if version < ANY_TRAITS:
        raise BadQuery(
            why=f"The format 'in:{form}' only supported since microversion 1.39. Got: {value}"
        )
    names = [name.strip() for name in value.removeprefix("in:").split(",")]
    if any(name.startswith("!") for name in names):
        raise BadQuery(
            why=f"The format 'in:{form}' does not support forbidden traits. Got: {value}"
        )
    if not all(names):
        raise _bad_required(f"in:{form}", f"an empty trait in: {value}")
    return frozenset(names)


def _bad_required(form: str, got: str) -> BadQuery:
    return BadQuery(
        why=f"Expected 'required' parameter value of the form: {form}. Got {got}"
        if got.startswith("an empty")
        else f"Expected 'required' parameter value of the form: {form}. Got: {got}"
    )


def _read_member_of(query: Query, version: Version) -> tuple[Sets, frozenset[str]]:
    values = query.all("member_of")
    if len(values) > 1 and version < REPEATED_MEMBER_OF:
        raise BadRequest("Multiple member_of parameters are not supported")
    required: list[frozenset[str]] = []
    forbidden: frozenset[str] = frozenset()
    for value in values:
        is_forbidden, aggregates = parse_member_of(value, version)
        if is_forbidden:
            forbidden |= aggregates
        else:
            required.append(aggregates)
    return tuple(required), forbidden


def parse_member_of(value: str, version: Version) -> tuple[bool, frozenset[str]]:
    """One value of `member_of`: whether it forbids, and the aggregates it names."""
    forbids = value.startswith("!")
    if forbids and version < FORBIDDEN_AGGREGATES:
        raise BadRequest(
            "Forbidden member_of parameters are not supported in the specified microversion"
        )
    text = value[1:] if forbids else value
    if text.startswith("in:"):
        aggregates = text.removeprefix("in:").split(",")
    elif "," in text:
        raise BadRequest(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword "
            f"using the valid microversion. Got: {value}"
        )
    else:
        aggregates = [text]
    for uuid in aggregates:
        if not is_uuid_like(uuid):
            raise BadQuery(
                why=f"Expected 'member_of' parameter to contain valid UUID(s). Got: {uuid}"
            )
    return forbids, frozenset(aggregates)


def parse_resources(value: str) -> dict[str, int]:
    """The amounts of `resources`, by class; a class that repeats has its last amount."""
    if not value.strip():
        raise _badly_formed("empty string")
    resources = {}
    for element in value.split(","):
        name, colon, amount = element.partition(":")
        if not colon or ":" in amount:
            raise _badly_formed(element)
        resources[name] = _read_amount(name, amount)
    return resources


def _read_amount(name: str, text: str) -> int:
    try:
        amount = int(text)
    except ValueError as no_number:
        raise BadRequest(
            f"Requested resource {name} expected positive integer amount. Got: {text}."
        ) from no_number
    if amount < 1:
        raise BadRequest(f"Requested resource {name} requires amount >= 1. Got: {amount}.")
    return amount


def _badly_formed(got: str) -> BadRequest:
    return BadRequest(
        "Badly formed resources parameter. Expected resources query string parameter in form: "
        f"?resources=VCPU:2,MEMORY_MB:1024. Got: {got}."
    )

"""Query strings (rest-api.md 1.8), and the traits, aggregates and resources in them.

The provider list and the allocation candidates share this grammar (rest-api.md 3.1,
allocation-candidates.md 1.3, 1.4).
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from urllib.parse import unquote_to_bytes

from placement.domain.uuids import is_uuid_like
from placement.errors import BadQuery, BadRequest, DuplicateKey
from placement.microversions import SINCE_ANY_TRAITS, SINCE_FORBIDDEN_TRAITS, Version
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


def parse_traits(value: str, version: Version) -> tuple[list[frozenset[str]], frozenset[str]]:
    """Parse one value of `required` into required sets and forbidden traits.

    A provider needs at least one trait of each set. Raises BadQuery.
    """
    if value.startswith("in:"):
        return [_any_of(value, version)], frozenset()
    forbidding = version >= SINCE_FORBIDDEN_TRAITS
    form = f"HW_CPU_X86_VMX,{'!' if forbidding else ''}CUSTOM_MAGIC"
    names = [name.strip() for name in value.split(",")]
    if not all(name.lstrip("!") for name in names):
        raise _bad_required(form, f"an empty trait in: {value}")
    refused = [name for name in names if name.startswith("!")]
    if refused and not forbidding:
        raise _bad_required(form, value)
    required = [frozenset([name]) for name in names if not name.startswith("!")]
    return required, frozenset(name.lstrip("!") for name in refused)


def parse_all_traits(
    values: Sequence[str], version: Version
) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    """Parse all values of a repeated `required`, each as `parse_traits` does. Raises BadQuery."""
    if version < SINCE_ANY_TRAITS:
        # these versions accept a repeated parameter and use its last value only
        values = values[-1:]
    required: list[frozenset[str]] = []
    forbidden: frozenset[str] = frozenset()
    for value in values:
        more, not_these = parse_traits(value, version)
        required += more
        forbidden |= not_these
    return tuple(dict.fromkeys(required)), forbidden


def _any_of(value: str, version: Version) -> frozenset[str]:
    form = "HW_CPU_X86_VMX,CUSTOM_MAGIC"
    if version < SINCE_ANY_TRAITS:
        raise BadQuery(
            why=f"The format 'in:{form}' only supported since microversion 1.39. Got: {value}"
        )
    names = [name.strip() for name in value.removeprefix("in:").split(",")]
    if not all(names):
        raise _bad_required(f"in:{form}", f"an empty trait in: {value}")
    if any(name.startswith("!") for name in names):
        raise BadQuery(
            why=f"The format 'in:{form}' does not support forbidden traits. Got: {value}"
        )
    return frozenset(names)


def _bad_required(form: str, got: str) -> BadQuery:
    return BadQuery(
        why=f"Expected 'required' parameter value of the form: {form}. Got {got}"
        if got.startswith("an empty")
        else f"Expected 'required' parameter value of the form: {form}. Got: {got}"
    )


def parse_member_of(value: str) -> tuple[bool, frozenset[str]]:
    """Parse one value of `member_of`: return whether it forbids, and its aggregates.

    Raises BadRequest or BadQuery.
    """
    forbids = value.startswith("!")
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
    """Parse `resources` into amounts by class; of a repeated class, the last amount counts.

    Raises BadRequest.
    """
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

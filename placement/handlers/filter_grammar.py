"""Parse traits, aggregates and resources in query strings.

The provider list and the allocation candidates share this grammar (rest-api.md 3.1,
allocation-candidates.md 1.3, 1.4).
"""

from collections.abc import Sequence

from placement.domain.uuids import is_uuid_like
from placement.errors import BadQuery, BadRequest
from placement.microversions import Version
from placement.schemas.filters import ANY_TRAITS, FORBIDDEN_TRAITS


def parse_traits(value: str, version: Version) -> tuple[list[frozenset[str]], frozenset[str]]:
    """Parse one value of `required` into required sets and forbidden traits.

    A provider needs at least one trait of each set. Raises BadQuery.
    """
    if value.startswith("in:"):
        return [_any_of(value, version)], frozenset()
    forbidding = version >= FORBIDDEN_TRAITS
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
    if version < ANY_TRAITS:
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
    if version < ANY_TRAITS:
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

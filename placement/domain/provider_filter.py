"""The filter for lists of providers (rest-api.md 3.1)."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderFilter:
    """A provider must satisfy all parts of the filter; an empty part matches every provider.

    Whoever reads a filter begins with `given`. So a part that a reader doesn't know yet is never
    left out silently.

    :param uuids: uuids of which the provider has one; None: it may have any
    :param in_tree: uuid of any provider of the wanted tree
    :param required: sets of traits; the provider has at least one trait of each
    :param forbidden: the provider has none of these traits
    :param member_of: sets of aggregates; the provider is in at least one of each
    :param not_member_of: the provider is in none of these aggregates
    :param resources: amounts by class that the provider has free capacity for
    """

    name: str | None = None
    uuid: str | None = None
    uuids: frozenset[str] | None = None
    in_tree: str | None = None
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    resources: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        """The parts that aren't empty, by name."""
        parts = ((name, getattr(self, name)) for name in _EMPTY)
        return {name: value for name, value in parts if value != _EMPTY[name]}


_NOTHING = ProviderFilter()
_EMPTY = {part.name: getattr(_NOTHING, part.name) for part in dataclasses.fields(ProviderFilter)}

"""What a list of providers is filtered by (rest-api.md 3.1). All parts are ANDed."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderFilter:
    """Empty parts don't filter.

    :param in_tree: uuid of any provider of the wanted tree
    :param required: sets of traits; the provider has at least one trait of each
    :param forbidden: traits the provider doesn't have
    :param member_of: sets of aggregates; the provider is in at least one of each
    :param not_member_of: aggregates the provider isn't in
    :param resources: amounts by class that the provider can still give
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    resources: dict[str, int] = dataclasses.field(default_factory=dict)

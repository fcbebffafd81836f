"""Who may do what: oslo.policy rules, one file per URL family (rest-api.md 2.2)."""

import itertools

from oslo_policy import policy

from placement.policies import (
    aggregates,
    allocation_candidates,
    allocations,
    inventories,
    reshaper,
    resource_classes,
    resource_providers,
    rules,
    traits,
    usages,
)

_FAMILIES = (
    rules,
    resource_providers,
    resource_classes,
    inventories,
    aggregates,
    usages,
    traits,
    allocations,
    allocation_candidates,
    reshaper,
)


def list_rules() -> list[policy.RuleDefault]:
    """All rules, as the `oslo.policy.policies` entry point wants them."""
    return list(itertools.chain.from_iterable(family.RULES for family in _FAMILIES))

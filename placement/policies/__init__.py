"""oslo.policy rules that say which role may do what, one file per URL family (rest-api.md 2.2)."""

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
    """Return the rules of OpenStack Placement's API; features add theirs."""
    return list(itertools.chain.from_iterable(family.RULES for family in _FAMILIES))

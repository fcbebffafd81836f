"""oslo.policy rules that say which role may do what, one file per URL family (rest-api.md 2.2)."""

import itertools

from oslo_policy import policy

from placement.policies import (
    aggregates,
    allocation_candidates,
    allocations,
    capacity,
    changes,
    claims,
    explain,
    inventories,
    metrics,
    provider_trees,
    reshaper,
    resource_classes,
    resource_providers,
    rules,
    suspects,
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
    provider_trees,
    claims,
    changes,
    explain,
    capacity,
    suspects,
    metrics,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules; this is the entry point in `oslo.policy.policies`."""
    return list(itertools.chain.from_iterable(family.RULES for family in _FAMILIES))

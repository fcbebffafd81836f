"""What filters may say at each version (rest-api.md 3.1, allocation-candidates.md 1)."""

from placement.microversions import SINCE_ANY_TRAITS, Version

REPEATED_MEMBER_OF: Version = (1, 24)
FORBIDDEN_AGGREGATES: Version = (1, 32)
SUBTREES: Version = (1, 36)

#: parameters that may be given several times, and since when
REPEATED: dict[str, Version] = {
    "fields": (1, 0),
    "member_of": REPEATED_MEMBER_OF,
    "same_subtree": SUBTREES,
    "required": SINCE_ANY_TRAITS,
}

#: what parameters of queries mean, for readers of the API's description
MEANINGS: dict[str, str] = {
    "after": "The `position` of the last answer. Without it, the answer has the current position.",
    "associated": "`true`: return only traits that some provider has. `false`: return only traits "
    "that no provider has.",
    "consumer": "Uuid of a consumer whose allocations count as free, as for a move.",
    "consumer_type": "Count only consumers of this type. `all` counts them together, `unknown` "
    "counts those without a type.",
    "fields": "What to return of each provider, separated by commas: `inventories`, `traits`, "
    "`aggregates`, `usages`, `allocations`. `consumers` adds all that their consumers hold.",
    "group_policy": "`isolate`: each group with a suffix gets a provider of its own. `none`: "
    "groups may share a provider.",
    "in_tree": "Uuid of a provider. Only providers of its tree are considered.",
    "kind": "Return only suspects of this kind.",
    "limit": "The maximum number of allocation candidates in the answer.",
    "marker": "Uuid of the root of the last tree that the client has.",
    "member_of": "Uuid of an aggregate to which the provider must belong. `in:` and uuids "
    "separated by commas: any of these aggregates. `!` before it: none of them (since 1.32).",
    "microversion": "Describe only this microversion.",
    "name": "The name of the provider.",
    "project_id": "Id of the project.",
    "provider": "Uuid or name of a provider: say why it doesn't fit.",
    "required": "Traits that the provider must have, separated by commas. `!` before a trait "
    "forbids it (since 1.22). `in:` before the list asks for any of them (since 1.39).",
    "resources": "Amounts by resource class: `VCPU:2,MEMORY_MB:1024`.",
    "root_required": "Traits that the root of the tree must have, separated by commas. `!` before "
    "a trait forbids it.",
    "same_subtree": "Suffixes of groups, separated by commas. The provider of one of these groups "
    "must be above those of the others, or be the same.",
    "user_id": "Id of the user.",
    "uuid": "Uuid of the provider.",
    "wait": "Seconds to wait for a change, at most 30.",
}

#: where a parameter means something else
MEANINGS_AT: dict[tuple[str, str], str] = {
    ("/traits", "name"): "`in:` and names separated by commas, or `startswith:` and a prefix.",
    ("/berth/v1/capacity", "limit"): "Accepted and ignored, so that a query for candidates works.",
    (
        "/berth/v1/allocation_candidates/explain",
        "limit",
    ): "Accepted and ignored, so that a query for candidates works.",
    ("/berth/v1/changes", "limit"): "The maximum number of providers in the answer.",
    ("/berth/v1/provider_trees", "limit"): "The maximum number of trees in the answer.",
    ("/berth/v1/suspects", "limit"): "The maximum number of suspects in the answer: 1 to 10000, "
    "by default 1000.",
    ("/berth/v1/suspects", "marker"): "The `marker` of the last answer: return what comes after "
    "it.",
}

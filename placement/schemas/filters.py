"""What filters may say at each version (rest-api.md 3.1, allocation-candidates.md 1)."""

Version = tuple[int, int]

FORBIDDEN_TRAITS: Version = (1, 22)
REPEATED_MEMBER_OF: Version = (1, 24)
FORBIDDEN_AGGREGATES: Version = (1, 32)
SUBTREES: Version = (1, 36)
ANY_TRAITS: Version = (1, 39)

#: parameters that may be given several times, and since when
REPEATED: dict[str, Version] = {
    "fields": (1, 0),
    "member_of": REPEATED_MEMBER_OF,
    "same_subtree": SUBTREES,
    "required": ANY_TRAITS,
}

#: what parameters of queries mean, for readers of the API's description
MEANINGS: dict[str, str] = {
    "after": "The `position` of the last answer. Without it, the answer has the current position.",
    "associated": "`true`: only traits that some provider has; `false`: only the others.",
    "consumer": "Uuid of a consumer whose allocations count as free, as in a move.",
    "consumer_type": "Only consumers of this type; `all` counts them together, `unknown` those "
    "without a type.",
    "fields": "What to tell of each provider, with commas: `inventories`, `traits`, `aggregates`, "
    "`usages`, `allocations`.",
    "group_policy": "`isolate`: each group with a suffix gets a provider of its own.",
    "in_tree": "Uuid of a provider: only providers of its tree.",
    "kind": "Only suspects of this kind.",
    "limit": "At most so many.",
    "marker": "Uuid of the root of the last tree that the client has.",
    "member_of": "Uuid of an aggregate. `in:` and uuids with commas: any of them. `!` before it: "
    "none of them (since 1.32).",
    "microversion": "Describe this microversion alone.",
    "name": "The name.",
    "project_id": "The project.",
    "provider": "Uuid or name of a provider: say why it doesn't fit.",
    "required": "Traits with commas. `!` before a trait forbids it (since 1.22); `in:` before all "
    "of them asks for any (since 1.39).",
    "resources": "Amounts by resource class: `VCPU:2,MEMORY_MB:1024`.",
    "root_required": "Traits of the root, with commas; `!` before a trait forbids it.",
    "same_subtree": "Suffixes of groups with commas: one of their providers is above the others.",
    "user_id": "The user.",
    "uuid": "The uuid.",
    "wait": "Seconds to wait for a change, at most 30.",
}

#: where a parameter means something else
MEANINGS_AT: dict[tuple[str, str], str] = {
    ("/traits", "name"): "`in:` and names with commas, or `startswith:` and a prefix.",
    ("/berth/v1/suspects", "limit"): "At most so many; 1000 if nothing is said, never more than "
    "10000.",
    ("/berth/v1/suspects", "marker"): "The `marker` of the last answer: only what comes after it.",
}

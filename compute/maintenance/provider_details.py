"""Providers with all that belongs to them, as commands show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import UUID

import os_traits

from compute import exceptions
from compute.provider_tree import ProviderData, ProviderTree
from compute.provider_tree.allocation_records import Amounts
from compute.provider_tree.inventory_record import capacity
from compute.report import SchedulerReportClient
from compute.report.trees.whole_trees import DETAILS, NAMES_OF_REQUEST, Row
from compute.report.wire.context import RequestContext


@dataclass(frozen=True)
class ProviderDetails:
    """A provider, what is used of it, and by whom.

    `used` counts all consumers; `holders` is consumer → class → amount where it was requested.
    `generation` is None for a provider that placement doesn't have yet.
    """

    uuid: str
    name: str
    parent_uuid: str | None
    generation: int | None
    inventories: Mapping[str, Mapping[str, Any]]
    traits: list[str]
    aggregates: list[str]
    used: Amounts
    holders: Mapping[str, Amounts] = field(default_factory=dict)

    def capacity(self, resource_class: str) -> int:
        """Return how much of the class may be used in all; 0 of a class that is missing."""
        return capacity(self.inventories.get(resource_class))


def details_of(
    tree: ProviderTree, used: Mapping[str, Amounts], names: Iterable[str] | None = None
) -> list[ProviderDetails]:
    """Return details of a tree's providers, parents first.

    `used` is provider → class → amount; `names` limits them to these uuids.
    """
    uuids = tree.get_provider_uuids() if names is None else names
    return [_details(tree.data(uuid), used.get(uuid, {})) for uuid in uuids]


def _details(data: ProviderData, used: Amounts) -> ProviderDetails:
    return ProviderDetails(
        uuid=data.uuid,
        name=data.name,
        parent_uuid=data.parent_uuid,
        generation=data.generation,
        inventories=data.inventory,
        traits=sorted(data.traits),
        aggregates=sorted(data.aggregates),
        used={name: amount for name, amount in used.items() if amount},
    )


def usages_in_tree(
    client: SchedulerReportClient, context: RequestContext, root: str, uuids: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Return provider → class → amount that is used; most of the providers are in the root's tree.

    Raises ResourceProviderRetrievalFailed if placement refuses.
    """
    rows = client.whole_trees.of(context, root, "usages") or ()
    whole = {row["uuid"]: row["usages"] for row in rows}
    return {
        uuid: whole[uuid]
        if uuid in whole
        else client.get_usages_for_resource_provider(context, uuid)
        for uuid in uuids
    }


def find_roots(
    client: SchedulerReportClient, context: RequestContext, name_or_uuid: str | None = None
) -> list[str]:
    """Return the uuids of the roots of all trees, or of the tree that a provider is part of.

    They are sorted by the roots' names. Raises ResourceProviderNotFound if there is no such
    provider, ResourceProviderRetrievalFailed if placement refuses, and ClientException if it is
    unreachable.
    """
    if name_or_uuid is None:
        rows = all_providers(client, context)
        roots = [row for row in rows if row["uuid"] == row["root_provider_uuid"]]
        return [row["uuid"] for row in sorted(roots, key=lambda row: row["name"])]
    queries = [f"?name={quote(name_or_uuid, safe='')}"]
    if _is_uuid(name_or_uuid):
        queries.insert(0, f"?uuid={name_or_uuid}")
    for query in queries:
        for row in all_providers(client, context, query):
            return [row["root_provider_uuid"]]
    raise exceptions.ResourceProviderNotFound(name_or_uuid=name_or_uuid)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def all_providers(
    client: SchedulerReportClient, context: RequestContext, query: str = "", version: str = "1.14"
) -> list[dict[str, Any]]:
    """Return the rows of `GET /resource_providers`.

    Raises ResourceProviderRetrievalFailed if placement refuses.
    """
    response = client.get(
        f"/resource_providers{query}", version=version, global_request_id=context.global_id
    )
    if response.status_code != 200:
        raise exceptions.ResourceProviderRetrievalFailed(
            f"Failed to list resource providers: {response.text}"
        )
    return response.json()["resource_providers"]


def read_tree(
    client: SchedulerReportClient, context: RequestContext, root: str
) -> list[ProviderDetails]:
    """Read the whole tree of a root from placement, parents first, children by name.

    Raises ResourceProviderNotFound if there is no such root, ResourceProviderRetrievalFailed if
    placement refuses, and ClientException if it is unreachable.
    """
    whole = client.whole_trees.of(context, root, DETAILS)
    rows = client.get_providers_in_tree(context, root) if whole is None else whole
    if not rows:
        raise exceptions.ResourceProviderNotFound(name_or_uuid=root)
    ordered = _by_name(rows)
    if whole is not None:
        return [_shown(row) for row in ordered]
    return [_read_provider(client, context, row) for row in ordered]


def read_trees(
    client: SchedulerReportClient, context: RequestContext, roots: Sequence[str]
) -> Iterator[list[ProviderDetails]]:
    """Yield the trees of several roots, in this order, each as `read_tree` returns it.

    Trees that are gone by then are left out. Where placement offers it, many trees are read in one
    request.

    Raises what `read_tree` raises, except for ResourceProviderNotFound.
    """
    for start in range(0, len(roots), NAMES_OF_REQUEST):
        some = roots[start : start + NAMES_OF_REQUEST]
        whole = client.whole_trees.of_each(context, some, DETAILS)
        if whole is None:
            yield from _read_each(client, context, some)
            continue
        by_root = {rows[0]["root_provider_uuid"]: rows for rows in whole}
        for root in some:
            if root in by_root:
                yield [_shown(row) for row in _by_name(by_root.pop(root))]


def read_providers(
    client: SchedulerReportClient, context: RequestContext, rows: Sequence[Row]
) -> Iterator[ProviderDetails]:
    """Yield the details of some providers, given by their rows; those that are gone are left out.

    Raises what `read_tree` raises, except for ResourceProviderNotFound.
    """
    for start in range(0, len(rows), NAMES_OF_REQUEST):
        some = rows[start : start + NAMES_OF_REQUEST]
        whole = client.whole_trees.of_each(context, [row["uuid"] for row in some], DETAILS)
        if whole is not None:
            known = {row["uuid"]: row for tree in whole for row in tree}
            yield from (_shown(known[row["uuid"]]) for row in some if row["uuid"] in known)
            continue
        for row in some:
            found = read_provider(client, context, row["uuid"])
            if found is not None:
                yield found


def read_provider(
    client: SchedulerReportClient, context: RequestContext, uuid: str
) -> ProviderDetails | None:
    """Read one provider alone; None if it is gone.

    Its generation is read first. So if the provider changes while the rest is read, a later write
    at that generation conflicts. Raises what `read_tree` raises, except for
    ResourceProviderNotFound.
    """
    rows = all_providers(client, context, f"?uuid={uuid}")
    if not rows:
        return None
    try:
        return _read_provider(client, context, rows[0])
    except exceptions.NovaException:
        if all_providers(client, context, f"?uuid={uuid}"):
            raise
        return None


def _read_each(
    client: SchedulerReportClient, context: RequestContext, roots: Sequence[str]
) -> Iterator[list[ProviderDetails]]:
    for root in roots:
        try:
            providers = read_tree(client, context, root)
        except exceptions.ResourceProviderNotFound:
            continue
        yield providers


def _by_name(rows: Iterable[Row]) -> list[Row]:
    """Return the providers of a tree, parents first, children by name."""
    children: dict[str | None, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["name"]):
        children.setdefault(row["parent_provider_uuid"], []).append(row)
    ordered: list[dict[str, Any]] = []
    waiting = list(reversed(children.get(None, [])))
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting += reversed(children.get(row["uuid"], []))
    return ordered


def read_sharing(
    client: SchedulerReportClient, context: RequestContext, *tree: ProviderDetails
) -> list[ProviderDetails]:
    """Read the providers that share with a tree through aggregates, sorted by name.

    :param tree: the root first, and the others of which the aggregates count

    Raises what `read_tree` raises.
    """
    aggregates = sorted({aggregate for one in tree for aggregate in one.aggregates})
    if not aggregates:
        return []
    root = tree[0].uuid
    whole = client.whole_trees.sharing(context, aggregates, DETAILS)
    if whole is not None:
        found = [_shown(row) for row in whole if row["root_provider_uuid"] != root]
        return sorted(found, key=lambda one: one.name)
    rows = all_providers(
        client,
        context,
        f"?member_of=in:{','.join(aggregates)}&required={os_traits.MISC_SHARES_VIA_AGGREGATE}",
        version="1.18",
    )
    others = [row for row in rows if row["root_provider_uuid"] != root]
    return [
        _read_provider(client, context, row) for row in sorted(others, key=lambda row: row["name"])
    ]


def _read_provider(
    client: SchedulerReportClient, context: RequestContext, row: Mapping[str, Any]
) -> ProviderDetails:
    uuid = row["uuid"]
    found = {
        "allocations": client.get_allocations_for_resource_provider(context, uuid).allocations,
        "inventories": _get(client, context, uuid, "inventories", "1.0")["inventories"],
        "traits": _get(client, context, uuid, "traits", "1.6")["traits"],
        "aggregates": _get(client, context, uuid, "aggregates", "1.1")["aggregates"],
    }
    return _shown({**row, **found})


def _shown(row: Mapping[str, Any]) -> ProviderDetails:
    """Return the details of a provider with all that belongs to it."""
    holders = row["allocations"]
    used: Counter[str] = Counter()
    for held in holders.values():
        used.update(held["resources"])
    return ProviderDetails(
        uuid=row["uuid"],
        name=row["name"],
        parent_uuid=row["parent_provider_uuid"],
        generation=row["generation"],
        inventories=row["inventories"],
        traits=sorted(row["traits"]),
        aggregates=sorted(row["aggregates"]),
        used=dict(used),
        holders={consumer: held["resources"] for consumer, held in sorted(holders.items())},
    )


def _get(
    client: SchedulerReportClient, context: RequestContext, uuid: str, what: str, version: str
) -> Any:
    response = client.get(
        f"/resource_providers/{uuid}/{what}", version=version, global_request_id=context.global_id
    )
    if response.status_code != 200:
        raise exceptions.ResourceProviderRetrievalFailed(
            f"Failed to get {what} of resource provider {uuid}: {response.text}"
        )
    return response.json()

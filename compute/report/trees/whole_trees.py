"""Reading whole trees in one request, where placement offers it (extensions.md 2).

The methods return None where it doesn't: then the caller reads provider by provider.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any
from urllib.parse import quote

import os_traits
from oslo_config import cfg

from compute import exceptions
from compute.provider_tree.allocation_records import Allocations
from compute.report.wire.context import Context
from compute.report.wire.extensions import Extensions
from compute.report.wire.failures import Refusal

OFFER = "provider_trees"
QUERY_OFFER = "allocations.query"
PROPERTIES = "inventories,traits,aggregates"
DETAILS = f"{PROPERTIES},allocations"
HOLDERS = "allocations,consumers"

#: how many providers one request names, so that its first line stays well below 8 kB
NAMES_OF_REQUEST = 100

#: a provider as the answer shows it
Row = dict[str, Any]


class WholeTrees:
    """Requests for whole trees.

    All methods raise ResourceProviderRetrievalFailed, and ClientException if placement is
    unreachable.
    """

    def __init__(self, extensions: Extensions, conf: cfg.ConfigOpts) -> None:
        self._extensions = extensions
        self._conf = conf

    def offered(self, context: Context) -> bool:
        """Say whether placement tells and takes whole trees; ask it if that isn't known."""
        return self._extensions.has(context, OFFER)

    def of(self, context: Context, uuid: str, fields: str = PROPERTIES) -> list[Row] | None:
        """Return the providers of the tree that `uuid` is part of, parents first.

        The list is empty if placement has no such provider.
        """
        answer = self._read(context, f"in_tree={quote(uuid, safe='')}", fields, uuid)
        return None if answer is None else list(_providers(answer["trees"]))

    def of_each(
        self, context: Context, uuids: Collection[str], fields: str = PROPERTIES
    ) -> list[list[Row]] | None:
        """Return the trees that these providers are part of, each once, parents first.

        There is one request for each NAMES_OF_REQUEST providers. Those that don't exist are left
        out.
        """
        wanted, found = list(uuids), dict[str, list[Row]]()
        for start in range(0, len(wanted), NAMES_OF_REQUEST):
            part = [quote(uuid, safe="") for uuid in wanted[start : start + NAMES_OF_REQUEST]]
            answer = self._read(context, f"uuid=in:{','.join(part)}", fields, part[0])
            if answer is None:
                return None
            found |= {tree["root"]: tree["providers"] for tree in answer["trees"]}
        return list(found.values())

    def sharing(
        self, context: Context, aggregates: Iterable[str], fields: str = PROPERTIES
    ) -> list[Row] | None:
        """Return the providers that share with any of the aggregates, each once."""
        wanted = sorted(aggregates)
        size = self._conf.compute.sharing_providers_max_uuids_per_request
        found: dict[str, Row] = {}
        for start in range(0, len(wanted), size):
            part = wanted[start : start + size]
            query = f"member_of=in:{','.join(part)}&required={os_traits.MISC_SHARES_VIA_AGGREGATE}"
            answer = self._read(context, query, fields, part[0])
            if answer is None:
                return None
            found |= {row["uuid"]: row for row in _providers(answer["trees"]) if shares(row, part)}
        return list(found.values())

    def allocations_of(self, context: Context, uuid: str) -> Allocations | None:
        """Return all that the consumers of the tree of `uuid` hold, here and elsewhere.

        The allocations of a provider of this tree have the provider's `generation`, too.
        """
        answer = self._read(context, f"in_tree={quote(uuid, safe='')}", HOLDERS, uuid)
        if answer is None:
            return None
        generations = {row["uuid"]: row["generation"] for row in _providers(answer["trees"])}
        return {
            consumer: _as_single_answer(held, generations)
            for consumer, held in sorted(answer["consumers"].items())
            if held["allocations"]
        }

    def held_of_each(
        self, context: Context, uuids: Collection[str]
    ) -> dict[str, dict[str, object]] | None:
        """Return provider → what is allocated against it, for at most 10,000 providers.

        `{provider: {consumer: {"resources": {class: amount}}}}`; providers that don't exist are
        left out. Raises ResourceProviderAllocationRetrievalFailed if placement refuses.
        """
        body = {"resource_providers": list(uuids)}
        response = self._extensions.query(context, QUERY_OFFER, "/allocations/query", body)
        if response is None:
            return None
        if response.status_code != 200:
            raise exceptions.ResourceProviderAllocationRetrievalFailed(
                rp_uuid=", ".join(list(uuids)[:1]), error=response.text
            ) from Refusal(response)
        found: dict[str, Any] = response.json()["providers"]
        return {uuid: shown["allocations"] for uuid, shown in found.items()}

    def allocations_of_each(
        self, context: Context, consumers: Collection[str]
    ) -> Allocations | None:
        """Return all that each of at most 10,000 consumers holds, as `GET /allocations/{uuid}`.

        Raises ConsumerAllocationRetrievalFailed if placement refuses.
        """
        found = self.consumers_of_each(context, consumers)
        if found is None:
            return None
        return {uuid: _as_single_answer(held, {}) for uuid, held in found.items()}

    def consumers_of_each(
        self, context: Context, consumers: Collection[str]
    ) -> dict[str, dict[str, object]] | None:
        """Return the same as `GET /allocations/{uuid}` at 1.38: with the consumer's type.

        Raises ConsumerAllocationRetrievalFailed if placement refuses.
        """
        body = {"consumers": list(consumers)}
        response = self._extensions.query(context, QUERY_OFFER, "/allocations/query", body)
        if response is None:
            return None
        if response.status_code != 200:
            raise exceptions.ConsumerAllocationRetrievalFailed(
                consumer_uuid=", ".join(list(consumers)[:1]), error=response.text
            ) from Refusal(response)
        found = response.json()["consumers"]
        return {uuid: found.get(uuid) or {"allocations": {}} for uuid in consumers}

    def holdings_in(self, context: Context, uuid: str) -> Allocations | None:
        """Return the allocations of the tree of `uuid`, without projects and generations."""
        rows = self.of(context, uuid, "allocations")
        if rows is None:
            return None
        found: Allocations = {}
        for row in rows:
            for consumer, part in row["allocations"].items():
                found.setdefault(consumer, {"allocations": {}})["allocations"][row["uuid"]] = part
        return found

    def _read(
        self, context: Context, query: str, fields: str, uuid: str | None
    ) -> dict[str, Any] | None:
        """Return the answer, pages joined; None if placement doesn't offer it.

        :param uuid: a provider that the query names, for messages; None: it names none
        """
        whole: dict[str, Any] = {"trees": [], "consumers": {}}
        marker = ""
        while True:
            path = f"/provider_trees?{query}&fields={fields}{marker}"
            response = self._extensions.get(context, OFFER, path)
            if response is None:
                return None
            if response.status_code != 200:
                failed = exceptions.ResourceProviderRetrievalFailed
                if uuid is None:
                    error = failed(f"Failed to list resource providers: {response.text}")
                else:
                    error = failed(uuid=uuid)
                raise error from Refusal(response)
            page = response.json()
            whole["trees"] += page["trees"]
            whole["consumers"] |= page.get("consumers", {})
            if not page.get("marker"):
                return whole
            marker = f"&marker={page['marker']}"


def shares(row: Row, aggregates: Collection[str]) -> bool:
    """Say whether the provider shares with one of the aggregates."""
    return os_traits.MISC_SHARES_VIA_AGGREGATE in row["traits"] and not set(
        row["aggregates"]
    ).isdisjoint(aggregates)


def _providers(trees: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for tree in trees:
        yield from tree["providers"]


def _as_single_answer(held: dict[str, Any], generations: dict[str, int]) -> dict[str, object]:
    """Return what a consumer holds in the form of `GET /allocations/{uuid}` at 1.28."""
    body = {name: value for name, value in held.items() if name != "consumer_type"}
    body["allocations"] = {
        provider: part | ({"generation": generations[provider]} if provider in generations else {})
        for provider, part in held["allocations"].items()
    }
    return body

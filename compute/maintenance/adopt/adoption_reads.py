"""Both trees of a host: that of its earlier identity, and that of its new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from compute import exceptions
from compute.maintenance.provider_details import ProviderDetails, all_providers, read_tree
from compute.provider_tree.names import ADOPTING, child_name, child_suffix
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext


class AdoptionRefused(Exception):
    """The identity can't be moved; the text says why. Nothing was changed by this."""


@dataclass(frozen=True)
class Identity:
    """Which provider is to get which identity.

    :param name: the present name of the host's earlier root
    :param uuid: the uuid of its new root
    :param wanted: the name of its new root: the same, or another
    """

    name: str
    uuid: str
    wanted: str

    @property
    def mark(self) -> str:
        """The name that the earlier root got from runs of versions before this one.

        By this name, a run finds the root that such a run left when it was interrupted.
        """
        return f"replaced-by-{self.uuid}"

    def child_name(self, name: str) -> str:
        """Return the name that a child of this name gets; it may have it already."""
        if self.wanted.startswith(f"{self.name}_") and child_suffix(self.wanted, name) is not None:
            return name
        suffix = child_suffix(self.name, name)
        return name if suffix is None else child_name(self.wanted, suffix)


@dataclass(frozen=True)
class Situation:
    """The trees of both identities, parents first.

    `source`, the earlier one, is None if everything was moved. `target`, the new one, is empty if
    it doesn't exist yet.
    """

    source: list[ProviderDetails] | None
    target: list[ProviderDetails]

    def pairs(self, identity: Identity) -> dict[str, ProviderDetails | None]:
        """Return source provider → the target provider that takes over what it has, parents first.

        The two roots are a pair; the target is None if it has to be created. A child and the target
        that has its new name are a pair, too. All other children get a new parent and aren't in the
        result.
        """
        if self.source is None:
            return {}
        root, *below = self.source
        names = {one.name: one for one in self.target[1:]}
        found: dict[str, ProviderDetails | None] = {
            root.uuid: self.target[0] if self.target else None
        }
        for child in below:
            if twin := names.get(identity.child_name(child.name)):
                found[child.uuid] = twin
        return found


def read_situation(
    client: SchedulerReportClient, context: RequestContext, identity: Identity
) -> Situation:
    """Read both trees.

    Raises AdoptionRefused if they can't become one, ResourceProviderNotFound if neither exists,
    ResourceProviderRetrievalFailed if placement refuses, and ClientException if it is unreachable.
    """
    target = _row(client, context, f"?uuid={identity.uuid}")
    marked = _row(client, context, f"?name={quote(identity.mark, safe='')}")
    named = _row(client, context, f"?name={quote(identity.name, safe='')}")
    if named is not None and named["uuid"] == identity.uuid:
        # the provider of this name is the new root already
        named = None
    if marked is not None and named is not None:
        raise AdoptionRefused(
            f"{identity.name} is the name of provider {named['uuid']} by now. That is neither "
            f"{identity.uuid} nor {marked['uuid']}, which had it before: rename or remove it."
        )
    source = marked or named
    if source is None and target is None:
        raise exceptions.ResourceProviderNotFound(name_or_uuid=identity.name)
    if identity.wanted != identity.name:
        taken = _row(client, context, f"?name={quote(identity.wanted, safe='')}")
        theirs = {row["uuid"] for row in (source, target) if row is not None}
        if taken is not None and taken["uuid"] not in theirs:
            raise AdoptionRefused(f"{identity.wanted} is the name of provider {taken['uuid']}.")
    for row, known in ((source, identity.name), (target, identity.uuid)):
        if row is not None and row["parent_provider_uuid"] is not None:
            raise AdoptionRefused(
                f"{known} is a child in the tree of {row['root_provider_uuid']}, no host"
            )
    earlier = None if target is None else _adopted(target["name"])
    if earlier is not None and named is not None and named["uuid"] != earlier:
        raise AdoptionRefused(
            f"{identity.name} is the name of provider {named['uuid']} by now. That is not "
            f"{earlier}, of which {identity.uuid} has got all: rename or remove it."
        )
    ours = (identity.wanted, identity.name)
    if target is not None and earlier is None and target["name"] not in ours:
        raise AdoptionRefused(
            f"{identity.uuid} is provider {target['name']}, not {identity.wanted}."
        )
    return Situation(
        None if source is None else read_tree(client, context, source["uuid"]),
        [] if target is None else read_tree(client, context, identity.uuid),
    )


def provisional(earlier: str) -> str:
    """Return the name of the new root until it has all that the root of this uuid had."""
    return f"{ADOPTING}{earlier}"


def _adopted(name: str) -> str | None:
    """Return the uuid of the root of which a root of this provisional name gets all."""
    return name.removeprefix(ADOPTING) if name.startswith(ADOPTING) else None


def _row(
    client: SchedulerReportClient, context: RequestContext, query: str
) -> dict[str, Any] | None:
    return next(iter(all_providers(client, context, query)), None)

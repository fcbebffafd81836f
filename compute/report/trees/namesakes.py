"""Other providers that have a host's name, or the same name with or without its domain.

A host that was installed anew has a new uuid, and its former provider has its name: placement
refuses the new provider. A host that is called `compute1.example` now and was called `compute1`
before is refused by nothing: placement then has the host twice.
"""

from __future__ import annotations

import logging
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from keystoneauth1.exceptions import ClientException

from compute.report.wire.context import Context
from compute.report.wire.transport import Transport, global_id

LOG = logging.getLogger(__name__)

COMMAND = "nova-manage placement adopt_provider"


class Namesakes:
    """Describes such providers in messages.

    What can't be read is left out of the message, and nothing is raised for it.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._warned: set[tuple[str, str]] = set()

    def described(self, context: Context, uuid: str, name: str) -> str:
        """Return sentences on the provider that has the name instead of `uuid`, or nothing."""
        found = self._named(context, name)
        if found is None or found["uuid"] == uuid:
            return ""
        return (
            f"The name belongs to provider {found['uuid']}, which has "
            f"{self._belongings(context, found)}. {_cure(found, uuid, name)}"
        )

    def warn_of_alike(self, context: Context, uuid: str, name: str) -> None:
        """Warn once of a root that has the host's name with, or without, its domain."""
        for other in alike(name):
            if (uuid, other) in self._warned:
                continue
            found = self._named(context, other)
            if found is None or found["parent_provider_uuid"] is not None:
                continue
            self._warned.add((uuid, other))
            LOG.warning(
                "%s (%s) is new to placement, but there is %s (%s) with %s. Is that the same host "
                "by its %s name? If so: %s --name %s --uuid %s --as %s",
                name,
                uuid,
                other,
                found["uuid"],
                self._belongings(context, found),
                "full" if len(other) > len(name) else "short",
                COMMAND,
                shlex.quote(other),
                uuid,
                shlex.quote(name),
            )

    def _named(self, context: Context, name: str) -> dict[str, object] | None:
        query = f"/resource_providers?name={quote(name, safe='')}"
        rows = self._read(context, query, "1.14", "resource_providers")
        return next(iter(rows), None)

    def _belongings(self, context: Context, row: dict[str, Any]) -> str:
        path = f"/resource_providers/{row['uuid']}"
        inventories = self._read(context, f"{path}/inventories", "1.0", "inventories")
        tree = self._read(
            context, f"/resource_providers?in_tree={row['uuid']}", "1.14", "resource_providers"
        )
        below = [one["uuid"] for one in tree if _is_below(one, row["uuid"], tree)]
        consumers = {
            consumer
            for one in (row["uuid"], *below)
            for consumer in self._read(
                context, f"/resource_providers/{one}/allocations", "1.0", "allocations"
            )
        }
        return ", ".join(
            (
                _count(len(inventories), "inventory", "inventories"),
                _count(len(below), "child", "children"),
                f"allocations of {_count(len(consumers), 'consumer', 'consumers')}",
            )
        )

    def _read(self, context: Context, path: str, version: str, what: str) -> Any:
        try:
            response = self._transport.get(
                path, version=version, global_request_id=global_id(context)
            )
        except ClientException as error:
            LOG.debug("%s can't be read: %s", path, error)
            return ()
        return response.json()[what] if response.status_code == 200 else ()


def alike(name: str, of_machine: Callable[[], Iterator[str]] | None = None) -> list[str]:
    """Return the other names that a host of this name may have: short, or with its domain.

    :param of_machine: yields the names of this machine; None: the system's
    """
    short, dot, _ = name.partition(".")
    if dot:
        return [short] if short else []
    found = (_names_of_machine if of_machine is None else of_machine)()
    return list(dict.fromkeys(other for other in found if other.startswith(f"{name}.")))


def _names_of_machine() -> Iterator[str]:
    # The full name may have to be looked up, which takes time: only for a node that is this machine
    own = socket.gethostname()
    yield own
    if "." not in own:
        yield socket.getfqdn()


def _is_below(row: Mapping[str, object], uuid: str, tree: Sequence[Mapping[str, object]]) -> bool:
    parents = {one["uuid"]: one["parent_provider_uuid"] for one in tree}
    above = row["parent_provider_uuid"]
    while above is not None and above != uuid:
        above = parents.get(above)
    return above == uuid


def _cure(found: Mapping[str, object], uuid: str, name: str) -> str:
    if found["parent_provider_uuid"] is not None:
        return f"It is no host, but part of the tree of {found['root_provider_uuid']}."
    return (
        "If it is this host under an earlier uuid, and no other host is called so: "
        f"{COMMAND} --name {shlex.quote(name)} --uuid {uuid} "
        "(with --dry-run first)"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number or 'no'} {one if number == 1 else many}"

"""What a consumer asks for elsewhere: what its flavor is translated to, and what else it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import os_traits

from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.requests.guest_request import amounts_of
from compute.requests.reading.refusal import Refused
from compute.requests.settings import Settings
from compute.requests.translation import request_of
from compute.shares.as_held import as_held

#: provider uuid → class → amount
Amounts = Mapping[str, Mapping[str, int]]

_PROCESSORS = frozenset({"VCPU", "PCPU"})


class GuestQueries:
    """Knows the guests of a cell."""

    def __init__(self, cell: CellDatabase, settings: Settings) -> None:
        self._cell = cell
        self._settings = settings

    def of(
        self, consumer: str, own: Amounts, root: str, shared: Mapping[str, int]
    ) -> tuple[str, ...]:
        """Return the queries of GET /allocation_candidates; any answer to any of them will do.

        A recorded instance asks for what its flavor is translated to, as the scheduler will when it
        moves, and for what it holds of other classes: devices, bandwidth. Other consumers ask for
        what they hold.

        :param own: what the consumer holds of the tree of `root`
        :param shared: class → amount of providers that share with it
        """
        instance = self._cell.instances.by_uuid(consumer)
        if instance is not None and instance.task_state is None:
            try:
                return self._translated(instance, own, root, shared)
            except Refused:
                pass
        return (_as_held(own, root, shared).to_querystring(),)

    def _translated(
        self, instance: Instance, own: Amounts, root: str, shared: Mapping[str, int]
    ) -> tuple[str, ...]:
        found = request_of(instance.flavor, None, (), self._settings, instance.booted_from_volume)
        requests = [as_held(found.request, instance.flavor, own)]
        if found.fallback is not None:
            requests.append(found.fallback)
        return tuple(_with_others(one, own, root, shared).to_querystring() for one in requests)


def _with_others(
    request: ResourceRequest, own: Amounts, root: str, shared: Mapping[str, int]
) -> ResourceRequest:
    """Return the request with what is held of classes that it doesn't ask for."""
    asked = set(amounts_of(request))
    if asked & _PROCESSORS:
        asked |= _PROCESSORS
    more = _as_held(
        {uuid: _without(part, asked) for uuid, part in own.items()}, root, _without(shared, asked)
    )
    main = request.groups.get("", RequestGroup())
    together = more.groups.get("", RequestGroup())
    main = replace(main, resources={**main.resources, **together.resources})
    held = {f"_held{suffix}": group for suffix, group in more.groups.items() if suffix}
    groups = {**request.groups, **({"": main} if main.parameters("") else {}), **held}
    several = sum(1 for suffix in groups if suffix) > 1
    return replace(
        request,
        groups=groups,
        group_policy=request.group_policy or ("none" if several else None),
    )


def _without(part: Mapping[str, int], classes: set[str]) -> dict[str, int]:
    return {name: amount for name, amount in part.items() if name not in classes}


def _as_held(own: Amounts, root: str, shared: Mapping[str, int]) -> ResourceRequest:
    """Return the request for what a consumer holds of a tree.

    What it holds of the root and of `shared` may come from anywhere in the new tree; what it holds
    of a child comes from one provider there. Hosts whose service is disabled take nothing new.
    """
    together = dict(own.get(root, {}))
    for name, amount in shared.items():
        together[name] = together.get(name, 0) + amount
    groups = {"": RequestGroup(together)} if together else {}
    children = sorted(uuid for uuid, part in own.items() if uuid != root and part)
    groups |= {f"_{number}": RequestGroup(own[uuid]) for number, uuid in enumerate(children, 1)}
    return ResourceRequest(
        groups,
        group_policy="none" if len(children) > 1 else None,
        root_forbidden=frozenset([os_traits.COMPUTE_STATUS_DISABLED]),
    )

"""What a consumer asks for elsewhere: what its flavor is translated to, and what else it holds."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import os_traits

from compute.maintenance.moving.askable import is_askable
from compute.provider_tree.allocation_records import Amounts, ProviderAmounts
from compute.records.instance import Instance
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.requests.as_held import as_held
from compute.requests.guest_request import amounts_of
from compute.requests.reading.refusal import Refused
from compute.requests.settings import Settings
from compute.requests.translation import request_of

_PROCESSORS = frozenset({"VCPU", "PCPU"})


@dataclass(frozen=True)
class HeldShare:
    """What a consumer holds.

    :param root: uuid of the root of the tree that it holds it of
    :param own: what it holds of the providers of the tree
    :param shared: class → amount of providers that share with it
    """

    root: str
    own: ProviderAmounts
    shared: Amounts = field(default_factory=dict)


class GuestQueries:
    """Says what guests ask for.

    :param names: the resource classes and traits that exist
    """

    def __init__(self, settings: Settings, names: AbstractSet[str]) -> None:
        self._settings = settings
        self._names = names

    def of(self, instance: Instance, held: HeldShare) -> tuple[ResourceRequest, ...]:
        """Return the requests of an instance that moves; any answer to any of them will do.

        It asks for what its flavor is translated to, as nova's scheduler will, and for what it
        holds of other classes: devices, bandwidth. There is no request if that isn't certain: nova
        refuses the flavor without its image, placement refuses the request, or somebody works on
        the instance, whose flavor may be another one soon.
        """
        if instance.task_state is not None:
            return ()
        try:
            found = request_of(
                instance.flavor, None, (), self._settings, instance.booted_from_volume
            )
        except Refused:
            return ()
        requests = [as_held(found.request, instance.flavor, held.own)]
        if found.fallback is not None:
            requests.append(found.fallback)
        whole = tuple(_with_others(one, held) for one in requests)
        return whole if all(is_askable(one, self._names) for one in whole) else ()


def as_it_is(held: HeldShare) -> ResourceRequest:
    """Return the request for what a consumer holds.

    What it holds of the root and of `shared` may come from anywhere in the new tree; what it holds
    of a child comes from one provider there. Hosts whose service is disabled take nothing new.
    """
    own, root = held.own, held.root
    together = dict(own.get(root, {}))
    for name, amount in held.shared.items():
        together[name] = together.get(name, 0) + amount
    groups = {"": RequestGroup(together)} if together else {}
    children = sorted(uuid for uuid, part in own.items() if uuid != root and part)
    groups |= {f"_{number}": RequestGroup(own[uuid]) for number, uuid in enumerate(children, 1)}
    return ResourceRequest(
        groups,
        group_policy="none" if len(children) > 1 else None,
        root_forbidden=frozenset([os_traits.COMPUTE_STATUS_DISABLED]),
    )


def _with_others(request: ResourceRequest, held: HeldShare) -> ResourceRequest:
    """Return the request with what is held of classes that it doesn't ask for."""
    asked = set(amounts_of(request))
    if asked & _PROCESSORS:
        asked |= _PROCESSORS
    own = {uuid: _without(part, asked) for uuid, part in held.own.items()}
    more = as_it_is(HeldShare(held.root, own, _without(held.shared, asked)))
    main = request.groups.get("", RequestGroup())
    together = more.groups.get("", RequestGroup())
    main = replace(main, resources={**main.resources, **together.resources})
    beside = {f"_held{suffix}": group for suffix, group in more.groups.items() if suffix}
    groups = {**request.groups, **({"": main} if main.parameters("") else {}), **beside}
    several = sum(1 for suffix in groups if suffix) > 1
    return replace(
        request,
        groups=groups,
        group_policy=request.group_policy or ("none" if beside and several else None),
    )


def _without(part: Mapping[str, int], classes: set[str]) -> dict[str, int]:
    return {name: amount for name, amount in part.items() if name not in classes}

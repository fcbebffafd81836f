"""What an image asks, as what the guest holds shows: records don't know images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from compute.records.instance import Flavor
from compute.report.consumers.resource_request import ResourceRequest
from compute.requests.features.processors import for_emulator, names_policy
from compute.requests.groups import groups_of

_SHARED, _OWN = "VCPU", "PCPU"


def as_held(
    request: ResourceRequest, flavor: Flavor, held: Mapping[str, Mapping[str, int]]
) -> ResourceRequest:
    """Return the request with the kinds of processors that the guest holds, if they may be right.

    An image can dedicate processors, too. If the flavor says nothing of their kind, and the guest
    holds as many as it asks for, they are taken to be of the kinds that the image asks for.

    :param held: provider uuid → class → amount
    """
    main = request.groups.get("")
    if main is None or _says_kind(flavor):
        return request
    has = Counter[str]()
    for part in held.values():
        has.update({name: part[name] for name in (_SHARED, _OWN) if name in part})
    # Threads of the emulator take one more, if the guest has processors of its own.
    more = for_emulator(flavor.extra_specs)
    if not has[_OWN] or has.total() != main.resources.get(_SHARED, 0) + more:
        return request
    rest = {name: n for name, n in main.resources.items() if name != _SHARED}
    main = replace(main, resources={**rest, **{name: n for name, n in has.items() if n}})
    return replace(request, groups={**request.groups, "": main})


def _says_kind(flavor: Flavor) -> bool:
    """Say whether the flavor says which kind of processors the guest has."""
    groups = groups_of(flavor.extra_specs)
    return names_policy(flavor.extra_specs) or groups.has(_SHARED) or groups.has(_OWN)

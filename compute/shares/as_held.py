"""What an image asks, as what the guest holds shows: records don't know images."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from compute.provider_tree.allocation_records import ProviderAmounts
from compute.records.instance import Flavor
from compute.report.consumers.resource_request import ResourceRequest

_SHARED, _OWN = "VCPU", "PCPU"
#: extra specs that say which kind of processors the guest has
_SAYS = re.compile(r"hw:cpu_policy|resources[A-Za-z0-9_-]*:[VP]CPU")


def as_held(request: ResourceRequest, flavor: Flavor, held: ProviderAmounts) -> ResourceRequest:
    """Return the request with the kinds of processors that the guest holds, if they may be right.

    An image can dedicate processors, too. If the flavor says nothing of their kind, and the guest
    holds as many as it asks for, they are taken to be of the kinds that the image asks for.
    """
    main = request.groups.get("")
    if main is None or any(_SAYS.fullmatch(spec) for spec in flavor.extra_specs):
        return request
    has = Counter[str]()
    for part in held.values():
        has.update({name: part[name] for name in (_SHARED, _OWN) if name in part})
    # Threads of the emulator take one more, if the guest has processors of its own.
    more = flavor.extra_specs.get("hw:emulator_threads_policy") == "isolate"
    if not has[_OWN] or has.total() != main.resources.get(_SHARED, 0) + more:
        return request
    rest = {name: n for name, n in main.resources.items() if name != _SHARED}
    main = replace(main, resources={**rest, **{name: n for name, n in has.items() if n}})
    return replace(request, groups={**request.groups, "": main})

"""What a guest holds of a node too little or too much: class by class, group by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from compute.provider_tree.allocation_records import Held, ProviderAmounts
from compute.provider_tree.inventory_record import sized
from compute.report.consumers.resource_request import ResourceRequest
from compute.requests.guest_request import amounts_of
from compute.shares.giver import Giver
from compute.shares.placing import places_of
from compute.shares.preferences import Preferences

#: classes of which a guest has no more than its flavor asks for
SHARES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU")


def lacking(
    requests: Iterable[ResourceRequest], givers: Sequence[Giver], held: ProviderAmounts
) -> dict[str, int]:
    """Return class → how much is missing. What the guest holds is all that there is to place.

    :param requests: what each share of the guest asks for
    :param givers: the node's tree, and those that share with it
    :param held: provider → class → amount; what it holds of others doesn't count
    """
    own = [
        replace(
            one,
            inventories={
                name: sized(amount)
                for name, amount in held.get(one.uuid, {}).items()
                if name in one.inventories
            },
            used={},
        )
        for one in givers
    ]
    taken: Held = {}
    missing = Counter[str]()
    for request in requests:
        # A guest of a pool has what it has, though the tree has the class, too.
        found = places_of(request, own, Preferences(held=held, taken=taken, runs=True))
        missing.update(found.lacking)
        for uuid, part in found.places.items():
            taken[uuid] = dict(Counter(taken.get(uuid, {})) + Counter(part))
    return dict(missing)


def surplus(
    requests: Iterable[ResourceRequest],
    givers: Sequence[Giver],
    held: ProviderAmounts,
    classes: Collection[str],
) -> dict[str, int]:
    """Return class → how much more the guest holds than it should, of some classes."""
    more = Counter[str]()
    for one in givers:
        more.update({name: n for name, n in held.get(one.uuid, {}).items() if name in classes})
    for request in requests:
        more.subtract({name: n for name, n in amounts_of(request).items() if name in classes})
    return {name: amount for name, amount in more.items() if amount > 0}

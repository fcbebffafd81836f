"""Where the tracker places what an instance holds: pure functions (compute.md §4.10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from compute.consumers.held_shares import InstanceHolding, Share, Side
from compute.consumers.instance_resources import PCI_DEVICE, generic_pci_devices
from compute.pci.tags import MANAGED
from compute.provider_tree.allocation_records import Amounts, Held, ProviderAmounts
from compute.records.instance import Flavor
from compute.report.consumers.resource_request import RequestGroup, ResourceRequest
from compute.requests.as_held import as_held
from compute.requests.guest_request import amounts_of
from compute.requests.translation import healed_request
from compute.shares.giver import Giver
from compute.shares.known import recorded
from compute.shares.lacking import SHARES
from compute.shares.placing import UNSUFFIXED, Placed, leaves_a_choice, places_of
from compute.shares.preferences import Preferences

#: classes that are the tracker's to correct, whatever the flavor says
OWNED = (*SHARES, PCI_DEVICE)
#: the beginning of further ones
_OWNED_BEGIN = "CUSTOM_PMEM_NAMESPACE_"
_DISK = "DISK_GB"

#: asks the hypervisor: class → amount that a guest should have → provider → class → amount
Hypervisor = Callable[[Amounts], ProviderAmounts]


def wish(held: InstanceHolding) -> Hashable:
    """Return a value that differs whenever other allocations are wanted for the holding."""
    return repr((held.shares, held.flavors, held.migration and held.migration.uuid))


@dataclass(frozen=True)
class WantedShare:
    """A share of a node, and what it asks for there."""

    share: Share
    request: ResourceRequest

    @property
    def amounts(self) -> Amounts:
        """Class → how much it asks for."""
        return amounts_of(self.request)


def wanted_shares(
    held: InstanceHolding,
    shares: Sequence[Share],
    givers: Sequence[Giver],
    has: ProviderAmounts,
    on_shared_storage: bool,
) -> list[WantedShare]:
    """Return what the shares of an instance ask for on a node.

    :param has: what the consumer has in placement now
    :param on_shared_storage: whether the instance's disk is on the storage of a sharing provider

    Processors that a policy dedicates are PCPU where the node has such. Both ends of a move share
    one disk of a sharing provider, which is as large as the larger flavor's.
    """
    instance = held.instance
    pinned = any("PCPU" in one.inventories for one in givers if not one.shares)
    here = {one.uuid: has[one.uuid] for one in givers if one.uuid in has}
    wanted = []
    for share in shares:
        request = healed_request(share.flavor, instance.booted_from_volume, pinned)
        request = as_held(request, share.flavor, here)
        wanted.append(WantedShare(share, _with_devices(request, share, held, givers)))
    if _disk_is_pooled(givers, on_shared_storage):
        sizes = [
            healed_request(flavor, instance.booted_from_volume).groups.get(UNSUFFIXED)
            for flavor in held.flavors
        ]
        largest = max(group.resources.get(_DISK, 0) for group in sizes if group is not None)
        wanted = [
            WantedShare(one.share, _changed(one.request, _DISK, largest if number == 0 else 0))
            for number, one in enumerate(wanted)
        ]
    return wanted


def placed(
    wanted: Iterable[WantedShare],
    nodename: str,
    givers: Sequence[Giver],
    has: ProviderAmounts,
    on_shared_storage: bool,
    runs: bool,
    hypervisor: Hypervisor | None = None,
    given: ProviderAmounts | None = None,
) -> Placed:
    """Return what the shares take, and of which provider.

    :param has: what the consumer has in placement now
    :param runs: whether the guest is there already; else its new share is being claimed
    :param given: what its claim was told to take
    """
    places: Held = {}
    lacking = Counter[str]()
    reasons: list[str] = []
    for one in wanted:
        known: list[ProviderAmounts] = []
        if hypervisor is not None:
            known.append(hypervisor(one.amounts))
        known.append(recorded(one.share, nodename, givers, one.amounts).places)
        found = places_of(
            one.request,
            givers,
            Preferences(
                known,
                has,
                places,
                given if given and one.share.side is not Side.OLD else {},
                frozenset({_DISK} if on_shared_storage else ()),
                runs or one.share.side is Side.OLD,
            ),
        )
        for uuid, part in found.places.items():
            places[uuid] = dict(Counter(places.get(uuid, {})) + Counter(part))
        if runs or one.share.side is not Side.OLD:
            # What the guest lacks already is no reason against a claim.
            lacking.update(found.lacking)
            reasons += found.reasons
    return Placed(places, dict(lacking), reasons)


def is_open(
    wanted: Iterable[WantedShare], givers: Sequence[Giver], has: ProviderAmounts, pooled: bool
) -> bool:
    """Say whether something of it may come from several providers."""
    preferences = Preferences(held=has, pooled=frozenset({_DISK} if pooled else ()))
    return any(leaves_a_choice(one.request, givers, preferences) for one in wanted)


def merged(
    has: ProviderAmounts, places: ProviderAmounts, givers: Sequence[Giver], classes: Iterable[str]
) -> Held:
    """Return what a consumer shall hold: what the tracker places, and the rest as it is.

    :param has: what the consumer holds now
    :param places: what `placed` returned
    :param classes: those that its flavors name, or named when the tracker wrote them

    The rest is what the consumer holds of other providers, and of classes of other owners. Devices
    that are reported on providers of their own are corrected with the report of devices.
    """
    named = set(classes)
    own = {one.uuid: MANAGED in one.traits for one in givers}

    def is_ours(uuid: str, name: str) -> bool:
        if uuid not in own:
            return False
        return name in named or (is_always_owned(name) and not own[uuid])

    result = {
        uuid: {name: n for name, n in part.items() if not is_ours(uuid, name)}
        for uuid, part in has.items()
    }
    for uuid, part in places.items():
        result.setdefault(uuid, {}).update(part)
    return {uuid: part for uuid, part in result.items() if part}


def is_always_owned(name: str) -> bool:
    """Say whether a class is the tracker's to correct, whatever the flavor says."""
    return name in OWNED or name.startswith(_OWNED_BEGIN)


def named_classes(held: InstanceHolding) -> set[str]:
    """Return the classes that the flavors name which the instance has, had, or will have."""
    return {name for flavor in _flavors(held) for name in amounts_of(healed_request(flavor))}


def _flavors(held: InstanceHolding) -> Iterator[Flavor]:
    instance = held.instance
    yield from (share.flavor for share in held.shares)
    for flavor in (instance.flavor, instance.old_flavor, instance.new_flavor):
        if flavor is not None:
            yield flavor


def _with_devices(
    request: ResourceRequest, share: Share, held: InstanceHolding, givers: Sequence[Giver]
) -> ResourceRequest:
    """Add the whole PCI devices that a node counts, and those of a class that is asked for."""
    count = generic_pci_devices(share.pci_devices, held.instance.uuid)
    if count and PCI_DEVICE in givers[0].inventories:
        request = _changed(request, PCI_DEVICE, count)
    return request


def _changed(request: ResourceRequest, name: str, amount: int) -> ResourceRequest:
    """Return the request with another amount of a class in the group without a suffix."""
    main = request.groups.get(UNSUFFIXED, RequestGroup())
    resources = {one: n for one, n in {**main.resources, name: amount}.items() if n}
    groups = {**request.groups, UNSUFFIXED: replace(main, resources=resources)}
    return replace(request, groups=groups)


def _disk_is_pooled(givers: Sequence[Giver], on_shared_storage: bool) -> bool:
    pool = any(one.shares and _DISK in one.inventories for one in givers)
    local = any(not one.shares and _DISK in one.inventories for one in givers)
    return pool and (on_shared_storage or not local)

"""The PCI devices of a node: as its driver lists them, in pools, and given to requests.

A device is a dict with `address`, `vendor_id`, `product_id`, `dev_type` (`type-PCI`, `type-PF`,
`type-VF` or `vdpa`) and other tags. A request is `{"count", "spec": [{tag: value}]}`: it asks for
`count` devices, each of which has all tags of one of the specs (compute.md §4.1, §4.11). A class
and traits are compared as placement has them; a device may have more traits than a spec names.
"""

import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from compute.pci.tags import NETWORK, class_of, traits_of
from compute.requests.reading.device_names import class_name, trait_names

Device = dict[str, Any]
Request = Mapping[str, Any]

_One = TypeVar("_One", bound=Hashable)
_Other = TypeVar("_Other", bound=Hashable)
#: the types of devices that are functions of a card, whose provider they share
FUNCTIONS = ("type-VF", "vdpa")

# The keys that differ between devices of one pool.
_OWN = frozenset({"address", "status", "instance_uuid", "parent_addr", "label", "dev_id"})


def devices_of(resources: Mapping[str, Any]) -> list[Device]:
    """Return the devices in a driver's `pci_passthrough_devices`, which may be JSON as in nova."""
    listed = resources.get("pci_passthrough_devices") or []
    return json.loads(listed) if isinstance(listed, str) else list(listed)


def pools(devices: Sequence[Device], owners: Mapping[str, str]) -> list[dict[str, object]]:
    """Return pools of devices with equal tags, with the `count` of those that are free.

    :param owners: address → owner, of the devices that instances have
    """
    taken = owners.keys() | ruled_out(devices, owners).keys()
    counts: dict[str, int] = {}
    for device in devices:
        kind = json.dumps({k: v for k, v in device.items() if k not in _OWN}, sort_keys=True)
        counts[kind] = counts.get(kind, 0) + (device["address"] not in taken)
    return [{**json.loads(kind), "count": count} for kind, count in sorted(counts.items())]


def with_gone_functions(
    listed: Sequence[Device], held: Iterable[Mapping[str, Any]]
) -> list[Device]:
    """Return the listed devices, and functions that guests still have and that are listed no more.

    These count as long as a guest has them, and their card is there with the same class and traits:
    else placement would have too few of the card's functions for those that are free.

    :param held: the devices that guests have
    """
    cards = {one["parent_addr"]: one for one in listed if one["dev_type"] in FUNCTIONS}
    known = {one["address"] for one in listed}
    gone: dict[str, Device] = {}
    for one in held:
        alike = cards.get(one.get("parent_addr"))
        if alike is None or one["address"] in known or one.get("dev_type") not in FUNCTIONS:
            continue
        if _as_reported(one) == _as_reported(alike):
            gone[one["address"]] = dict(one)
    return [*listed, *(gone[address] for address in sorted(gone))]


def _as_reported(device: Mapping[str, object]) -> Hashable:
    return class_of(device), traits_of(device), device.get(NETWORK)


def meets_any(device: Device, requests: Iterable[Request]) -> bool:
    """Say whether the device is as one of the requests wants it."""
    return any(_meets(device, request) for request in requests)


def ruled_out(devices: Iterable[Device], owners: Mapping[str, str]) -> dict[str, str]:
    """Return address → owner of what rules the device out: a card goes whole, or by functions.

    :param owners: address → owner, of the devices that somebody has
    """
    found: dict[str, str] = {}
    for address, relatives in _relatives(devices).items():
        if address not in owners and (owned := relatives & owners.keys()):
            found[address] = owners[min(owned)]
    return found


def assign(
    requests: Sequence[Request],
    ordered: Sequence[Device],
    free: Sequence[Device],
    is_usable: Callable[[Device], bool] = lambda device: True,
    is_near: Callable[[Device, Request], bool] = lambda device, request: True,
) -> list[Device] | None:
    """Return one device for each that is requested: all of `ordered`, the rest from `free`.

    The first of `free` that leave enough for the other requests are taken, and none that another
    one rules out. None if the ordered devices are not what is requested, or the free ones too few.

    :param is_usable: asked late, and only of devices that are as requested
    :param is_near: says whether the device is where the request wants it
    """
    known = {device["address"]: device for device in [*ordered, *free]}
    if sum(request["count"] for request in requests) > len(known):
        return None
    suitable = [
        [name for name, one in known.items() if _meets(one, request) and is_near(one, request)]
        for request in requests
    ]
    suiting = [set(names) for names in suitable]
    request_of = [number for number, one in enumerate(requests) for _ in range(one["count"])]
    relatives = _relatives(known.values())

    # A bipartite matching of slots, one for each device that is requested, and addresses.
    given: dict[int, str] = {}
    holders: dict[str, int] = {}

    def slots(address: str) -> Iterable[int]:
        return (slot for slot, number in enumerate(request_of) if address in suiting[number])

    def addresses(slot: int) -> Iterable[str]:
        return suitable[request_of[slot]]

    def is_free(address: str) -> bool:
        return relatives.get(address, set()).isdisjoint(holders) and is_usable(known[address])

    for device in ordered:
        if not _pair(device["address"], slots, holders, given, lambda slot: True):
            return None
    for slot in range(len(request_of)):
        if slot not in given and not _pair(slot, addresses, given, holders, is_free):
            return None
    return [known[given[slot]] for slot in range(len(request_of))]


def _pair(
    start: _One,
    options: Callable[[_One], Iterable[_Other]],
    partners: dict[_One, _Other],
    holders: dict[_Other, _One],
    is_free: Callable[[_Other], bool],
) -> bool:
    """Find `start` a partner. Who has one may get another one, and keeps having one."""
    found_by: dict[_Other, _One] = {}
    waiting = deque([start])
    while waiting:
        one = waiting.popleft()
        for other in options(one):
            if other in found_by:
                continue
            found_by[other] = one
            if other in holders:
                waiting.append(holders[other])
            elif is_free(other):
                step: _Other | None = other
                while step is not None:
                    one = found_by[step]
                    before = partners.get(one)
                    partners[one], holders[step] = step, one
                    step = before
                return True
    return False


def _relatives(devices: Iterable[Device]) -> dict[str, set[str]]:
    """Return address → those of which none can be used with it: a card's functions, and the card.

    Only of devices that have any.
    """
    cards = {device["address"]: device.get("parent_addr") or "" for device in devices}
    found: dict[str, set[str]] = {}
    for address, card in cards.items():
        if card in cards and card != address:
            found.setdefault(card, set()).add(address)
            found.setdefault(address, set()).add(card)
    return found


def _meets(device: Device, request: Request) -> bool:
    return any(
        all(_has(device, tag, value) for tag, value in spec.items())
        for spec in request.get("spec") or [{}]
    )


def _has(device: Device, tag: str, value: Any) -> bool:
    if tag == "resource_class":
        return class_of(device) == class_name(value)
    if tag == "traits":
        return trait_names(value or "") <= traits_of(device)
    return device.get(tag) == value

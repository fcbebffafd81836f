"""The PCI devices of a node: as its driver lists them, in pools, and given to requests.

A device is a dict with `address`, `vendor_id`, `product_id`, `dev_type` (`type-PCI`, `type-PF` or
`type-VF`) and other tags. A request is `{"count", "spec": [{tag: value}]}`: it asks for `count`
devices, each of which has all tags of one of the specs (compute.md §4.1, §4.11). A class and traits
are compared as placement has them; a device may have more traits than a spec names.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from compute.pci.tags import class_name, class_of, trait_names, traits_of

Device = dict[str, Any]
Request = Mapping[str, Any]

# The keys that differ between devices of one pool.
_OWN = frozenset({"address", "status", "instance_uuid", "parent_addr", "label", "dev_id"})


def devices_of(resources: Mapping[str, Any]) -> list[Device]:
    """Return the devices in a driver's `pci_passthrough_devices`, which may be JSON as in nova."""
    listed = resources.get("pci_passthrough_devices") or []
    return json.loads(listed) if isinstance(listed, str) else list(listed)


def pools(devices: Iterable[Device], taken: Collection[str]) -> list[dict[str, Any]]:
    """Return pools of devices with equal tags, with the `count` of those that aren't taken.

    :param taken: addresses of devices that instances have
    """
    counts: dict[str, int] = {}
    for device in devices:
        kind = json.dumps({k: v for k, v in device.items() if k not in _OWN}, sort_keys=True)
        counts[kind] = counts.get(kind, 0) + (device["address"] not in taken)
    return [{**json.loads(kind), "count": count} for kind, count in sorted(counts.items())]


def meets_any(device: Device, requests: Iterable[Request]) -> bool:
    """Say whether the device is as one of the requests wants it."""
    return any(_meets(device, request) for request in requests)


def assign(
    requests: Iterable[Request],
    ordered: Sequence[Device],
    free: Sequence[Device],
    is_usable: Callable[[Device], bool] = lambda device: True,
    is_near: Callable[[Device, Request], bool] = lambda device, request: True,
) -> list[Device] | None:
    """Return one device for each that is requested: all of `ordered`, the rest from `free`.

    The first of `free` that leave enough for the other requests are taken. None if the ordered
    devices are not what is requested, or the free ones too few.

    :param is_usable: asked late, and only of devices that are as requested
    :param is_near: says whether the device is where the request wants it
    """
    slots = [request for request in requests for _ in range(request["count"])]

    # A bipartite matching. A device or request that has a partner once keeps having one.
    given: dict[int, Device] = {}
    holders: dict[str, int] = {}

    def suits(device: Device, request: Request) -> bool:
        return _meets(device, request) and is_near(device, request)

    def pair(slot: int, device: Device) -> None:
        given[slot], holders[device["address"]] = device, slot

    def place(device: Device, asked: set[int]) -> bool:
        for slot, request in enumerate(slots):
            if slot not in asked and suits(device, request):
                asked.add(slot)
                if slot not in given or place(given[slot], asked):
                    pair(slot, device)
                    return True
        return False

    def find(slot: int, asked: set[str]) -> bool:
        for device in [*ordered, *free]:
            address = device["address"]
            if address in asked or not suits(device, slots[slot]):
                continue
            asked.add(address)
            if address in holders:
                # An ordered device is given once another device serves its request.
                if find(holders[address], asked):
                    pair(slot, device)
                    return True
            elif is_usable(device):
                pair(slot, device)
                return True
        return False

    if not all(place(device, set()) for device in ordered):
        return None
    if not all(slot in given or find(slot, set()) for slot in range(len(slots))):
        return None
    return [given[slot] for slot in range(len(slots))]


def _meets(device: Device, request: Request) -> bool:
    return any(
        all(_has(device, tag, value) for tag, value in spec.items())
        for spec in request.get("spec") or [{}]
    )


def _has(device: Device, tag: str, value: Any) -> bool:
    if tag == "resource_class":
        return class_of(device) == class_name(value)
    if tag == "traits":
        return trait_names(value) <= traits_of(device)
    return device.get(tag) == value

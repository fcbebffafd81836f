"""The PCI devices of a node: as its driver lists them, in pools, and chosen for requests.

A device is a dict with `address`, `vendor_id`, `product_id`, `dev_type` (`type-PCI`, `type-PF` or
`type-VF`) and other tags. A request is `{"count", "spec": [{tag: value}]}`: it asks for `count`
devices, each of which has all tags of one of the specs (compute.md §4.1, §4.11).
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

Device = dict[str, Any]

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


def choose(
    devices: Iterable[Device],
    taken: Collection[str],
    requests: Iterable[Mapping[str, Any]],
    instance_uuid: str,
) -> list[Device] | None:
    """Return devices for all `requests`, marked as the instance's; None if there are too few.

    :param taken: addresses of devices that instances have
    """
    free = [device for device in devices if device["address"] not in taken]
    chosen: list[Device] = []
    for request in requests:
        fitting = [device for device in free if _meets(device, request.get("spec") or [{}])]
        found = fitting[: request["count"]]
        if len(found) < request["count"]:
            return None
        chosen += ({**d, "instance_uuid": instance_uuid, "status": "allocated"} for d in found)
        free = [device for device in free if device not in found]
    return chosen


def _meets(device: Device, specs: Iterable[Mapping[str, Any]]) -> bool:
    return any(all(device.get(tag) == value for tag, value in spec.items()) for spec in specs)

"""What a guest asks for that nova judges elsewhere: a sentence each."""

import re
from collections.abc import Iterator, Mapping

from compute.requests.features.image_traits import format_traits, without_trait
from compute.requests.pci_groups import ALIAS
from compute.requests.reading.asked import Asked
from compute.requests.settings import Settings

_NUMA = "NUMATopologyFilter"
_IMAGE = "ImagePropertiesFilter"
_UNSCOPED = "AggregateInstanceExtraSpecsFilter and ComputeCapabilitiesFilter"
#: extra spec or property → the filter that judges it
_FILTERS: Mapping[str, str] = {
    "hw_numa_nodes": _NUMA,
    "hw_numa_cpus": _NUMA,
    "hw_numa_mem": _NUMA,
    "hw_mem_page_size": _NUMA,
    "hw_vm_mode": _IMAGE,
    "vm_mode": _IMAGE,
    "img_hv_type": _IMAGE,
    "hypervisor_type": _IMAGE,
    "img_hv_requested_version": _IMAGE,
    "hypervisor_version_requires": _IMAGE,
}
_CELL = re.compile(r"(hw_numa_(?:cpus|mem))\.[0-9]+")
#: the scope of an extra spec → the filter that judges it
_SCOPES: Mapping[str, str] = {
    "aggregate_instance_extra_specs": "AggregateInstanceExtraSpecsFilter",
    "capabilities": "ComputeCapabilitiesFilter",
}


def of_filters(asked: Asked, properties: Mapping[str, object], settings: Settings) -> Iterator[str]:
    """Yield a sentence for each extra spec and image property that nova's filters judge.

    :param properties: the image's, by the names it has
    """
    for spec, text in asked.specs.items():
        if why := _judge(spec, text, settings):
            yield f"{spec}={text} is not in the request: {why}."
    for name, value in properties.items():
        if name in ("hw_architecture", "architecture") and not settings.image_metadata_prefilter:
            judge = _IMAGE
        else:
            judge = _FILTERS.get(_CELL.sub(r"\1", name), "")
        if judge:
            yield f"{name}={value} is not in the request: {judge} judges it."


def of_image(
    asked: Asked, disk_format: str | None, booted_from_volume: bool, settings: Settings
) -> Iterator[str]:
    """Yield a sentence for each thing of the image that no trait stands for."""
    if settings.image_metadata_prefilter:
        for name, value in without_trait(asked.image):
            yield (
                f"{name}={value} is not in the request: no trait stands for it, and nova asks for "
                "no device of the image then."
            )
    if settings.query_placement_for_image_type_support and not booted_from_volume:
        if not disk_format:
            yield "The image's disk_format is not in the request: it isn't given."
        elif not any(format_traits(disk_format)):
            yield f"disk_format={disk_format} is not in the request: no trait stands for it."


def _judge(name: str, value: str, settings: Settings) -> str:
    """Return why an extra spec isn't in the request, nothing if it is or needs no judge."""
    scope, colon, rest = name.partition(":")
    if name == ALIAS:
        if not settings.pci_aliases:
            return "[pci]alias of the configuration defines no devices"
        in_placement = settings.pci_in_placement
        return (
            ""
            if in_placement
            else "PciPassthroughFilter judges it, [filter_scheduler]" + ("pci_in_placement is off")
        )
    if name == "accel:device_profile" and value:
        return "cyborg knows the devices"
    if not colon:
        return "" if name == "group_policy" else f"{_UNSCOPED} judge it"
    key = _CELL.sub(r"\1", f"hw_{rest}") if scope == "hw" else ""
    judge = _SCOPES.get(scope) or _FILTERS.get(key)
    return f"{judge} judges it" if judge else ""

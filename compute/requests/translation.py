"""From a flavor, an image and ports to what nova's scheduler asks of placement.

There is no other translation. It follows nova 34: which values win, which are ignored, and which
are refused.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence

from compute.records.instance import Flavor
from compute.report.consumers.resource_request import ResourceRequest
from compute.requests import own_amounts, pci_groups
from compute.requests.features import image_traits, memory
from compute.requests.features.feature_traits import (
    DEVICE_PROFILE,
    check_features,
    root_traits_of_features,
    traits_of_features,
)
from compute.requests.features.numa import check_numa
from compute.requests.features.processor_rules import check_processors
from compute.requests.features.processors import (
    DEDICATED,
    HYPERTHREADING,
    amounts_by_policy,
    read_processors,
)
from compute.requests.features.topology import check_topology
from compute.requests.groups import GroupDraft, Groups, groups_of
from compute.requests.guest_request import GuestRequest, amounts_of
from compute.requests.ports import REMOTE_MANAGED, GuestPort
from compute.requests.reading.asked import Asked
from compute.requests.reading.image import GuestImage, ImageProperties, read_image
from compute.requests.reading.refusal import Refused
from compute.requests.settings import Settings

#: the trait of hosts whose compute service is disabled; the scheduler never asks for them
DISABLED = "COMPUTE_STATUS_DISABLED"
#: the trait of providers that nova writes
OWNER = "OWNER_NOVA"

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


def request_of(
    flavor: Flavor,
    image: GuestImage | None = None,
    ports: Sequence[GuestPort] = (),
    settings: Settings | None = None,
    booted_from_volume: bool = False,
) -> GuestRequest:
    """Return what the scheduler asks for a guest.

    :param image: None: it isn't known, so nothing is refused for its sake
    :param booted_from_volume: the root disk takes no disk of the host then

    Raises Refused if nova's API or scheduler would refuse the guest.
    """
    return _Translation(flavor, image, ports, settings or Settings(), booted_from_volume).done()


def healed_amounts(
    flavor: Flavor, booted_from_volume: bool = False, pinned: bool = True
) -> Mapping[str, int]:
    """Return class → how much a guest that runs holds; see `healed_request`."""
    return amounts_of(healed_request(flavor, booted_from_volume, pinned))


def healed_request(
    flavor: Flavor, booted_from_volume: bool = False, pinned: bool = True
) -> ResourceRequest:
    """Return what a guest that runs holds, group by group, as far as its flavor says.

    Nothing is refused: the guest is there. Policies of processors that make no sense count as
    none. PCI devices aren't in it: the guest's own record names them.

    :param pinned: policies of processors count; else all are VCPU, as on hosts without PCPU
    """
    asked = Asked(flavor, ImageProperties())
    groups = groups_of(flavor.extra_specs)
    if pinned:
        with contextlib.suppress(Refused):
            groups.main.resources |= amounts_by_policy(asked)
    _add_own(groups, flavor, booted_from_volume)
    if memory.wants_encryption(flavor.extra_specs):
        groups.main.resources[memory.ENCRYPTION] = 1
    return ResourceRequest(groups.finished(), group_policy=groups.policy_asked())


class _Translation:
    """One guest's way into placement's terms."""

    def __init__(
        self,
        flavor: Flavor,
        image: GuestImage | None,
        ports: Sequence[GuestPort],
        settings: Settings,
        booted_from_volume: bool,
    ) -> None:
        self._flavor = flavor
        self._image = image or GuestImage()
        self._ports = ports
        self._settings = settings
        self._booted_from_volume = booted_from_volume
        self._owner = frozenset({OWNER} if settings.owner_trait else ())
        self._asked = Asked(flavor, read_image(self._image), image is not None)

    def done(self) -> GuestRequest:
        asked, settings = self._asked, self._settings
        self._check()
        request = self._request(pinned=True)
        pinned = read_processors(asked).policy == DEDICATED
        told = [
            *groups_of(asked.specs).ignored,
            *_left_to_filters(asked, self._image.properties, settings),
            *_left_of_image(asked, self._image.disk_format, self._booted_from_volume, settings),
        ]
        return GuestRequest(request, self._request(pinned=False) if pinned else None, tuple(told))

    def _check(self) -> None:
        """Raise Refused for what nova's API refuses, though placement isn't asked about it."""
        if self._flavor.memory_mb < 0 or self._flavor.root_gb < 0:
            raise Refused("Memory and root disk of a flavor can't be negative.")
        check_topology(self._asked)
        check_features(self._asked)
        processors = read_processors(self._asked)
        check_numa(self._asked, check_processors(self._asked, processors))

    def _request(self, pinned: bool) -> ResourceRequest:
        """Return the request.

        :param pinned: policies of processors ask for PCPU; else all are VCPU
        """
        asked, groups = self._asked, groups_of(self._asked.specs)
        main = groups.main
        main.required |= asked.image.required
        if pinned:
            processors = read_processors(asked)
            main.resources |= amounts_by_policy(asked)
            if processors.hyperthreading == "required":
                main.required.add(HYPERTHREADING)
            elif processors.hyperthreading:
                main.forbidden.add(HYPERTHREADING)
        self._add_outside(groups)
        _add_own(groups, self._flavor, self._booted_from_volume)
        if trait := memory.encryption_trait(asked):
            main.resources[memory.ENCRYPTION] = 1
            main.required.add(trait)
        main.required.update(traits_of_features(asked))
        return ResourceRequest(
            groups.finished(),
            group_policy=groups.policy_asked(),
            root_required=frozenset(self._root_traits()),
            root_forbidden=frozenset({DISABLED}),
            same_subtree=tuple(suffixes for port in self._ports for suffixes in port.same_subtree),
        )

    def _add_outside(self, groups: Groups) -> None:
        """Add what aliases and ports ask for."""
        settings = self._settings
        if settings.pci_aliases:
            devices = pci_groups.devices_of(self._asked.specs, settings.pci_aliases)
            if settings.pci_in_placement:
                for suffix, group in pci_groups.groups_of_devices(devices, self._owner):
                    groups.add(suffix, group)
        for port in self._ports:
            for suffix, wanted in port.groups.items():
                groups.add(suffix, GroupDraft(dict(wanted.resources), {*wanted.required_traits}))

    def _root_traits(self) -> Iterator[str]:
        yield from self._owner
        yield from root_traits_of_features(self._asked)
        if any(port.remote_managed for port in self._ports):
            yield REMOTE_MANAGED
        if self._settings.image_metadata_prefilter:
            yield from image_traits.device_traits(self._asked.image)
        if self._settings.query_placement_for_image_type_support and not self._booted_from_volume:
            yield from image_traits.format_traits(self._image.disk_format)


def _add_own(groups: Groups, flavor: Flavor, booted_from_volume: bool) -> None:
    """Add what the flavor has itself, except for classes that are named, and namespaces."""
    for name, amount in own_amounts.own_amounts(flavor, booted_from_volume).items():
        replaced = groups.has(name) or (name == "VCPU" and groups.has("PCPU"))
        if not replaced and amount > 0:
            groups.main.resources[name] = amount
    groups.main.resources |= memory.namespaces(flavor.extra_specs)


def _left_to_filters(
    asked: Asked, properties: Mapping[str, object], settings: Settings
) -> Iterator[str]:
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


def _left_of_image(
    asked: Asked, disk_format: str | None, booted_from_volume: bool, settings: Settings
) -> Iterator[str]:
    """Yield a sentence for each thing of the image that no trait stands for."""
    if settings.image_metadata_prefilter:
        for name, value in image_traits.without_trait(asked.image):
            yield (
                f"{name}={value} is not in the request: no trait stands for it, and nova asks for "
                "no device of the image then."
            )
    if settings.query_placement_for_image_type_support and not booted_from_volume:
        if not disk_format:
            yield "The image's disk_format is not in the request: it isn't given."
        elif not any(image_traits.format_traits(disk_format)):
            yield f"disk_format={disk_format} is not in the request: no trait stands for it."


def _judge(name: str, value: str, settings: Settings) -> str:
    """Return why an extra spec isn't in the request, nothing if it is or needs no judge."""
    scope, colon, rest = name.partition(":")
    if name == pci_groups.ALIAS:
        if not settings.pci_aliases:
            return "[pci]alias of the configuration defines no devices"
        if settings.pci_in_placement:
            return ""
        return "PciPassthroughFilter judges it, [filter_scheduler]pci_in_placement is off"
    if name == DEVICE_PROFILE and value:
        return "cyborg knows the devices"
    if not colon:
        return "" if name == "group_policy" else f"{_UNSCOPED} judge it"
    key = _CELL.sub(r"\1", f"hw_{rest}") if scope == "hw" else ""
    judge = _SCOPES.get(scope) or _FILTERS.get(key)
    return f"{judge} judges it" if judge else ""

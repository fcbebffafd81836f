"""Devices for one use: which are used up, and how they are released (compute.md §6.11).

The agent reserves such a device at its first allocation. It stays reserved when its guest is gone,
until an operator has wiped it and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import os_traits
from requests import Response

from compute import exceptions
from compute.maintenance.guests.running_devices import RunningDevices
from compute.maintenance.journal import EntryKind, Journal
from compute.maintenance.provider_details import (
    ProviderDetails,
    all_providers,
    read_provider,
    read_providers,
)
from compute.provider_tree.names import child_name
from compute.records.cell_database import CellDatabase
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext
from compute.report.wire.failures import Refusal
from compute.report.wire.transport import ATTEMPTS, CONCURRENT_UPDATE, error_code

TRAIT = os_traits.HW_PCI_ONE_TIME_USE
RELEASED_DEVICES = EntryKind(
    "released-devices",
    ("device", "name", "reserved"),
    {"device": str, "name": str, "reserved": dict},
)


class State(StrEnum):
    """What a device is. `BURNED`: reserved, and nobody holds it. `FREE`: it can be claimed."""

    FREE = "free"
    HELD = "held"
    BURNED = "burned"


@dataclass(frozen=True)
class Device:
    """A provider for one use.

    `guest` is the instance that has the device according to the records of this host, None if they
    know of none; `running` is the guest of which the hypervisor says so. The hypervisor is asked of
    a device that is burned otherwise, and `doubt` says why it can't tell.
    """

    provider: ProviderDetails
    guest: str | None
    running: str | None = None
    doubt: str = ""

    @property
    def state(self) -> State:
        """Placement's holders, the records' guest and the hypervisor's all hold it."""
        if self.provider.holders or self.guest or self.running:
            return State.HELD
        return State.BURNED if self.reserved else State.FREE

    @property
    def reserved(self) -> dict[str, int]:
        """Class → the reserved amount, of classes that are reserved as a whole."""
        return {
            name: record["reserved"]
            for name, record in self.provider.inventories.items()
            if record["reserved"] >= record["total"]
        }

    @property
    def holders(self) -> list[str]:
        """Whoever holds it, placement's consumers first."""
        known = [*self.provider.holders, self.guest, self.running]
        return list(dict.fromkeys(one for one in known if one is not None))


class DeviceConflict(Exception):
    """A device changed each time between the read and the write; the text says which."""


class DeviceChanged(Exception):
    """A device can't be reserved as it was; the text says why."""


class OneTimeDevices:
    """Reads devices for one use.

    All methods raise ResourceProviderRetrievalFailed, ResourceProviderAllocationRetrievalFailed
    and ClientException.
    """

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        cell: CellDatabase,
        running: RunningDevices,
    ) -> None:
        self._client = client
        self._context = context
        self._guests = _guests(cell)
        self._running = running

    def rows(self, roots: Sequence[str] | None = None) -> list[dict[str, object]]:
        """Return the providers' rows, by name: all, or those in the trees of these roots."""
        rows = all_providers(self._client, self._context, f"?required={TRAIT}", version="1.18")
        wanted = [row for row in rows if roots is None or row["root_provider_uuid"] in roots]
        return sorted(wanted, key=lambda row: row["name"])

    def of(self, rows: Sequence[dict[str, Any]]) -> Iterator[Device]:
        """Yield the devices of rows; those that are gone by then are left out."""
        for provider in read_providers(self._client, self._context, rows):
            if TRAIT in provider.traits:
                yield self._seen(provider)

    def one(self, uuid: str) -> Device | None:
        """Read one device as it is now; None if there is no such device for one use."""
        self._running.forget()
        provider = read_provider(self._client, self._context, uuid)
        if provider is None or TRAIT not in provider.traits:
            return None
        return self._seen(provider)

    def _seen(self, provider: ProviderDetails) -> Device:
        device = Device(provider, self._guests.get(provider.name))
        if device.state is not State.BURNED:
            return device
        guest, doubt = self._running.of(provider.name)
        return replace(device, running=guest, doubt=doubt)


def _guests(cell: CellDatabase) -> dict[str, str]:
    """Return the name of a device's provider → the instance that has the device."""
    return {
        child_name(instance.node, str(device.get("address", "")).upper()): instance.uuid
        for instance in cell.instances.all()
        for device in instance.pci_devices
        if instance.node and not instance.deleted
    }


class Release:
    """Gives devices back, and writes each to a journal of RELEASED_DEVICES before."""

    def __init__(
        self,
        client: SchedulerReportClient,
        context: RequestContext,
        devices: OneTimeDevices,
        journal: Journal,
        in_doubt: bool = False,
    ) -> None:
        """Release those, too, of which the hypervisor can't tell, if `in_doubt`."""
        self._client = client
        self._context = context
        self._devices = devices
        self._journal = journal
        self._in_doubt = in_doubt

    def may(self, device: Device) -> bool:
        """Say whether the device is burned as far as it has to be known."""
        return device.state is State.BURNED and (self._in_doubt or not device.doubt)

    def release(self, uuid: str) -> tuple[Device | None, bool]:
        """Set `reserved` of a burned device to 0, at the generation at which it was judged.

        Return the device as it was read, None if it is gone; and whether it was burned and is given
        back. A device that changes between the read and the write is read again.

        Raises DeviceConflict if others write each time before it does, NotNoted, JournalUnusable,
        ResourceProviderUpdateFailed, and what OneTimeDevices raises.
        """
        for _ in range(ATTEMPTS):
            device = self._devices.one(uuid)
            if device is None or not self.may(device):
                return device, False
            self._note(device)
            freed = dict.fromkeys(device.reserved, 0)
            if _write(self._client, self._context, device.provider, freed):
                return device, True
        raise DeviceConflict(f"Device {uuid}: other writers were quicker {ATTEMPTS} times.")

    def _note(self, device: Device) -> None:
        provider = device.provider
        self._journal.append(
            {"device": provider.uuid, "name": provider.name, "reserved": device.reserved}
        )


def reserve_again(
    client: SchedulerReportClient,
    context: RequestContext,
    devices: OneTimeDevices,
    entry: Mapping[str, Any],
    dry_run: bool = False,
) -> tuple[Device, bool] | None:
    """Reserve a device as a journal's entry says; None if the device is gone.

    Return the device as it was before, and whether it had to be reserved. Raises DeviceChanged if
    the device lacks a class of the entry by now, and the rest as `Release.release` does.
    """
    uuid = entry["device"]
    for _ in range(ATTEMPTS):
        device = devices.one(uuid)
        if device is None:
            return None
        known = device.provider.inventories
        if lost := sorted(entry["reserved"].keys() - known.keys()):
            raise DeviceChanged(
                f"Device {device.provider.name} ({uuid}) has no {', '.join(lost)} any more."
            )
        wanted = {
            name: amount
            for name, amount in entry["reserved"].items()
            if known[name]["reserved"] != amount
        }
        if not wanted or dry_run or _write(client, context, device.provider, wanted):
            return device, bool(wanted)
    raise DeviceConflict(f"Device {uuid}: other writers were quicker {ATTEMPTS} times.")


def _write(
    client: SchedulerReportClient,
    context: RequestContext,
    provider: ProviderDetails,
    reserved: Mapping[str, int],
) -> bool:
    """Write these reserved amounts; False if the provider changed since it was read, or is gone."""
    inventories = {
        name: {**record, "reserved": reserved.get(name, record["reserved"])}
        for name, record in provider.inventories.items()
    }
    url = f"/resource_providers/{provider.uuid}/inventories"
    response = client.put(
        url,
        {"resource_provider_generation": provider.generation, "inventories": inventories},
        version="1.26",
        global_request_id=context.global_id,
    )
    if response.status_code == 200:
        return True
    if response.status_code == 404 or _is_conflict(response):
        return False
    raise exceptions.ResourceProviderUpdateFailed(url=url, error=response.text) from Refusal(
        response
    )


def _is_conflict(response: Response) -> bool:
    return response.status_code == 409 and error_code(response) == CONCURRENT_UPDATE

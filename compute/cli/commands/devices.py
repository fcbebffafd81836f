"""`nova-manage placement devices`: devices for one use, and how they are given back."""

import argparse
import contextlib
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from compute import exceptions
from compute.cli.access import placement_access
from compute.cli.access.host_driver import host_driver
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.console import hearing, say
from compute.cli.journal_options import add_journal_options
from compute.cli.output.json_stream import JSONStream
from compute.cli.output.progress import Bar
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.maintenance.devices import (
    RELEASED_DEVICES,
    Device,
    DeviceChanged,
    DeviceConflict,
    OneTimeDevices,
    Release,
    State,
    reserve_again,
)
from compute.maintenance.guests.running_devices import RunningDevices
from compute.maintenance.journal import (
    Journal,
    JournalUnusable,
    NotNoted,
    default_path,
    entries,
)
from compute.maintenance.provider_details import find_roots
from compute.report import SchedulerReportClient
from compute.report.wire.context import RequestContext, admin_context
from compute.report.wire.failures import why
from compute.service.signals import finished_first
from placement.reports.lines import escaped

FAILED = 1
UNKNOWN = 2
BURNED = 3
HELD = 4
DOUBTED = 5

EXIT_CODES = """\
exit codes:
    0  no device is burned; with --release or --undo: all of it is done
    1  an error: it ends there
    2  there is no such host; or a device of --release or --undo is gone, or is another
    3  burned devices were found
    4  a device of --release is held by somebody, and left as it is
    5  the driver can't tell whether a guest has a device of --release, which is left as it is
"""

IN_DOUBT = "nobody can tell whether a guest has {}: {}. If you know that none has it: --force."
#: who holds a device of which the hypervisor can't be asked here
NOBODY_BUT = "nobody holds it, as far as placement and these records know"

FAILURES = (
    PlacementUnusable,
    DeviceConflict,
    NotNoted,
    exceptions.ResourceProviderRetrievalFailed,
    exceptions.ResourceProviderAllocationRetrievalFailed,
    exceptions.ResourceProviderUpdateFailed,
    ClientException,
)


def devices(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """List devices for one use, and give burned ones back if asked to.

    A device with the trait HW_PCI_ONE_TIME_USE is reserved from its first allocation on. It is
    burned when it is still reserved and nobody holds it any more: no consumer, no instance of the
    records, and no guest of the hypervisor. Wipe it, then --release it on its host.
    """
    asked = _parser().parse_args(arguments)
    _check(asked)
    conf = load_configuration(config_arguments)
    changes = (asked.release or asked.undo) and not asked.dry_run
    try:
        with (
            records(conf, read_only=not changes) as cell,
            placement_access.opened(
                conf, config_arguments, asked.way, read_only=not changes
            ) as adapter,
        ):
            client = SchedulerReportClient(adapter, conf=conf)
            running = RunningDevices(
                [node.hypervisor_hostname for node in cell.compute_nodes.by_host(conf.host)],
                lambda: host_driver(conf, cell),
            )
            found = OneTimeDevices(client, admin_context(), cell, running)
            run = _Run(asked, conf, client, found, RecordedConsumers(cell))
            with run.listed():
                return run.undo() if asked.undo else run.release() if asked.release else run.show()
    except exceptions.ResourceProviderNotFound as error:
        say(PROGRAM, error)
        return UNKNOWN
    except JournalUnusable as error:
        raise UnusableInput(error) from error
    except FAILURES as error:
        say(PROGRAM, why(error))
        return FAILED


def _parser() -> argparse.ArgumentParser:
    options = parser("devices", devices.__doc__ or "", EXIT_CODES)
    options.add_argument("--burned", action="store_true", help="list burned devices alone")
    options.add_argument(
        "--host", metavar="NAME|UUID", help="list devices in the tree of this provider alone"
    )
    options.add_argument(
        "--release",
        nargs="+",
        metavar="UUID",
        help="give these devices back: set reserved to 0, unless somebody holds the device",
    )
    options.add_argument(
        "--force",
        action="store_true",
        help="with --release: also if the driver of this host can't tell whether a guest has it",
    )
    add_journal_options(options, "--release", "reserve again what a journal says")
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    placement_access.add_options(options)
    return options


def _check(asked: argparse.Namespace) -> None:
    changing = asked.release or asked.undo
    if asked.release and asked.undo:
        raise UnusableInput("--release and --undo don't go together.")
    if changing and (asked.burned or asked.host):
        raise UnusableInput(
            "--burned and --host list devices: they don't go with --release, --undo"
        )
    for option in ("journal", "force"):
        if getattr(asked, option) and not asked.release:
            raise UnusableInput(f"--{option} is for --release.")
    if asked.dry_run and not changing:
        raise UnusableInput("--dry-run is for --release and --undo.")
    for text in asked.release or ():
        try:
            uuid.UUID(text)
        except ValueError:
            raise UnusableInput(f"--release takes uuids of devices, not {text!r}.") from None


class _Run:
    """One run of the command."""

    def __init__(
        self,
        asked: argparse.Namespace,
        conf: cfg.ConfigOpts,
        client: SchedulerReportClient,
        found: OneTimeDevices,
        recorded: RecordedConsumers,
    ) -> None:
        self._asked = asked
        self._conf = conf
        self._client = client
        self._devices = found
        self._recorded = recorded
        self._context: RequestContext = admin_context()
        self._shown = 0
        self._stream: JSONStream | None = None
        self._journal: Path | None = None
        if asked.release:
            default = default_path(Path(conf.state_path), RELEASED_DEVICES)
            self._journal = asked.journal or default
        elif asked.undo:
            self._journal = asked.undo

    @contextlib.contextmanager
    def listed(self) -> Iterator[None]:
        """Print the devices that are told meanwhile, if JSON is asked for, and the last error."""
        if not self._asked.json:
            yield
            return
        opening: dict[str, Any] = {}
        if self._journal is not None:
            opening = {"dry_run": self._asked.dry_run, "journal": str(self._journal)}
        with hearing() as heard, JSONStream(sys.stdout, opening, "devices") as self._stream:
            yield
            if heard:
                self._stream.closing = {"error": heard[-1]}

    def show(self) -> int:
        """List devices."""
        asked, burned = self._asked, 0
        roots = None
        if asked.host is not None:
            roots = find_roots(self._client, self._context, asked.host)
        rows = self._devices.rows(roots)
        with Bar("devices", len(rows), hidden=asked.json) as bar:
            for device in self._devices.of(rows):
                burned += device.state is State.BURNED
                if not asked.burned or device.state is State.BURNED:
                    self._tell(device, self._described(device), released=False)
                bar.advance()
        if not (asked.json or self._shown):
            print("There is no burned device." if asked.burned else "There is no such device.")
        return BURNED if burned else OK

    def release(self) -> int:
        """Give devices back."""
        asked, journal = self._asked, self._journal
        assert journal is not None
        codes, told_of_journal = [OK], asked.json or asked.dry_run
        uuids = list(dict.fromkeys(str(uuid.UUID(text)) for text in asked.release))
        with (
            Journal(journal, RELEASED_DEVICES) as opened,
            Bar("devices", len(uuids), hidden=asked.json) as bar,
        ):
            release = Release(self._client, self._context, self._devices, opened, asked.force)
            for one in uuids:
                with finished_first():
                    device, released = self._release(release, one)
                    if released and not told_of_journal:
                        print(f"Journal of what is changed: {journal}")
                        told_of_journal = True
                    codes.append(self._tell_release(one, device, released))
                bar.advance()
        return next((code for code in (HELD, DOUBTED, UNKNOWN) if code in codes), OK)

    def _release(self, release: Release, one: str) -> tuple[Device | None, bool]:
        if not self._asked.dry_run:
            return release.release(one)
        device = self._devices.one(one)
        return device, device is not None and release.may(device)

    def _tell_release(self, one: str, device: Device | None, released: bool) -> int:
        if device is None:
            say(PROGRAM, f"There is no device for one use with uuid {one}.")
            return UNKNOWN
        dry = "[dry-run] " if self._asked.dry_run else ""
        name = f"{device.provider.name} ({one})"
        if released:
            text = f"{dry}Released {name}."
        elif device.state is State.HELD:
            text = f"Left {name} as it is: {self._holders(device)}."
        elif device.doubt:
            say(PROGRAM, IN_DOUBT.format(escaped(name), device.doubt))
            text = f"Left {name} as it is."
        else:
            text = f"{name} is free already."
        self._tell(device, text, released and not self._asked.dry_run)
        if device.state is State.HELD:
            return HELD
        return DOUBTED if device.doubt and not released else OK

    def undo(self) -> int:
        """Reserve again what a journal says."""
        asked, code = self._asked, OK
        for entry in entries(asked.undo, RELEASED_DEVICES):
            name = f"{entry['name']} ({entry['device']})"
            with finished_first():
                try:
                    found = reserve_again(
                        self._client, self._context, self._devices, entry, asked.dry_run
                    )
                except DeviceChanged as error:
                    code = UNKNOWN
                    say(PROGRAM, error)
                    continue
                if found is None:
                    code = UNKNOWN
                    say(PROGRAM, f"Device {name} is gone.")
                    continue
                device, again = found
                dry = "[dry-run] " if asked.dry_run else ""
                text = f"{dry}Reserved {name} again." if again else f"{name} is reserved already."
                self._tell(device, text, released=False)
        return code

    def _tell(self, device: Device, text: str, released: bool) -> None:
        provider = device.provider
        self._shown += 1
        if self._stream is None:
            print(escaped(text), flush=True)
            return
        self._stream.add(
            {
                "uuid": provider.uuid,
                "name": provider.name,
                "generation": provider.generation,
                "state": str(device.state),
                "inventories": {
                    name: {"total": record["total"], "reserved": record["reserved"]}
                    for name, record in sorted(provider.inventories.items())
                },
                "holders": {holder: self._recorded.described(holder) for holder in device.holders},
                "doubt": device.doubt or None,
                "released": released,
            }
        )

    def _described(self, device: Device) -> str:
        provider = device.provider
        amounts = ", ".join(
            f"{record['reserved']} of {record['total']} {name} reserved"
            for name, record in sorted(provider.inventories.items())
        )
        meaning = {
            State.FREE: "free",
            State.HELD: self._holders(device),
            State.BURNED: f"burned: {NOBODY_BUT if device.doubt else 'nobody holds it'}",
        }[device.state]
        return f"{provider.name}  {provider.uuid}  {amounts or 'no inventory'}  {meaning}"

    def _holders(self, device: Device) -> str:
        names = []
        for holder in device.holders:
            told = self._recorded.described(holder)
            if holder not in device.provider.holders:
                by_records = holder == device.guest
                alone = "by the records alone" if by_records else "by the hypervisor alone"
                told = f"{told}, {alone}" if told else alone
            names.append(f"{holder} ({told})" if told else holder)
        return f"held by {', '.join(names)}"

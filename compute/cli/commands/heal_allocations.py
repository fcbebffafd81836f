"""`nova-manage placement heal_allocations`: instances get their allocations (compute.md §7.2)."""

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli.access import network_access, placement_access
from compute.cli.access.host_driver import host_driver
from compute.cli.access.placement_access import PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.command_line import OK, PROGRAM, UnusableInput, load_configuration, parser
from compute.cli.commands.heal_report import Report, reporting
from compute.cli.console import say
from compute.cli.output.amounts import amounts_told
from compute.cli.output.progress import Bar
from compute.maintenance.heal.guest_places import DriverPlaces
from compute.maintenance.heal.heal import Healer, Healing, InstanceChanged
from compute.maintenance.heal.placing import VGPU
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import why
from compute.service.signals import finished_first

MORE_LEFT = 1
NO_NODE = 2
NOT_WRITTEN = 3
NOTHING_CHANGED = 4
PORTS_UNREADABLE = 5
PORTS_NOT_WRITTEN = 6
PORTS_NOT_SET_BACK = 7
UNSUPPORTED = 8
DOUBLED = 9

#: the cell of instances that never got a host
CELL0 = "00000000-0000-0000-0000-000000000000"
BATCH = 50
# No cloud has more instances.
_MOST_DIGITS = 18

EXIT_CODES = """\
exit codes:
    0  allocations of at least one instance were written; with --dry-run: there is nothing to do
    1  --max-count instances were written, and there may be more
    2  an instance's node has no record
    3  allocations can't be read or written, or placement can't be reached; or an instance lacks
       some, and there is no room for them: it gets the others
    4  nothing was changed, for there is nothing to do; with --dry-run: there is something to do
    5  ports can't be read: it ends there
    6  ports can't be updated; those that were are set back
    7  ports can't be set back: it ends there
    8  it can't be told where an instance has its devices, or it has a device profile
    9  an instance holds virtual GPUs more than once, and still does
"""
OF_SEVERAL = """
An instance that can't be healed is told on stderr, and the run goes on with the others, whatever is
written of those; of such failures the first in the order 3, 6, 2, 8, 9 makes the exit code.
"""
#: exit codes of failures; of several, the first of these counts
ORDER = (NOT_WRITTEN, PORTS_NOT_WRITTEN, NO_NODE, UNSUPPORTED, DOUBLED)
#: failures that end the run
ENDING = (exceptions.UnableToQueryPorts, exceptions.UnableToRollbackPortUpdates)

CODES: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((exceptions.ComputeHostNotFound,), NO_NODE),
    ((exceptions.UnableToQueryPorts,), PORTS_UNREADABLE),
    ((exceptions.UnableToUpdatePorts,), PORTS_NOT_WRITTEN),
    ((exceptions.UnableToRollbackPortUpdates,), PORTS_NOT_SET_BACK),
    (
        (
            exceptions.HealPlaceUnknown,
            exceptions.HealvGPUAllocationNotSupported,
            exceptions.HealDeviceProfileAllocationNotSupported,
        ),
        UNSUPPORTED,
    ),
    (
        (
            PlacementUnusable,
            exceptions.AllocationUpdateFailed,
            exceptions.ConsumerAllocationRetrievalFailed,
            exceptions.ResourceProviderNotFound,
            exceptions.ResourceProviderRetrievalFailed,
            exceptions.ResourceProviderAllocationRetrievalFailed,
            exceptions.PlacementAPIConnectFailure,
            ClientException,
        ),
        NOT_WRITTEN,
    ),
)
NO_RECORDS = (
    "The records in {} have no host and no instance, so there is nothing to heal. Is it the "
    "state_path of this host, and has its berth-compute run?"
)
FAILURES = tuple(kind for kinds, _ in CODES for kind in kinds)


def heal_allocations(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Create allocations that instances lack, also a part, and correct those of another owner.

    They are made where the node's providers have the classes: on its root, on providers below it
    (NUMA cells, network cards, devices), or on a provider that shares with it. Where an instance
    has its devices is asked of its host's driver, and of its records.
    """
    asked = _parser().parse_args(arguments)
    limit = _limit(asked)
    conf = load_configuration(config_arguments)
    ports = network_access.ports(conf)
    try:
        with (
            records(conf, read_only=asked.dry_run) as cell,
            placement_access.opened(
                conf, config_arguments, asked.way, read_only=asked.dry_run
            ) as adapter,
        ):
            instances = _instances(asked, cell)
            if instances is None:
                if asked.json:
                    with reporting(asked) as report:
                        report.end(0, reached=False)
                else:
                    print("No cells to process.")
                    print(NO_RECORDS.format(conf.state_path))
                return NOTHING_CHANGED
            client = SchedulerReportClient(adapter, conf=conf)
            healer = Healer(
                client,
                admin_context(),
                cell,
                ports,
                DriverPlaces(conf.host, lambda: host_driver(conf, cell)),
                {VGPU, *conf.berth.mdev_classes.values()},
                asked.mend_doubled,
            )
            with reporting(asked) as report:
                return _heal(asked, _Healing(healer, adapter, report), instances, limit)
    except FAILURES as error:
        say(PROGRAM, why(error))
        return _code(error)


def _code(error: Exception) -> int:
    return next(code for kinds, code in CODES if isinstance(error, kinds))


def _parser() -> argparse.ArgumentParser:
    options = parser("heal_allocations", heal_allocations.__doc__ or "", EXIT_CODES, OF_SEVERAL)
    options.add_argument("--max-count", metavar="N", help="write at most so many instances")
    options.add_argument("--instance", metavar="UUID", help="this instance alone")
    options.add_argument("--cell", metavar="UUID", help="instances of this cell alone")
    options.add_argument(
        "--skip-port-allocations", action="store_true", help="leave the ports' resources out"
    )
    options.add_argument("--dry-run", action="store_true", help="write nothing; tell what would be")
    options.add_argument(
        "--force",
        action="store_true",
        help="with --instance: replace what it has by what its flavor says",
    )
    options.add_argument(
        "--mend-doubled",
        action="store_true",
        help="remove what it holds of virtual GPUs that it doesn't have, where that is known",
    )
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options.add_argument("--verbose", action="store_true", help="tell of each instance")
    placement_access.add_options(options)
    return options


def _limit(asked: argparse.Namespace) -> int | None:
    """Return how many instances to write at most; None for all.

    Raises UnusableInput if the options contradict each other.
    """
    if asked.instance and asked.cell:
        raise UnusableInput("--instance and --cell can't go together.")
    if asked.force and not asked.instance:
        raise UnusableInput("--force needs --instance.")
    if asked.max_count is None:
        return None
    given = asked.max_count
    if not (given.isdecimal() and len(given) <= _MOST_DIGITS and int(given)):
        raise UnusableInput("Must supply a positive integer for --max-count.")
    return None if asked.instance else int(given)


def _instances(asked: argparse.Namespace, cell: CellDatabase) -> list[Instance] | None:
    """Return the requested instances, oldest first; None if the cell database has no cell."""
    if asked.instance:
        found = cell.instances.by_uuid(asked.instance)
        if found is None:
            raise UnusableInput(f"Instance {asked.instance} could not be found.")
        return [found]
    mapped = {mapping.host: mapping.cell_uuid for mapping in cell.host_mappings.all()}
    cells = set(mapped.values()) - {CELL0}
    if asked.cell and asked.cell not in cells:
        raise UnusableInput(f"Cell {asked.cell} could not be found.")
    instances = cell.instances.all()
    if asked.cell:
        instances = [i for i in instances if mapped.get(i.host or "") == asked.cell]
    if not cells and not instances:
        return None
    return sorted(instances, key=lambda instance: (instance.created_at, instance.id or 0))


class _Healing:
    """Heals one instance after the other; reports failures and keeps their exit codes."""

    def __init__(self, healer: Healer, adapter: Adapter, report: Report) -> None:
        self.healer = healer
        self.report = report
        self.codes: set[int] = set()
        self.has_work = False
        self._adapter = adapter

    def heal(self, asked: argparse.Namespace, instance: Instance) -> bool:
        """Give the instance what it lacks; return whether anything was written.

        Raises failures that would meet every other instance, too.
        """
        try:
            return self._heal(asked, instance)
        except FAILURES as error:
            if isinstance(error, ENDING) or placement_access.why_unusable(self._adapter):
                raise
            self.codes.add(_code(error))
            reason = why(error)
            say(PROGRAM, f"instance {instance.uuid}: {reason}")
            self.report.failed(instance, reason)
            return False

    def _heal(self, asked: argparse.Namespace, instance: Instance) -> bool:
        with_ports = not asked.skip_port_allocations
        healing = self.healer.plan(instance, asked.force, with_ports=with_ports)
        self.has_work = self.has_work or healing.writes
        written = healing.writes and not asked.dry_run
        if written:
            try:
                healing = self._applied(asked, healing)
            except InstanceChanged:
                self.report.changed(healing)
                return False
            written = healing.writes
        mended = written and asked.mend_doubled
        if healing.lacking:
            amounts = amounts_told(healing.lacking)
            say(PROGRAM, f"instance {instance.uuid}: it lacks {amounts}: {healing.why}")
            self.codes.add(NOT_WRITTEN)
        if any(not (mended and one.can_be_mended) for one in healing.doubled):
            self.codes.add(DOUBLED)
        self.report.healed(healing, written)
        return written

    def _applied(self, asked: argparse.Namespace, healing: Healing) -> Healing:
        """Write what was planned, and return it; if it is refused, plan once more."""
        try:
            self.healer.apply(healing)
        except exceptions.AllocationUpdateFailed:
            if not self.healer.forget():
                raise
            # Others may have taken the room since the node's providers were read.
            again = self.healer.plan(
                healing.instance, asked.force, with_ports=not asked.skip_port_allocations
            )
            if again.writes:
                self.healer.apply(again)
            return again
        return healing


def _heal(
    asked: argparse.Namespace, healing: _Healing, instances: Sequence[Instance], limit: int | None
) -> int:
    written = 0
    try:
        with Bar("instances", len(instances), hidden=asked.json and sys.stdout.isatty()) as bar:
            for batch in _batches(instances):
                healing.report.batch(len(batch))
                healing.healer.look_at(batch)
                for instance in batch:
                    with finished_first():
                        written += healing.heal(asked, instance)
                    bar.advance()
                    if written == limit:
                        return MORE_LEFT
    finally:
        # Also after a failure: these instances are written.
        healing.report.end(written, written == limit)
    if asked.dry_run:
        done = NOTHING_CHANGED if healing.has_work else OK
    else:
        done = OK if written else NOTHING_CHANGED
    return next((code for code in ORDER if code in healing.codes), done)


def _batches(instances: Iterable[Instance]) -> Iterator[list[Instance]]:
    left = iter(instances)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch

"""`nova-manage placement heal_allocations`: instances get their allocations (compute.md §7.2)."""

import argparse
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException

from compute import exceptions
from compute.cli import network_access, placement_access
from compute.cli.command_line import OK, PROGRAM, InvalidInput, load_configuration, parser
from compute.cli.console import say
from compute.cli.placement_access import PlacementUnusable
from compute.cli.progress import Bar
from compute.cli.records_access import records
from compute.maintenance.heal import Healer, Healing, Step
from compute.records.cell_database import CellDatabase
from compute.records.instance import Instance
from compute.report import SchedulerReportClient
from compute.report.context import admin_context
from compute.report.failures import why
from compute.service.signals import finished_first

MORE_LEFT = 1
NO_NODE = 2
NOT_WRITTEN = 3
NOTHING_CHANGED = 4
PORTS_UNREADABLE = 5
PORTS_NOT_WRITTEN = 6
PORTS_NOT_SET_BACK = 7
UNSUPPORTED = 8

#: the cell of instances that never got a host
CELL0 = "00000000-0000-0000-0000-000000000000"
BATCH = 50
# No cloud has more instances.
_MOST_DIGITS = 18

EXIT_CODES = """\
exit codes:
    0  allocations of at least one instance were written
    1  --max-count instances were written, and there may be more
    2  an instance's node has no record
    3  allocations can't be read or written, or placement can't be reached
    4  nothing was changed: nothing to do, or --dry-run
    5  ports can't be read: it ends there
    6  ports can't be updated; those that were are set back
    7  ports can't be set back: it ends there
    8  an instance with virtual GPUs or a device profile: not supported
"""
OF_SEVERAL = """
An instance that can't be healed is told on stderr, and the run goes on with the others, whatever is
written of those; of such failures the first in the order 3, 6, 2, 8 makes the exit code.
"""
#: which of several failures counts: the first of these
ORDER = (NOT_WRITTEN, PORTS_NOT_WRITTEN, NO_NODE, UNSUPPORTED)
#: failures that end the run
ENDING = (exceptions.UnableToQueryPorts, exceptions.UnableToRollbackPortUpdates)

CODES: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((exceptions.ComputeHostNotFound,), NO_NODE),
    ((exceptions.UnableToQueryPorts,), PORTS_UNREADABLE),
    ((exceptions.UnableToUpdatePorts,), PORTS_NOT_WRITTEN),
    ((exceptions.UnableToRollbackPortUpdates,), PORTS_NOT_SET_BACK),
    (
        (
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
    """Create allocations that instances lack, and correct those of another project or user.

    They are made where the node's providers have the classes: on its root, on NUMA cells below it,
    or on a provider that shares with it.
    """
    asked = _parser().parse_args(arguments)
    limit = _limit(asked)
    conf = load_configuration(config_arguments)
    ports = network_access.ports(conf)
    try:
        with (
            records(conf) as cell,
            placement_access.opened(
                conf, config_arguments, asked.way, read_only=asked.dry_run
            ) as adapter,
        ):
            instances = _instances(asked, cell)
            if instances is None:
                print("No cells to process.")
                print(NO_RECORDS.format(conf.state_path))
                return NOTHING_CHANGED
            client = SchedulerReportClient(adapter, conf=conf)
            healer = Healer(client, admin_context(), cell, ports)
            return _heal(asked, _Healing(healer, adapter), instances, limit)
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
    options.add_argument("--verbose", action="store_true", help="tell of each instance")
    placement_access.add_options(options)
    return options


def _limit(asked: argparse.Namespace) -> int | None:
    """Return how many instances to write at most; None for all.

    Raises InvalidInput for options that contradict each other.
    """
    if asked.instance and asked.cell:
        raise InvalidInput("--instance and --cell can't go together.")
    if asked.force and not asked.instance:
        raise InvalidInput("--force needs --instance.")
    if asked.max_count is None:
        return None
    given = asked.max_count
    if not (given.isdecimal() and len(given) <= _MOST_DIGITS and int(given)):
        raise InvalidInput("Must supply a positive integer for --max-count.")
    return None if asked.instance else int(given)


def _instances(asked: argparse.Namespace, cell: CellDatabase) -> list[Instance] | None:
    """Return the requested instances, oldest first; None if the cell database has no cell."""
    if asked.instance:
        found = cell.instances.by_uuid(asked.instance)
        if found is None:
            raise InvalidInput(f"Instance {asked.instance} could not be found.")
        return [found]
    mapped = {mapping.host: mapping.cell_uuid for mapping in cell.host_mappings.all()}
    cells = set(mapped.values()) - {CELL0}
    if asked.cell and asked.cell not in cells:
        raise InvalidInput(f"Cell {asked.cell} could not be found.")
    instances = cell.instances.all()
    if asked.cell:
        instances = [i for i in instances if mapped.get(i.host or "") == asked.cell]
    if not cells and not instances:
        return None
    return sorted(instances, key=lambda instance: (instance.created_at, instance.id or 0))


class _Healing:
    """Heals one instance after the other; reports failures and keeps their exit codes."""

    def __init__(self, healer: Healer, adapter: Adapter) -> None:
        self.healer = healer
        self.codes: set[int] = set()
        self._adapter = adapter

    def heal(self, asked: argparse.Namespace, instance: Instance) -> bool:
        """Give the instance what it lacks; return whether anything was written.

        Raises the failures that would meet every other instance, too.
        """
        try:
            return _heal_one(asked, self.healer, instance)
        except FAILURES as error:
            if isinstance(error, ENDING) or placement_access.why_unusable(self._adapter):
                raise
            self.codes.add(_code(error))
            say(PROGRAM, f"instance {instance.uuid}: {why(error)}")
            return False


def _heal(
    asked: argparse.Namespace, healing: _Healing, instances: Sequence[Instance], limit: int | None
) -> int:
    written = 0
    try:
        with Bar("instances", len(instances)) as bar:
            for batch in _batches(instances):
                if asked.verbose:
                    print(f"Found {len(batch)} candidate instances.")
                healing.healer.look_at(batch)
                for instance in batch:
                    with finished_first():
                        written += healing.heal(asked, instance)
                    bar.advance()
                    if written == limit:
                        return MORE_LEFT
    finally:
        # Also after a failure: these instances are written.
        reached = "Max count reached. " if written == limit else ""
        print(f"{reached}Processed {written} instances.")
    done = OK if written else NOTHING_CHANGED
    return next((code for code in ORDER if code in healing.codes), done)


def _batches(instances: Iterable[Instance]) -> Iterator[list[Instance]]:
    left = iter(instances)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch


def _heal_one(asked: argparse.Namespace, healer: Healer, instance: Instance) -> bool:
    """Give an instance what it lacks and report it; return whether anything was written."""
    healing = healer.plan(instance, asked.force, with_ports=not asked.skip_port_allocations)
    uuid = instance.uuid
    if not healing.writes:
        if asked.verbose:
            print(_unhealed(healing))
        return False
    verb = "Create" if healing.step is Step.CREATE else "Update"
    if asked.dry_run:
        content = json.dumps(healing.payload, sort_keys=True)
        print(f"[dry-run] {verb} allocations for instance {uuid}: {content}")
        return False
    healer.apply(healing)
    if asked.verbose:
        print(f"Successfully {verb.lower()}d allocations for instance {uuid}.")
    return True


def _unhealed(healing: Healing) -> str:
    uuid = healing.instance.uuid
    if healing.step is Step.NOT_ON_A_HOST:
        return f"Instance {uuid} is not on a host."
    if healing.step is Step.IN_TRANSITION:
        state = healing.instance.task_state
        return f"Instance {uuid} is undergoing a task state transition: {state}"
    return f"The allocation of instance {uuid} is up-to-date. Nothing to be healed."

"""`nova-manage placement migrate_compute_inventory`: reshape offline (compute.md §7.1)."""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from compute import config, exceptions
from compute.cli.access import placement_access
from compute.cli.access.host_driver import DriverUnusable, host_driver
from compute.cli.access.placement_access import DATABASE, PlacementUnusable
from compute.cli.access.records_access import records
from compute.cli.command_line import (
    INTERRUPTED,
    OK,
    PROGRAM,
    UnusableInput,
    load_configuration,
    parser,
)
from compute.cli.commands import migration_report
from compute.cli.console import say
from compute.cli.output import drawn_file
from compute.cli.output.progress import Bar
from compute.cli.output.recorded_consumers import RecordedConsumers
from compute.maintenance.migrate.migration import Migrator, NodeReport, Result
from compute.maintenance.migrate.offline_tracker import StandIn
from compute.maintenance.migrate.rehearsal import rehearsing_client
from compute.maintenance.nodes import NoSuchNode, nodes_of
from compute.records.cell_database import CellDatabase
from compute.records.compute_node import ComputeNode
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import described_user, explained, why
from compute.resource_tracker.reporting.patience import Patience
from compute.service.drivers import ServiceDriver
from compute.service.signals import Interruption

FAILED = 1
NO_NODE = 2
RESHAPE_FAILED = 3
RESHAPE_NEEDED = 4
DRIVER_UNUSABLE = 5

EXIT_CODES = """\
exit codes:
    0  every node is migrated, or needed nothing
    1  placement can't be used, or something unexpected happened to a node
    2  the host has no compute node, or none of that name
    3  a reshape failed
    4  with --dry-run: at least one node needs a reshape
    5  the driver can't be loaded or isn't ready
"""
OF_SEVERAL = "Of several, the first in the order 3, 1, 4, 0 counts."


def migrate_compute_inventory(arguments: Sequence[str], config_arguments: Sequence[str]) -> int:
    """Move inventory and allocations of this host's nodes as its driver wants them.

    Run it on each compute host while its service is down. Where no reshape is needed it does
    nothing.
    """
    options = _parser()
    asked = options.parse_args(arguments)
    if asked.html is not None:
        if not asked.dry_run:
            options.error("argument --html: needs --dry-run")
        drawn_file.check(asked.html)
    conf = load_configuration(config_arguments, _overrides(asked))
    try:
        return _run(asked, conf, config_arguments)
    except PlacementUnusable as error:
        say(PROGRAM, error)
        return FAILED
    except (NoSuchNode, exceptions.ComputeHostNotFound) as error:
        say(PROGRAM, error)
        return NO_NODE
    except DriverUnusable as error:
        say(PROGRAM, error)
        return DRIVER_UNUSABLE
    except (exceptions.InvalidConfiguration, exceptions.ProviderConfigException) as error:
        raise UnusableInput(error) from error


def _parser() -> argparse.ArgumentParser:
    options = parser(
        "migrate_compute_inventory", migrate_compute_inventory.__doc__ or "", EXIT_CODES, OF_SEVERAL
    )
    options.add_argument("--host", help="whose nodes (default: [DEFAULT]host)")
    options.add_argument(
        "--node", action="append", default=[], metavar="NAME", help="this node alone; repeatable"
    )
    options.add_argument("--driver", help="instead of [DEFAULT]compute_driver")
    options.add_argument(
        "--dry-run", action="store_true", help="write nothing; show what would be done"
    )
    options.add_argument(
        "--sync",
        action="store_true",
        help="also store inventories, traits and aggregates that differ without a reshape",
    )
    options.add_argument("--json", action="store_true", help="one JSON object on stdout")
    drawn_file.add_option(options, "what --dry-run finds")
    options.add_argument("--verbose", action="store_true", help="each consumer's moves, and more")
    placement_access.add_options(options)
    return options


def _overrides(asked: argparse.Namespace) -> config.Overrides:
    given = {"host": asked.host, "compute_driver": asked.driver}
    return {(None, name): value for name, value in given.items() if value}


def _run(asked: argparse.Namespace, conf: cfg.ConfigOpts, config_arguments: Sequence[str]) -> int:
    way = asked.way or DATABASE
    with contextlib.ExitStack() as stack:
        cell = stack.enter_context(records(conf, read_only=asked.dry_run))
        driver = host_driver(conf, cell)
        nodes = _nodes(conf, driver, cell, asked.node)
        stand_in = StandIn.of(driver, conf, cell)
        adapter = stack.enter_context(
            placement_access.opened(conf, config_arguments, way, read_only=asked.dry_run)
        )
        new_client = rehearsing_client if asked.dry_run else SchedulerReportClient
        migrator = Migrator(
            lambda: new_client(adapter, conf=conf),
            stand_in.tracker,
            cache(partial(_ask_permission, adapter, conf)),
            asked.sync,
            Patience.configured(conf),
        )
        interruption = stack.enter_context(Interruption())
        reports = _reports(asked, migrator, nodes, interruption, adapter)
        return _show(asked, conf, nodes, reports, RecordedConsumers(cell))


def _ask_permission(adapter: Adapter, conf: cfg.ConfigOpts) -> None:
    SchedulerReportClient(adapter, conf=conf).reshaper.ask_permission(admin_context())


def _nodes(
    conf: cfg.ConfigOpts, driver: ServiceDriver, cell: CellDatabase, wanted: list[str]
) -> list[ComputeNode]:
    try:
        return nodes_of(conf.host, driver, cell, wanted)
    except exceptions.VirtDriverNotReady as error:
        raise DriverUnusable(error) from error


def _reports(
    asked: argparse.Namespace,
    migrator: Migrator,
    nodes: Sequence[ComputeNode],
    interruption: Interruption,
    adapter: Adapter,
) -> Iterator[NodeReport]:
    """Migrate one node after the other, until an interruption or until placement is unusable."""
    doing = migrator.rehearse if asked.dry_run else migrator.migrate
    with Bar("nodes", len(nodes), hidden=asked.json and sys.stdout.isatty()) as bar:
        for node in nodes:
            if interruption.stop_requested:
                return
            report = doing(node)
            gone = None if report.error is None else placement_access.why_unusable(adapter)
            if report.error is not None and gone:
                report.error = PlacementUnusable(
                    f"{why(report.error)}; placement can't be used any more: {gone}"
                )
            yield report
            if gone:
                return
            bar.advance()


def _show(
    asked: argparse.Namespace,
    conf: cfg.ConfigOpts,
    nodes: Sequence[ComputeNode],
    reports: Iterable[NodeReport],
    known: RecordedConsumers,
) -> int:
    shown = migration_report.Json if asked.json else migration_report.Text
    summary = Summary(len(nodes))
    opening = {"host": conf.host, "dry_run": asked.dry_run}
    with shown(opening, len(nodes), asked.verbose, known) as told:
        output: migration_report.Output = told
        if asked.html is not None:
            output = migration_report.Drawn(told, asked.html, opening, known)
        for report in reports:
            summary.add(report)
            output.node(report)
            if report.error is not None:
                left = f" ({summary.left()})" if summary.cut_short else ""
                reason = explained(report.error, described_user(conf))
                say(PROGRAM, f"node {report.node}: {reason}{left}")
        output.summary(summary.counts(), summary.exit_code())
    if summary.interrupted:
        say(PROGRAM, f"interrupted: {summary.left()}")
    return summary.exit_code()


class Summary:
    """Counts the nodes by result, and derives the exit code."""

    def __init__(self, expected: int) -> None:
        self._expected = self._not_reached = expected
        #: whether placement became unusable, so that the run ended
        self.cut_short = False
        self._by_result: dict[str, int] = {}
        self._codes = {OK}

    def add(self, report: NodeReport) -> None:
        """Count one node."""
        self._not_reached -= 1
        self.cut_short = isinstance(report.error, PlacementUnusable)
        self._by_result[report.result] = self._by_result.get(report.result, 0) + 1
        if report.result is Result.WOULD_MIGRATE:
            self._codes.add(RESHAPE_NEEDED)
        elif report.error is not None:
            self._codes.add(RESHAPE_FAILED if report.reshape_failed else FAILED)

    def counts(self) -> dict[str, Any]:
        """Return the number of nodes by result."""
        left = {"not begun": self._not_reached} if self._not_reached else {}
        return self._by_result | left

    def left(self) -> str:
        """Say how many nodes were not begun."""
        return f"{self._not_reached} of {self._expected} nodes weren't begun"

    @property
    def interrupted(self) -> bool:
        """Whether the operator stopped the run before all nodes were done."""
        return bool(self._not_reached) and not self.cut_short

    def exit_code(self) -> int:
        """Return the worst exit code of all nodes."""
        if self.interrupted:
            return INTERRUPTED
        worst_first = (RESHAPE_FAILED, FAILED, RESHAPE_NEEDED, OK)
        return next(code for code in worst_first if code in self._codes)

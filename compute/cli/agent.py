"""`berth-compute`: the agent that runs on each compute host.

It starts the driver, reports the host's resources to placement – reshaping them if the driver asks
for it – and then keeps them up to date.
"""

import argparse
import logging
import os
import socket
from collections.abc import Collection, Iterable, Iterator

from keystoneauth1 import exceptions as ksa_exceptions
from oslo_config import cfg

from compute import config, exceptions
from compute.cli.common_options import config_arguments
from compute.cli.console import SAID, LogFileUnusable, say, set_up_logging
from compute.cli.installation import UnusableEnvironment, check_installation
from compute.config.credentials import is_described
from compute.config.placement import GROUP
from compute.metrics.agent import AgentMetrics
from compute.records.cell_database import sqlite
from compute.records.node_identity import NodeIdentity
from compute.report import SchedulerReportClient
from compute.report.wire.failures import causes, described_user, explained, refused_access
from compute.resource_tracker.node.reported import Reported
from compute.service.drivers import DriverLoadError, load_driver
from compute.service.manager import ComputeManager, DriverInitFailed, UpdateOutcome
from compute.service.runner import ServiceRunner, Signals
from compute.service.virtapi import ComputeVirtAPI
from placement.config import misspelt
from placement.extensions.monitoring import port

LOG = logging.getLogger(__name__)

PROGRAM = "berth-compute"

OK = 0
RESHAPE_FAILED = 1
BAD_CONFIGURATION = 2
PLACEMENT_UNREACHABLE = 3
DRIVER_UNUSABLE = 4
FAILED = 5
INTERRUPTED = 130

# What keystoneauth1 raises when placement or keystone gives no answer, or refuses the credentials.
UNREACHABLE = (
    ksa_exceptions.ConnectionError,
    ksa_exceptions.CatalogException,
    ksa_exceptions.DiscoveryFailure,
    ksa_exceptions.Unauthorized,
    ksa_exceptions.HttpServerError,
    exceptions.PlacementAPIConnectFailure,
)

# Raised when group [placement] is incomplete or wrong.
MISCONFIGURED = (
    exceptions.InvalidConfiguration,
    ksa_exceptions.AuthPluginException,
    ksa_exceptions.AuthorizationFailure,
)


class Failure(Exception):
    """The reason why the agent ends, with its exit code. `is_logged`: the log has it already."""

    def __init__(self, exit_code: int, message: object, is_logged: bool = False) -> None:
        super().__init__(str(message))
        self.exit_code = exit_code
        self.is_logged = is_logged


def run(arguments: argparse.Namespace) -> int:
    """Run the agent with the options of its command line; return the exit code."""
    conf: cfg.ConfigOpts | None = None
    try:
        _check_installation()
        conf = _load_configuration(arguments)
        try:
            set_up_logging(conf, PROGRAM, brief=arguments.once)
        except LogFileUnusable as error:
            raise Failure(BAD_CONFIGURATION, error) from error
        for sentence in misspelt.told(conf):
            LOG.warning("%s", sentence)
        try:
            _run(conf, once=arguments.once)
        except Failure as failure:
            if _is_shown(failure, conf, arguments):
                return failure.exit_code
            if failure.__cause__ is not None and not failure.is_logged:
                LOG.critical("%s", failure, exc_info=failure.__cause__, extra=SAID)
            raise
    except Failure as failure:
        say(PROGRAM, failure, as_json=not arguments.once and _wants_json(conf))
        return failure.exit_code
    except KeyboardInterrupt:
        say(PROGRAM, "interrupted")
        return INTERRUPTED
    return OK


def _wants_json(conf: cfg.ConfigOpts | None) -> bool:
    """Whether logs shall be JSON; if the configuration can't be read, the environment decides."""
    if conf is not None:
        return bool(conf.use_json)
    return os.environ.get("OS_DEFAULT__USE_JSON", "").lower() in ("1", "on", "true", "yes")


def _check_installation() -> None:
    try:
        check_installation(PROGRAM)
    except UnusableEnvironment as error:
        raise Failure(FAILED, error) from error


def _is_shown(failure: Failure, conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> bool:
    """Return whether the log has shown the failure on stderr already.

    With --once, stderr gets no message of the log that carries an exception.
    """
    is_left_out = arguments.once and failure.__cause__ is not None
    return failure.is_logged and conf.use_stderr and not is_left_out


def _load_configuration(arguments: argparse.Namespace) -> cfg.ConfigOpts:
    try:
        return config.load(config_arguments(arguments))
    except UnicodeDecodeError as error:
        # The exception doesn't name the file.
        given = " ".join(config_arguments(arguments))
        raise Failure(BAD_CONFIGURATION, f"{given}: {error}") from error
    except (cfg.Error, ValueError, OSError) as error:
        raise Failure(BAD_CONFIGURATION, error) from error


def _run(conf: cfg.ConfigOpts, once: bool) -> None:
    """Run the service, or its first update alone. Raises Failure if it has to end."""
    try:
        # With --once there is no time to be asked.
        metrics = None if once or conf.berth.metrics_port is None else AgentMetrics()
        if metrics is not None:
            _serve(metrics, conf.berth.metrics_port)
        runner = _build(conf, metrics)
        if once:
            outcome = runner.start()
            for line in told(runner.manager.rt.reported(name) for name in outcome.updated):
                print(line)
            _check(outcome, described_user(conf))
            return
        with Signals() as signals:
            runner.start()
            runner.run(signals)
    except (exceptions.ReshapeFailed, exceptions.ReshapeNeeded) as error:
        reason = explained(error, described_user(conf))
        raise Failure(RESHAPE_FAILED, reason, is_logged=True) from error
    except (DriverLoadError, DriverInitFailed) as error:
        raise Failure(DRIVER_UNUSABLE, error) from error
    except ksa_exceptions.AuthPluginException as error:
        raise Failure(BAD_CONFIGURATION, f"Group [placement]: {error}") from error
    except (exceptions.InvalidConfiguration, exceptions.ProviderConfigException) as error:
        raise Failure(BAD_CONFIGURATION, error) from error
    except (KeyboardInterrupt, Failure):
        raise
    except Exception as error:
        raise Failure(FAILED, f"{type(error).__name__}: {error}") from error


def _serve(metrics: AgentMetrics, number: int) -> None:
    """Serve the metrics on a thread that ends with the process.

    Raises InvalidConfiguration if the port can't be used.
    """
    try:
        listener = socket.create_server((port.HOST, number))
    except OSError as error:
        raise exceptions.InvalidConfiguration(
            f"[berth]metrics_port: port {number} of {port.HOST} can't be opened: {error.strerror}"
        ) from error
    listener.setblocking(False)
    port.serve(listener, {"/metrics": metrics.page})


def _build(conf: cfg.ConfigOpts, metrics: AgentMetrics | None = None) -> ServiceRunner:
    if not is_described(conf, GROUP):
        raise exceptions.InvalidConfiguration(
            "Group [placement] of the configuration doesn't say how to reach placement: set "
            "auth_type and what it needs, or endpoint_override." + config.where_searched(conf)
        )
    cell = sqlite.open_in(conf.state_path)
    identity = NodeIdentity.from_config(conf)
    on_request = None if metrics is None else metrics.request
    reportclient = SchedulerReportClient(conf=conf, on_request=on_request)
    virtapi = ComputeVirtAPI(reportclient, identity, cell)
    driver = load_driver(virtapi, conf.compute_driver, conf)
    manager = ComputeManager(conf, driver, reportclient, cell, identity, virtapi, watcher=metrics)
    return ServiceRunner(manager, cell, conf)


def _check(outcome: UpdateOutcome, user: str) -> None:
    """Raise Failure if the update left anything undone."""
    if not outcome.driver_ready:
        raise Failure(DRIVER_UNUSABLE, exceptions.VirtDriverNotReady(), is_logged=True)
    if outcome.failures:
        described = "; ".join(
            f"node {name}: {explained(error, user)}" for name, error in outcome.failures.items()
        )
        raise Failure(_exit_code(outcome.failures.values()), described)


def _exit_code(failures: Collection[Exception]) -> int:
    """Return the exit code of the kind that all failures are of, else FAILED."""
    if all(refused_access(failure) for failure in failures):
        return PLACEMENT_UNREACHABLE
    for kinds, code in ((UNREACHABLE, PLACEMENT_UNREACHABLE), (MISCONFIGURED, BAD_CONFIGURATION)):
        if all(_is_of(failure, kinds) for failure in failures):
            return code
    return FAILED


def _is_of(failure: Exception, kinds: tuple[type[Exception], ...]) -> bool:
    return any(isinstance(cause, kinds) for cause in causes(failure))


def told(nodes: Iterable[Reported | None]) -> Iterator[str]:
    """Yield one line for each node; None stands for a node that wasn't reported."""
    for node in nodes:
        if node is not None:
            yield _line(node)


def _line(node: Reported) -> str:
    totals = ", ".join(f"{name} {total}" for name, total in sorted(node.totals.items()))
    parts = [
        _count(node.providers, "provider", "providers"),
        _count(node.inventories, "inventory", "inventories") + (f" ({totals})" if totals else ""),
        _count(node.traits, "trait", "traits"),
        _count(node.aggregates, "aggregate", "aggregates"),
    ]
    outcome = "changed" if node.changed else "unchanged"
    return f"node {node.name} ({node.uuid}): {', '.join(parts)}; {outcome}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number or 'no'} {one if number == 1 else many}"

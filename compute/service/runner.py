"""ServiceRunner: the life of a compute service, from the first update to the signal that ends it.

Signals take effect between two updates, never within one; only a second SIGINT or SIGTERM doesn't
wait.
"""

import logging
import select
import signal
import socket
import time
from types import FrameType
from typing import Protocol, Self

from oslo_config import cfg

from compute import exceptions
from compute.records.cell_database import CellDatabase, DuplicateRecord
from compute.records.service import Service
from compute.report.wire.context import admin_context
from compute.service.manager import ComputeManager, UpdateOutcome
from compute.service.signals import Interruption

LOG = logging.getLogger(__name__)

DEFAULT_INTERVAL = 60


class Waiting(Protocol):
    """The questions that the runner asks between two updates."""

    stop_requested: bool

    def take_reset_request(self) -> bool:
        """Say whether a reset was requested since the last call."""

    def wait(self, seconds: float | None) -> bool:
        """Wait so long, or for ever (None); return False if a request came before the end."""


class ServiceRunner:
    """Starts a manager's service, and updates its nodes until it is told to stop."""

    def __init__(self, manager: ComputeManager, cell: CellDatabase, conf: cfg.ConfigOpts) -> None:
        self.manager = manager
        self.cell = cell
        self.conf = conf

    def start(self) -> UpdateOutcome:
        """Record the service and run the first update, the only one that may reshape.

        Raises InvalidConfiguration for a new host that should be disabled, and what
        `ComputeManager.init_host` and `pre_start_hook` raise; the service must not run then.
        """
        LOG.info("Starting the compute service of host %s", self.manager.host)
        service = self.cell.services.by_host(self.manager.host)
        if service is None and not self.conf.enable_new_services:
            raise exceptions.InvalidConfiguration(
                f"enable_new_services is false, and host {self.manager.host} has no record of this "
                "service: a new service would be disabled, and no command of Berth enables one. "
                "Set it to true, and keep new instances away with `reserved` in placement."
            )
        self.manager.init_host(service)
        if service is None:
            service = self._recorded()
        return self.manager.pre_start_hook(service)

    def _recorded(self) -> Service:
        """Make the service's record, or read the one that another start made concurrently."""
        service = Service(host=self.manager.host)
        try:
            self.cell.services.create(service)
        except DuplicateRecord:
            return self.cell.services.by_host(self.manager.host) or service
        return service

    def run(self, waiting: Waiting) -> None:
        """Update every `update_resources_interval` seconds until told to stop.

        Raises ReshapeFailed and ReshapeNeeded, which end the service, unless
        `[workarounds]reshape_periodic_nonfatal` is set. Any other failure is logged, and the next
        update tries again.
        """
        due = self._next_update()
        if due is None:
            LOG.info("Periodic updates are switched off")
        else:
            LOG.info("Updating resources every %d seconds", self._interval())
        while not waiting.stop_requested:
            time_is_up = waiting.wait(None if due is None else max(0.0, due - time.monotonic()))
            if waiting.take_reset_request():
                self._reset()
            if time_is_up and not waiting.stop_requested:
                self._update()
                due = self._next_update()
        LOG.info("Stopping")

    def _interval(self) -> int:
        return self.conf.update_resources_interval or DEFAULT_INTERVAL

    def _next_update(self) -> float | None:
        return None if self._interval() < 0 else time.monotonic() + self._interval()

    def _update(self) -> None:
        try:
            self.manager.update_available_resource(admin_context())
        except (exceptions.ReshapeFailed, exceptions.ReshapeNeeded):
            if not self.conf.workarounds.reshape_periodic_nonfatal:
                raise
            # The manager has logged it.
        except Exception:
            LOG.exception("The periodic update failed")

    def _reset(self) -> None:
        LOG.info("Resetting: placement is read anew at the next update")
        try:
            self.conf.mutate_config_files()
        except cfg.ConfigFileParseError as error:
            # Its message quotes the line, which may be a password.
            file = error.config_file
            LOG.error("The configuration files could not be read again: %s has errors", file)
        except Exception:
            LOG.exception("The configuration files could not be read again")
        self.manager.reset()


class Signals(Interruption):
    """Waiting for SIGTERM, SIGINT and SIGHUP; a context manager, for the main thread."""

    def __init__(self) -> None:
        super().__init__()
        self._reset_requested = False
        # Python writes a byte here for each signal, which wakes a wait without a race.
        self._wakes, self._woken_by = socket.socketpair()
        self._wakes.setblocking(False)
        self._woken_by.setblocking(False)
        self._wakeup_before = -1

    def __enter__(self) -> Self:
        self._wakeup_before = signal.set_wakeup_fd(
            self._woken_by.fileno(), warn_on_full_buffer=False
        )
        self._handle(signal.SIGHUP, self._hang_up)
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        signal.set_wakeup_fd(self._wakeup_before)
        self._wakes.close()
        self._woken_by.close()

    def take_reset_request(self) -> bool:
        """See Waiting."""
        requested, self._reset_requested = self._reset_requested, False
        return requested

    def wait(self, seconds: float | None) -> bool:
        """See Waiting."""
        if self.stop_requested or self._reset_requested:
            return False
        woken, _, _ = select.select([self._wakes], [], [], seconds)
        if woken:
            self._wakes.recv(4096)
        return not woken

    def _hang_up(self, number: int, frame: FrameType | None) -> None:
        self._reset_requested = True

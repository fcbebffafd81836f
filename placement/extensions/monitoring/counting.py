"""Where a process counts: in memory of its parent, in a folder, or for itself."""

import dataclasses
import logging
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from placement.metrics.empty_hour import LastHour, last_hour
from placement.metrics.layout import SeriesLayout
from placement.metrics.meter import Meter
from placement.metrics.slots import Slots

LOG = logging.getLogger(__name__)

#: names a folder that the processes of a service share; prometheus-client's name for it
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@dataclasses.dataclass(frozen=True)
class Counting:
    """The memory in which a process counts, and whether other processes share it.

    :param of_process: whether each process counts for itself: then nobody adds up the figures of
        processes, and they need the label `pid`
    :param listener: an open port for metrics alone
    """

    meter: Meter
    slots: Slots
    of_process: bool = False
    listener: socket.socket | None = None

    def empty_hour(self) -> LastHour | None:
        """Return which searches of all processes found nothing; None: nobody knows of all."""
        if self.of_process:
            return None
        # the others write each second
        self.meter.look()
        return last_hour(self.slots.texts(), time.time())

    def close(self) -> None:
        """End what this process counts with; requests go on, and nobody sees their figures."""
        self.meter.close()
        self.slots.close()

    @classmethod
    def shared(
        cls, layout: SeriesLayout, slots: Slots, listener: socket.socket | None = None
    ) -> "Counting":
        """Count together with the processes that have the same slots."""
        return cls(Meter(layout, slots), slots, listener=listener)

    @classmethod
    def under_other_servers(
        cls, layout: SeriesLayout, environ: Mapping[str, str]
    ) -> "Counting | None":
        """Count in the folder that VARIABLE names, or else alone; None if the folder can't be used.

        The log says so if nothing is counted, and if each process counts for itself.
        """
        folder = environ.get(VARIABLE)
        try:
            if folder:
                return cls.shared(
                    layout, Slots.in_folder(Path(folder), layout.width, layout.digest)
                )
            slots = Slots.anonymous(layout.width)
        except OSError as error:
            LOG.warning("There are no metrics: %s (%s=%s)", error, VARIABLE, folder or "")
            return None
        LOG.info(
            "/metrics has the figures of one process, with the label pid: set %s to an empty "
            "folder to have those of all processes.",
            VARIABLE,
        )
        return cls(Meter(layout, slots), slots, of_process=True)

"""The snapshot of the cloud that the main process of `placement-api` loads for all workers."""

import gc
import logging
import time
from typing import TYPE_CHECKING

from placement.app import preload
from placement.cli.configuration import ConfigurationInForce
from placement.cli.failure import line_of

if TYPE_CHECKING:
    from placement.app import Preloaded

LOG = logging.getLogger(__name__)


class Preloading:
    """What the main process has loaded; workers are forked from it and share the memory.

    A worker brings it up to date from the change feed. If the feed doesn't go back as far, because
    the worker replaces one that died much later, the worker loads everything for itself.

    :param wanted: whether anything is loaded at all
    """

    def __init__(self, in_force: ConfigurationInForce, wanted: bool) -> None:
        self._in_force, self._wanted = in_force, wanted
        self.preloaded: Preloaded | None = None

    def load(self) -> None:
        """Load it, at the start or after a reload. Without the database, workers will do that."""
        self.preloaded = None
        if not self._wanted:
            return
        begun = time.monotonic()
        try:
            self.preloaded = preload(self._in_force.conf)
        # whatever is wrong, a worker can serve, or say it
        except Exception as error:
            LOG.warning("The cloud isn't loaded before the workers start: %s", line_of(error))
            return
        took, count = time.monotonic() - begun, self.preloaded.held.providers
        LOG.info("Loaded %d providers for all workers in %.1f s", count, took)
        # the collector would write into the memory that the workers share
        gc.collect()
        gc.freeze()

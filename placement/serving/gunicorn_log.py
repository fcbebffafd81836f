"""gunicorn's own messages in a log of JSON."""

from gunicorn.config import Config
from gunicorn.glogging import Logger
from oslo_log.formatters import JSONFormatter


class JSONLogger(Logger):
    """gunicorn's log, with one JSON object for each message instead of a line of text."""

    def setup(self, cfg: Config) -> None:
        """Set up gunicorn's log as `cfg` says, but write JSON."""
        super().setup(cfg)
        for logger in (self.error_log, self.access_log):
            for handler in logger.handlers:
                handler.setFormatter(JSONFormatter())

"""Lines of the log as oslo.log's default formats write them, made by one format.

Oslo.log puts all values of a context into each record, and looks for what few records have. That
takes longer than the rest of a small request's work.
"""

import logging
import time

from oslo_config import cfg
from oslo_context import context as oslo_context
from oslo_log import formatters

#: the options of oslo.log whose values are those that `LineFormatter` writes
_FORMATS = {
    "logging_context_format_string": (
        "%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s "
        "[%(global_request_id)s %(request_id)s %(user_identity)s] %(instance)s%(message)s"
    ),
    "logging_user_identity_format": (
        "%(user)s %(project)s %(domain)s %(system_scope)s %(user_domain)s %(project_domain)s"
    ),
}


class LineFormatter(formatters.ContextFormatter):
    """Writes what oslo.log's formatter writes with its default formats.

    Lines without a request, of other levels than INFO, and with a traceback go to oslo.log itself.
    """

    #: the last second that a line had, and how it is written
    _second: tuple[int, str] = (-1, "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        told = record.__dict__
        context = told.get("context", oslo_context.get_current())
        brackets = getattr(context, "brackets", None)
        if (
            brackets is None
            or record.levelno != logging.INFO
            or record.exc_info
            or record.exc_text
            or record.stack_info
            or told.get("instance")
            or told.get("instance_uuid")
        ):
            return super().format(record)
        head = self.head(record.created, record.process, record.levelname, record.name)
        return f"{head} {brackets} {record.getMessage()}"

    def head(self, created: float, process: int | None, level: str, name: str) -> str:
        """Return how a line begins.

        :param created: seconds since the epoch
        """
        second, written = self._second
        if second != int(created):
            second = int(created)
            written = time.strftime(self.datefmt or "", self.converter(created))
            self._second = second, written
        return f"{written}.{int(created % 1 * 1000):03d} {process} {level} {name}"


def write_faster(handler: logging.Handler, conf: cfg.ConfigOpts) -> None:
    """Let a handler of oslo.log's use `LineFormatter` if its formats are the default ones.

    Only for files and streams, which take nothing but the line. The journal's handler also reads
    what oslo.log's formatter leaves in the record.
    """
    used = handler.formatter
    if not isinstance(handler, logging.StreamHandler) or not _has_default_formats(conf):
        return
    if type(used) is formatters.ContextFormatter and used.datefmt:
        handler.setFormatter(
            LineFormatter(
                datefmt=used.datefmt, project=used.project, version=used.version, config=conf
            )
        )


def _has_default_formats(conf: cfg.ConfigOpts) -> bool:
    return all(conf[name] == text for name, text in _FORMATS.items())

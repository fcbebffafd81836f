"""What the log says when the service can't ask keystone about a token."""

import functools
import logging
import re
import threading

from keystoneauth1 import exceptions as keystone_errors
from oslo_config import cfg

from placement.config.keystone_authtoken import GROUP, login_option

LOG = logging.getLogger(__name__)

#: how each login plugin names its account, the most exact first
_ACCOUNTS = (
    ("username", "user {}"),
    ("user_id", "user {}"),
    ("application_credential_name", "application credential {}"),
    ("application_credential_id", "application credential {}"),
)
_PAGE = "See doc/keystone.rst. Until then requests are answered 503."


class IdentityFailures:
    """Logs why keystone can't be asked: once, until the reason changes or keystone answers.

    :param conf: its group [keystone_authtoken] says how to log in
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._option = functools.partial(login_option, conf)
        self._lock = threading.Lock()
        self._last: str | None = None

    def none(self) -> None:
        """Note that keystone answered; log it if it didn't before."""
        with self._lock:
            before, self._last = self._last, None
        if before is not None:
            LOG.info("Keystone validates tokens again.")

    def log(self, failure: BaseException) -> None:
        """Log why a token could not be validated, unless that was the last thing logged."""
        reason = self._reason(failure)
        with self._lock:
            repeated, self._last = reason == self._last, reason
        if not repeated:
            LOG.error("[%s]: %s %s", GROUP, reason, _PAGE)

    def _reason(self, failure: BaseException) -> str:
        # keystonemiddleware raises an error of its own in place of keystone's
        cause = failure.__cause__ or failure.__context__
        told = {type(failure): failure, type(cause): cause}
        # without either, old releases of the middleware log in with defaults of their own
        if keystone_errors.MissingAuthPlugin in told or not self._option("auth_type"):
            return "auth_type isn't set, so the service can't log in to keystone."
        where = f"keystone at {self._option('auth_url')}"
        project = self._option("project_name") or self._option("project_id")
        if keystone_errors.Unauthorized in told:
            return (
                f"{where} doesn't let {self._account()} log in to project {project}. Check its "
                "name, domain and password, that it is enabled, and that it has the role service "
                "in this project."
            )
        if keystone_errors.Forbidden in told:
            return (
                f"{where} doesn't let {self._account()} validate tokens. Give it the role service "
                f"in project {project} (in a keystone older than 2023.1: admin)."
            )
        root = cause if isinstance(cause, keystone_errors.ClientException) else failure
        # each request has another id
        text = re.sub(r" \(Request-ID: [^)]*\)", "", str(root)).rstrip(".")
        if isinstance(failure, keystone_errors.CatalogException):
            return f"{where} can't be used: {text}. Check auth_url, region_name and interface."
        return f"{where} can't be asked: {text}."

    def _account(self) -> str:
        for name, words in _ACCOUNTS:
            if value := self._option(name):
                return words.format(value)
        return "the service's user"

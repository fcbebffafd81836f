"""The configuration that `placement-api` serves with, and its change at a reload."""

import argparse
import contextlib
import io
import ipaddress
import logging
import os
import pathlib
from collections.abc import Callable

from oslo_config import cfg

from placement import config
from placement.app import Policy, list_rules, open_database, why_unusable
from placement.cli.failure import line_of
from placement.config import logs, sources
from placement.extensions.monitoring.access import networks
from placement.http.environ import Environ
from placement.http.identity.authentication import authenticated
from placement.http.probes import healthcheck
from placement.wsgi.loading import warn

LOG = logging.getLogger(__name__)

#: options for serving this machine without any configuration
ALONE: config.Overrides = {
    ("api", "auth_strategy"): "noauth2",
    ("placement_database", "sync_on_startup"): True,
    ("berth", "noauth2_admin_roles"): ["admin", "service"],
}


class ConfigurationRefused(cfg.Error):
    """The service must not serve with this configuration."""


class ConfigurationInForce:
    """The configuration of a service that runs, in its main process.

    Workers are forked from this process. So all of them have the configuration in force, also one
    that replaces a dead one while the files are wrong.

    `is_alone` says that there was no configuration at all at the start, so that ALONE applies.
    `policy` is None before the first check.

    :param arguments: the command line of `placement-api`
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Read the configuration. Raises cfg.Error, and what :meth:`check` raises."""
        self._arguments = arguments
        # not asked again: a service whose files are gone must not serve without authentication
        self.is_alone = not is_configured(arguments)
        self.conf = self._load()
        self.policy: Policy | None = None
        self._check_values(self.conf)

    def check(self) -> None:
        """Set up logging; check what workers would fail with: keystone's options, policy, database.

        Wait for the database. Raises errors that are told in one line (placement.cli.failure).
        """
        logs.set_up(self.conf, config.PROJECT)
        warn(self.conf)
        self.policy = self._check_parts(self.conf, wait=True)

    def reload(self) -> None:
        """Read the configuration again, and put it in force if a worker can serve with it.

        Otherwise log why not: the old configuration stays in force. Nothing is raised.
        """
        try:
            conf = self._load_again()
            self._check_values(conf)
            logs.set_up(conf, config.PROJECT)
            warn(conf)
            # while the database can't be reached, a worker answers 503
            policy = self._check_parts(conf, wait=False)
        # whatever is wrong with it, the old configuration can serve
        except Exception as error:
            with contextlib.suppress(logs.LogUnusable):
                logs.set_up(self.conf, config.PROJECT)
            LOG.error(
                "The configuration can't be used, so the old one stays in force: %s", line_of(error)
            )
        else:
            self.conf, self.policy = conf, policy
        logs.let_go()

    def _load(self) -> cfg.ConfigOpts:
        argv = config_arguments(self._arguments)
        if not self.is_alone:
            return config.load(argv)
        here = pathlib.Path.cwd() / "placement.db"
        overrides = {**ALONE, ("placement_database", "connection"): f"sqlite:///{here}"}
        return config.load(argv, files=[], overrides=overrides)

    def _load_again(self) -> cfg.ConfigOpts:
        """Do as `_load`, but raise an error where oslo.config ends the process.

        It does so if a file has a wrong value for an option that is also one of the command line.
        """
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                return self._load()
        except SystemExit:
            raise ConfigurationRefused(" ".join(said.getvalue().split())) from None

    def _check_values(self, conf: cfg.ConfigOpts) -> None:
        sources.check_values(conf)
        refusal = why_not_serve(self._arguments, conf)
        if refusal is not None:
            raise ConfigurationRefused(refusal)

    def _check_parts(self, conf: cfg.ConfigOpts, wait: bool) -> Policy:
        """Return the policy, if all parts of the service can be made from the configuration."""
        # This registers options on a configuration of its own, because a configuration that is read
        # later may use another way to authenticate.
        fresh = self._load()
        authenticated(_nothing, fresh, ())
        healthcheck(_nothing, fresh)
        networks(conf.berth.metrics_allowed_source_ranges)
        try:
            policy = Policy(conf, list_rules())
        # whatever oslo.policy raises for a file that it can't use
        except Exception as error:
            text = why_unusable(error)
            file = conf.oslo_policy.policy_file
            raise ConfigurationRefused(
                f"The policy can't be used ({file} and its folders): {text}"
            ) from error
        # closed, so that workers don't inherit its connections
        open_database(conf, wait=wait).close()
        return policy


def _nothing(environ: Environ, start_response: Callable[..., object]) -> list[bytes]:
    """Do nothing: a WSGI application that is never called."""
    return []


def config_arguments(arguments: argparse.Namespace) -> list[str]:
    """Return the options of our command line that are oslo.config's."""
    argv = [f"--config-file={path}" for path in arguments.config_file]
    argv += [f"--config-dir={path}" for path in arguments.config_dir]
    return [*argv, "--debug"] if arguments.debug else argv


def is_configured(arguments: argparse.Namespace) -> bool:
    """Return whether a file, a directory or the environment has any configuration."""
    if arguments.config_file or arguments.config_dir or sources.is_any(config.PROGRAM):
        return True
    return any(name.startswith("OS_") and "__" in name for name in os.environ)


def why_not_serve(arguments: argparse.Namespace, conf: cfg.ConfigOpts) -> str | None:
    """Return an error message if other machines could reach a service without authentication.

    Return None if the configuration may be served at the address.
    """
    if conf.api.auth_strategy != "noauth2" or arguments.allow_noauth2_anywhere:
        return None
    if arguments.unix_socket or _is_loopback(arguments.host):
        return None
    return (
        f"auth_strategy is noauth2 and {arguments.host} can be reached from elsewhere: everybody "
        "would be the administrator. Configure keystone, or say --allow-noauth2-anywhere."
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"

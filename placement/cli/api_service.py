"""What `placement-api` does: check the configuration, then run the service (architecture.rst D8).

Its options are in serve.py, gunicorn's process in placement.serving.gunicorn_master.
"""

import argparse
import functools
import ipaddress
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from placement import config
from placement.app import open_database
from placement.cli.failure import FAILED, say, told
from placement.config import logs, sources
from placement.http.authentication import authenticated
from placement.http.environ import Environ, WSGIApplication
from placement.installation import refuse_other_gunicorn, refuse_shared_environment
from placement.serving.address import why_unusable
from placement.wsgi import load

PROGRAM = "placement-api"
#: options for serving this machine without any configuration
ALONE: config.Overrides = {
    ("api", "auth_strategy"): "noauth2",
    ("placement_database", "sync_on_startup"): True,
    ("berth", "noauth2_admin_roles"): ["admin", "service"],
}


class Refused(Exception):
    """The service must not be reachable at this address with this configuration."""


def serve(arguments: argparse.Namespace) -> int:
    """Serve until a signal stops the process; return the exit code: 0, or 1 if it can't start."""

    def wants_json() -> bool:
        return logs.wants_json(_config_arguments(arguments), config.PROGRAM)

    with told(PROGRAM, wants_json=wants_json):
        refuse_shared_environment()
        refuse_other_gunicorn()
        conf, alone = load_config(arguments)
        refusal = why_not_serve(arguments, conf)
        if refusal is None and not arguments.unix_socket:
            refusal = why_unusable(arguments.host, arguments.port)
        if refusal is not None:
            say(PROGRAM, refusal, wants_json())
            return FAILED
        logs.set_up(conf, config.PROJECT)
        # check here that keystone's options and the database can be used, because the workers would
        # fail otherwise. The database is closed, so that workers don't inherit its connections. The
        # check of authentication registers options on a separate configuration, because a reloaded
        # configuration may use another way to authenticate
        authenticated(_nothing, load_config(arguments)[0])
        open_database(conf).close()
    # the master process rarely logs from here on
    logs.let_go()
    if alone:
        print(describe_alone(conf, arguments), file=sys.stderr, flush=True)
    # imported after gunicorn's version was checked
    from placement.serving.gunicorn_master import Server

    Server(
        _settings(arguments, conf.use_json),
        functools.partial(_load_for_worker, arguments, conf),
        client_timeout=arguments.client_timeout,
        longest_body=lambda: int(conf.berth.max_body_size) + 1,
        most_held=arguments.spool_size * 1024 * 1024,
    ).run()
    return 0


def _load_for_worker(arguments: argparse.Namespace, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application for one worker, from the reloaded configuration files.

    If the files can't be read, the old configuration stays in force. Raises Refused, which stops
    the server, if `why_not_serve` rejects the new configuration.
    """
    conf.reload_config_files()
    logs.set_up(conf, config.PROJECT)
    refusal = why_not_serve(arguments, conf)
    if refusal is not None:
        raise Refused(refusal)
    # `main` has waited for the database already. A worker that starts later, after a crash or at a
    # reload, doesn't wait: it returns 503 until the database can be reached
    return load(conf, wait=False)


def _nothing(environ: Environ, start_response: Callable[..., object]) -> list[bytes]:
    """Do nothing: a WSGI application that is never called."""
    return []


def load_config(arguments: argparse.Namespace) -> tuple[cfg.ConfigOpts, bool]:
    """Load the configuration; return it, and whether the defaults for one machine are used.

    Those defaults (ALONE) apply if there is no configuration at all.
    """
    argv = _config_arguments(arguments)
    if configured(arguments):
        return config.load(argv), False
    here = pathlib.Path.cwd() / "placement.db"
    overrides = {**ALONE, ("placement_database", "connection"): f"sqlite:///{here}"}
    return config.load(argv, files=[], overrides=overrides), True


def _config_arguments(arguments: argparse.Namespace) -> list[str]:
    """Return the options of our command line that are oslo.config's."""
    argv = [f"--config-file={path}" for path in arguments.config_file]
    argv += [f"--config-dir={path}" for path in arguments.config_dir]
    return [*argv, "--debug"] if arguments.debug else argv


def configured(arguments: argparse.Namespace) -> bool:
    """Return whether a file, a directory or the environment has any configuration."""
    if arguments.config_file or arguments.config_dir or sources.is_any(config.PROGRAM):
        return True
    return any(name.startswith("OS_") and "__" in name for name in os.environ)


def describe_alone(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Describe in one line how the service runs without configuration."""
    where = arguments.unix_socket or f"http://{arguments.host}:{arguments.port}"
    roles = " and ".join(conf.berth.noauth2_admin_roles)
    return (
        f"placement-api: no configuration found in {sources.searched()}: serving {where} from "
        f"{conf.placement_database.connection} without authentication; "
        f"'X-Auth-Token: admin' has the roles {roles}. For this machine only."
    )


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


def _settings(arguments: argparse.Namespace, as_json: bool) -> dict[str, Any]:
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    bind = f"unix:{arguments.unix_socket}" if arguments.unix_socket else f"{host}:{arguments.port}"
    settings = {"logger_class": "placement.serving.gunicorn_log.JSONLogger"} if as_json else {}
    return settings | {
        "bind": bind,
        "workers": arguments.workers,
        "threads": arguments.threads,
        "worker_class": "placement.serving.worker.FrontWorker",
        "proc_name": "placement-api",
        # newer gunicorns would create a control socket in the home directory
        "control_socket_disable": True,
        "graceful_timeout": 30,
    }

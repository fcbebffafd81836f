"""`placement-api`: the service under gunicorn and waitress (architecture.rst D8).

Without any configuration it serves this machine alone: SQLite in the working directory, schema
synced, and a token that is believed instead of checked.
"""

import argparse
import ipaddress
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gunicorn.app.base import BaseApplication
from oslo_config import cfg

from placement import config
from placement.app import open_database
from placement.cli.failure import FAILED, told
from placement.config import logs
from placement.http.authentication import authenticated
from placement.http.environ import Environ, WSGIApplication
from placement.wsgi import load

DEFAULT_PORT = 8778
#: who may reach the service when nobody is asked for credentials
ALONE: config.Overrides = {
    ("api", "auth_strategy"): "noauth2",
    ("placement_database", "sync_on_startup"): True,
    ("berth", "noauth2_admin_roles"): ["admin", "service"],
}


class Refused(Exception):
    """The configuration must not be served on this address; the text says why."""


class Server(BaseApplication):
    """gunicorn with settings from our command line instead of its own."""

    def __init__(self, arguments: argparse.Namespace, conf: cfg.ConfigOpts) -> None:
        self.arguments = arguments
        self.conf = conf
        #: seconds; for the workers (placement.serving.worker)
        self.client_timeout: float = arguments.client_timeout
        #: bytes
        self.most_held: int = arguments.spool_size * 1024 * 1024
        super().__init__()

    @property
    def longest_body(self) -> int:
        """Bytes of a request's body; for the workers.

        The application reads one byte more than it takes, and sees that it is too much.
        """
        return int(self.conf.berth.max_body_size) + 1

    def load_config(self) -> None:
        for name, value in _settings(self.arguments).items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        """Each worker's own; a file that can't be read leaves the old configuration in force.

        Raises Refused, which ends the server, if the new configuration must not be served here.
        """
        self.conf.reload_config_files()
        logs.set_up(self.conf, config.PROJECT)
        refusal = why_not_serve(self.arguments, self.conf)
        if refusal is not None:
            raise Refused(refusal)
        # at its start the command has waited for the database; who starts later, in place of a
        # worker that died or at a reload, answers at once what there is to say
        return load(self.conf, wait=False)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(
        prog="placement-api", description="Serve the placement API.", allow_abbrev=False
    )
    options.add_argument("--host", default="127.0.0.1", help="address to serve on")
    options.add_argument(
        "--port", type=number(int, 1, 65_535), default=DEFAULT_PORT, help="port to serve on"
    )
    options.add_argument("--unix-socket", metavar="PATH", help="serve on a socket file instead")
    options.add_argument(
        "--workers", type=number(int, 1, 1_000), default=1, help="worker processes"
    )
    options.add_argument(
        "--threads", type=number(int, 1, 1_000), default=4, help="threads of a worker"
    )
    options.add_argument(
        "--client-timeout",
        type=number(float, 0.1, 86_400),
        default=60,
        metavar="SECONDS",
        help="how long a client may take to send a request, and to go on reading its answer",
    )
    options.add_argument(
        "--spool-size",
        type=number(int, 1, 1_000_000),
        default=2_048,
        metavar="MIB",
        help="how much of requests and of unread answers a worker holds, most of it in TMPDIR",
    )
    options.add_argument("--config-file", action="append", default=[], metavar="PATH")
    options.add_argument("--config-dir", action="append", default=[], metavar="DIR")
    options.add_argument(
        "--allow-noauth2-anywhere",
        action="store_true",
        help="serve without authentication on an address others can reach",
    )
    options.add_argument("--debug", action="store_true", help="log at DEBUG")
    return options


def number(kind: type[int] | type[float], least: float, most: float) -> Callable[[str], float]:
    """The type of an option that has a range; argparse tells who breaks it and exits with 2."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(least) - 1
        # what is no number at all, `nan`, is in no range either
        if not least <= value <= most:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {least} to {most}")
        return value

    return read


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop. Answers the exit code: 0, 1 can't start, 2 bad usage."""
    arguments = parser().parse_args(argv)
    with told("placement-api"):
        conf, alone = load_config(arguments)
        refusal = why_not_serve(arguments, conf)
        if refusal is not None:
            print(f"placement-api: {refusal}", file=sys.stderr)
            return FAILED
        logs.set_up(conf, config.PROJECT)
        # find out about an identity service or a database that can't be used before there are
        # workers that would die of it; they must not inherit its connections, nor the options of
        # this way to authenticate, which a configuration to be reloaded may no longer have
        authenticated(_nothing, load_config(arguments)[0])
        open_database(conf).close()
    # the master says nothing there any more
    logs.let_go()
    if alone:
        print(describe_alone(conf, arguments), file=sys.stderr, flush=True)
    Server(arguments, conf).run()
    return 0


def _nothing(environ: Environ, start_response: Callable[..., object]) -> list[bytes]:
    """An application that nobody asks."""
    return []


def load_config(arguments: argparse.Namespace) -> tuple[cfg.ConfigOpts, bool]:
    """The configuration, and whether there was none, so that the defaults for one machine apply."""
    argv = [f"--config-file={path}" for path in arguments.config_file]
    argv += [f"--config-dir={path}" for path in arguments.config_dir]
    argv += ["--debug"] if arguments.debug else []
    if configured(arguments):
        return config.load(argv, files=config.files_for_wsgi()), False
    here = pathlib.Path.cwd() / "placement.db"
    overrides = {**ALONE, ("placement_database", "connection"): f"sqlite:///{here}"}
    return config.load(argv, files=[], overrides=overrides), True


def configured(arguments: argparse.Namespace) -> bool:
    """Whether a file, a directory or the environment says anything."""
    if arguments.config_file or arguments.config_dir or config.files_for_wsgi():
        return True
    if any(name.startswith("OS_") and "__" in name for name in os.environ):
        return True
    return bool(
        cfg.find_config_files(project=config.PROJECT, prog=config.PROGRAM)
        or cfg.find_config_dirs(project=config.PROJECT, prog=config.PROGRAM)
    )


def describe_alone(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """What serving without configuration means, in one line."""
    where = arguments.unix_socket or f"http://{arguments.host}:{arguments.port}"
    roles = " and ".join(conf.berth.noauth2_admin_roles)
    return (
        f"placement-api: no configuration found: serving {where} from "
        f"{conf.placement_database.connection} without authentication; "
        f"'X-Auth-Token: admin' has the roles {roles}. For this machine only."
    )


def why_not_serve(arguments: argparse.Namespace, conf: cfg.ConfigOpts) -> str | None:
    """Say so if others could reach a service that believes every token; None if all is well."""
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


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    bind = f"unix:{arguments.unix_socket}" if arguments.unix_socket else f"{host}:{arguments.port}"
    return {
        "bind": bind,
        "workers": arguments.workers,
        "threads": arguments.threads,
        "worker_class": "placement.serving.worker.FrontWorker",
        "proc_name": "placement-api",
        # a socket in the home directory that nobody asked for; older ones have none
        "control_socket_disable": True,
        "graceful_timeout": 30,
    }


if __name__ == "__main__":
    sys.exit(main())

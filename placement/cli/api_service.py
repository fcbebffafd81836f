"""What `placement-api` does: check the configuration, then run the service (architecture.rst D8).

Its options are in serve.py, gunicorn's process in placement.serving.gunicorn_master.
"""

import argparse
import logging
import socket
import sys
import tempfile

from oslo_config import cfg

from placement import config
from placement.app import import_all, metrics_layout
from placement.cli.configuration import ConfigurationInForce, ConfigurationRefused, config_arguments
from placement.cli.failure import told
from placement.cli.preloading import Preloading
from placement.config import logs, sources
from placement.extensions.monitoring import port as metrics_port
from placement.extensions.monitoring.counting import Counting
from placement.http.environ import WSGIApplication
from placement.http.metering import Metered
from placement.installation import refuse_other_gunicorn, refuse_shared_environment
from placement.metrics.layout import SeriesLayout
from placement.metrics.meter import Meter
from placement.metrics.slots import Slots
from placement.serving.address import why_unusable
from placement.wsgi.loading import load

LOG = logging.getLogger(__name__)
PROGRAM = "placement-api"


def serve(arguments: argparse.Namespace) -> int:
    """Serve until a signal stops the process; return the exit code: 0, or 1 if it can't start."""

    def wants_json() -> bool:
        return logs.wants_json(config_arguments(arguments), config.PROGRAM)

    with told(PROGRAM, wants_json=wants_json):
        refuse_shared_environment()
        refuse_other_gunicorn()
        _refuse_without_temporary_files()
        in_force = ConfigurationInForce(arguments)
        refusal = None
        if not arguments.unix_socket:
            refusal = why_unusable(arguments.host, arguments.port)
        if refusal is not None:
            raise ConfigurationRefused(refusal)
        in_force.check()
    preloading = Preloading(in_force, arguments.preload)
    preloading.load()
    # the master process rarely logs from here on
    logs.let_go()
    if in_force.is_alone:
        print(describe_alone(in_force.conf, arguments), file=sys.stderr, flush=True)
    # imported after gunicorn's version was checked
    from placement.serving.gunicorn_master import GunicornServer

    listener = None if arguments.metrics_port is None else _listen(arguments.metrics_port)
    # made here, so that all workers have the same
    layout = metrics_layout()
    slots = _slots(layout)
    meters: list[Meter] = []

    def load_for_worker() -> WSGIApplication:
        # gunicorn has made handlers of its own
        logs.escape_messages()
        # The main process has waited for the database already. A worker that starts later, after a
        # crash or at a reload, doesn't wait: it returns 503 until the database can be reached
        counting = None
        if slots is not None:
            counting = Counting.shared(layout, slots, listener)
            meters.append(counting.meter)
        return load(
            in_force.conf,
            wait=False,
            policy=in_force.policy,
            counting=counting,
            preloaded=preloading.preloaded,
        )

    def reload() -> None:
        in_force.reload()
        preloading.load()

    def measured(application: WSGIApplication) -> WSGIApplication:
        return Metered(application, meters[-1]) if meters else application

    # in this process, so that the workers have it in common
    import_all()
    GunicornServer(
        _settings(arguments, in_force.conf.use_json),
        reload,
        load_for_worker,
        client_timeout=arguments.client_timeout,
        longest_body=lambda: int(in_force.conf.berth.max_body_size) + 1,
        most_held=arguments.spool_size * 1024 * 1024,
        measured=measured,
    ).run()
    return 0


def _refuse_without_temporary_files() -> None:
    """Raise ConfigurationRefused if there is no folder for the files that each worker needs."""
    try:
        tempfile.gettempdir()
    except OSError as error:
        raise ConfigurationRefused(
            f"can't make temporary files: {error.strerror}. Let TMPDIR name a folder that this "
            "user can write to, such as /dev/shm."
        ) from error


def _listen(port: int) -> socket.socket:
    """Open the port for metrics. Exits if that fails."""
    with told(PROGRAM):
        try:
            return metrics_port.listen(port)
        except OSError as error:
            raise ConfigurationRefused(
                f"can't serve metrics on {metrics_port.HOST} port {port}: {error.strerror}. "
                "Choose another --metrics-port."
            ) from error


def _slots(layout: SeriesLayout) -> Slots | None:
    """Return the memory that the workers share; None if there can't be any."""
    try:
        return Slots.anonymous(layout.width)
    except OSError as error:
        LOG.warning("There are no metrics: %s", error)
        return None


def describe_alone(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Describe in one line how the service runs without configuration."""
    where = arguments.unix_socket or f"http://{arguments.host}:{arguments.port}"
    roles = " and ".join(conf.berth.noauth2_admin_roles)
    return (
        f"placement-api: no configuration found in {sources.searched()}: serving {where} from "
        f"{conf.placement_database.connection} without authentication; "
        f"'X-Auth-Token: admin' has the roles {roles}. For this machine only."
    )


def _settings(arguments: argparse.Namespace, as_json: bool) -> dict[str, object]:
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

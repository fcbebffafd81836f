"""The services for acceptance files: Berth in this process, or the reference in another one."""

import contextlib
import importlib.metadata
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.service_settings import UNTIMED

Options = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Service:
    """How gabbi reaches a service: by `intercept` (in process) or by host and port."""

    host: str
    port: int | None = None
    intercept: Callable[[], Any] | None = None


def options_of(folder: Path, document: dict[str, Any], database: str | None = None) -> Options:
    """Merge the options of all files with those of one file.

    `options: {group: {option: value}}` at the top of a file sets options of the service; `policy:
    {rule: check string}` writes a policy file.

    :param database: URL; None: a SQLite file in the folder
    """
    options: Options = {
        "placement_database": {
            "connection": database or f"sqlite:///{folder}/placement.db",
            "sync_on_startup": True,
        },
        "api": {"auth_strategy": "noauth2"},
    }
    for group, settings in document.get("options", {}).items():
        options.setdefault(group, {}).update(settings)
    if "policy" in document:
        path = folder / "policy.yaml"
        path.write_text("".join(f'"{k}": "{v}"\n' for k, v in document["policy"].items()))
        options.setdefault("oslo_policy", {})["policy_file"] = str(path)
    return options


def as_served(app: Any, mount: str) -> Any:
    """Wrap `app` so that it gets paths as from a web server that serves it under `mount`.

    httpx, which gabbi uses since 4.0, passes the path as text and knows no mount point. A server
    passes the path's bytes as Latin-1 (PEP 3333), without the mount point.
    """
    as_text = int(importlib.metadata.version("gabbi").partition(".")[0]) >= 4

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if as_text:
            path = path.encode().decode("latin-1")
        assert path.startswith(mount)
        environ.update(SCRIPT_NAME=mount, PATH_INFO=path.removeprefix(mount))
        return app(environ, start_response)

    return application


@contextlib.contextmanager
def in_process(options: Options, mount: str) -> Iterator[Service]:
    """Yield our application, with its own database."""
    # imported here because a run against the reference works without Berth's packages
    from placement import app, config

    overrides: dict[tuple[str | None, str], Any] = UNTIMED | {
        (group, option): value
        for group, settings in options.items()
        for option, value in settings.items()
    }
    running = app.start(config.load(files=[], environ={}, overrides=overrides))
    with contextlib.closing(running):
        served = as_served(running.application, mount)
        yield Service(host="placement.test", port=80, intercept=lambda: served)


@contextlib.contextmanager
def reference(interpreter: str, folder: Path, options: Options, mount: str) -> Iterator[Service]:
    """Run the reference from the environment of `interpreter`, on a free port of the loopback.

    The environment needs openstack-placement and gunicorn. The listening socket is created here, so
    that requests wait in its queue until the server is ready.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    environ.pop("PYTHONPATH", None)
    for group, settings in options.items():
        for option, value in settings.items():
            text = ",".join(value) if isinstance(value, list) else str(value)
            environ[f"OS_{group}__{option}".upper()] = text
    if mount:
        environ["SCRIPT_NAME"] = mount
    log = (folder / "reference.log").open("w")
    with log, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        command = [interpreter, "-m", "gunicorn", "--bind", f"fd://{listener.fileno()}"]
        command += ["--workers", "1", "--log-level", "error", "placement.wsgi.api:application"]
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
    # from here on only the server has the socket; after the server ends, connections are refused
    try:
        yield Service(host="127.0.0.1", port=port)
    finally:
        server.terminate()
        server.wait()

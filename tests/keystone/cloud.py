"""Both placement services in front of one keystone, and how their answers compare."""

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from tests.functional.placement.serving.programs import Server, free_port, needed
from tests.keystone.identity import DEFAULT
from tests.patience import PATIENCE

SERVICE_PASSWORD = "the placement user's own"
PREFIX = "OS_KEYSTONE_AUTHTOKEN__"


def options(url: str, **more: str) -> dict[str, str]:
    """Return the options of [keystone_authtoken] for a keystone at a URL."""
    return {
        "www_authenticate_uri": url,
        "auth_url": url,
        "auth_type": "password",
        "username": "placement",
        "password": SERVICE_PASSWORD,
        "user_domain_id": DEFAULT,
        "project_name": "service",
        "project_domain_id": DEFAULT,
        # a busy machine is no failure of keystone
        "http_connect_timeout": str(PATIENCE),
        **more,
    }


@dataclasses.dataclass(frozen=True)
class Answer:
    """What both services should answer alike."""

    status: int
    body: Any
    challenge: str | None


class Placement:
    """A running placement service."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.url = server.url

    def ask(
        self, token: str | None, path: str = "/resource_providers", method: str = "GET", **more: str
    ) -> Answer:
        """Send a request with a token; `more` are headers, with `_` for `-`."""
        headers = {"OpenStack-API-Version": "placement 1.39", "Accept": "application/json"}
        if token is not None:
            headers["X-Auth-Token"] = token
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        sent = {} if method == "GET" else {"json": {}}
        answer = requests.request(
            method, self.url + path, headers=headers, timeout=PATIENCE, **sent
        )
        return Answer(
            answer.status_code, _without_ids(answer.text), answer.headers.get("www-authenticate")
        )

    def status(self, token: str | None) -> int:
        """Return the status that a listing of the providers is answered with."""
        return self.ask(token).status


def _without_ids(text: str) -> Any:
    try:
        return json.loads(re.sub(r"req-[0-9a-f-]{36}", "req-id", text))
    except ValueError:
        return text


Start = Callable[..., Server]


def start_ours(start: Start, folder: Path, port: int | None = None, **chosen: str) -> Placement:
    """Start `placement-api`, with options of [keystone_authtoken]."""
    port = port or free_port()
    command = [needed("placement-api", "berth"), "--port", str(port), "--workers", "1"]
    return _started(start, command, port, folder / "ours.db", chosen)


def start_reference(start: Start, folder: Path, interpreter: str, **chosen: str) -> Placement:
    """Start OpenStack Placement under gunicorn, with options of [keystone_authtoken]."""
    port = free_port()
    command = [str(Path(interpreter).with_name("gunicorn")), "--bind", f"127.0.0.1:{port}"]
    command += ["--workers", "1", "placement.wsgi.api:application"]
    # our packages aren't for the reference
    return _started(start, command, port, folder / "reference.db", chosen, PYTHONPATH=None)


def _started(
    start: Start,
    command: list[str],
    port: int,
    database: Path,
    chosen: dict[str, str],
    **environ: str | None,
) -> Placement:
    named = {f"{PREFIX}{name.upper()}": value for name, value in chosen.items()}
    environ |= {
        "OS_API__AUTH_STRATEGY": "keystone",
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
    }
    return Placement(start(command, f"http://127.0.0.1:{port}", **environ, **named))

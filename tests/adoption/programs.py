"""The two programs, their services and their commands, on the database of a test."""

import contextlib
import http.client
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from placement.compare.answers import ReceivedAnswer
from tests.patience import PATIENCE
from tests.reference.environment import SCHEMES
from tests.reference.script import Request
from tests.reference.starting import Starter, plain_environ, wait_for

LATEST = "1.39"


class Service:
    """A running service; `name` is the name of its program."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.port = port

    def send(self, request: Request) -> ReceivedAnswer:
        """Send a request and return the response."""
        text = request.text()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            # the same name for both services, because some responses repeat it
            headers = {**request.all_headers(), "Host": "placement.test"}
            connection.request(request.method, request.path, text, headers)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return ReceivedAnswer(response.status, found, response.read())

    def do(self, method: str, path: str, body: Any = None, version: str = LATEST) -> ReceivedAnswer:
        """Send a request that must succeed and return the response."""
        answer = self.send(Request(method, path, body, version))
        assert answer.status < 300, (self.name, method, path, answer.status, answer.body)
        return answer

    def get(self, path: str, version: str = LATEST) -> Any:
        """Return the JSON body of a GET request that must succeed."""
        return json.loads(self.do("GET", path, version=version).body)


class Program:
    """One of the two programs, installed in the environment of an interpreter.

    :param folder: working directory of its services; created here
    """

    def __init__(self, name: str, interpreter: str, folder: Path) -> None:
        self.name = name
        self._commands = Path(interpreter).parent
        self._starter = Starter(interpreter, folder)

    @contextlib.contextmanager
    def serving(self, url: str, sync: bool = False, **options: str) -> Iterator[Service]:
        """Run the program's service on a database; only one service at a time.

        :param sync: whether the service brings the schema up to date when it starts
        :param options: by the names of their environment variables, without `OS_`
        """
        if sync:
            options["PLACEMENT_DATABASE__SYNC_ON_STARTUP"] = "true"
        port = self._starter.serve(self._url(url), **options)
        try:
            wait_for(port)
            yield Service(self.name, port)
        finally:
            self._starter.stop()

    def run(self, url: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the program's commands on a database."""
        return subprocess.run(
            [self._commands / program, *arguments],
            env=plain_environ() | {"OS_PLACEMENT_DATABASE__CONNECTION": self._url(url)},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    def manage(self, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `placement-manage db …`."""
        return self.run(url, "placement-manage", "db", *arguments)

    def sync(self, url: str) -> None:
        """Run `placement-manage db sync`, which must succeed without output."""
        done = self.manage(url, "sync")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr

    def close(self) -> None:
        """Stop all processes."""
        self._starter.close()

    def _url(self, url: str) -> str:
        if self.name == "reference":
            for scheme, with_driver in SCHEMES.items():
                if url.startswith(scheme):
                    return url.replace(scheme, with_driver, 1)
        return url

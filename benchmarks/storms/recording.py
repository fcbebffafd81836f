"""What clients of a storm write down: every request with its answer, one line of JSON each."""

import json
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import requests
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

#: seconds that a client waits for an answer: longer than the service takes at most
PATIENCE = 75
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
ALLOCATIONS = "/allocations"


class RecordedRequest(NamedTuple):
    """One request and its answer.

    :param at: when it was sent, in seconds of the Unix time
    :param took: seconds until the answer, or until there was none
    :param case: the instance that it was about, for schedulers
    :param service: the number of the service
    :param status: None: no answer came
    :param text: of a refusal; of the answer to a read of allocations
    """

    at: float
    took: float
    case: str
    service: int
    method: str
    path: str
    body: Any
    status: int | None
    text: str

    @property
    def kind(self) -> str:
        """The method with the path, without what differs between objects."""
        return f"{self.method} {UUID.sub('{uuid}', self.path.partition('?')[0])}"

    @property
    def is_of_allocations(self) -> bool:
        """Whether it reads or writes the allocations of consumers."""
        return self.path.startswith(ALLOCATIONS)


class Log:
    """A file of requests, which threads share."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def add(self, asked: RecordedRequest) -> None:
        """Write a line."""
        line = json.dumps(asked)
        with self._lock:
            self._file.write(f"{line}\n")

    def close(self) -> None:
        """Write everything to the file."""
        self._file.close()


def read(paths: Sequence[Path]) -> Iterator[RecordedRequest]:
    """Yield what the files have, each file in its order."""
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield RecordedRequest(*json.loads(line))


class RecordingAdapter(Adapter):
    """Sends requests to one of some services, as a load balancer does, and records them.

    After an answer 503, or none, the next request goes to another service.

    :param services: their URLs
    """

    def __init__(self, services: Sequence[str], log: Log) -> None:
        # a connection of its own, as each host has one
        session = Session(auth=Token(services[0], "admin"), session=requests.Session())
        super().__init__(
            session,
            service_type="placement",
            raise_exc=False,
            connect_retries=0,
            additional_headers={"x-roles": "admin,service"},
        )
        #: the instance that the next requests are about
        self.case = ""
        #: of the last answer; None: none came
        self.last_status: int | None = None
        self._services = services
        self._log = log
        self._choose(random.randrange(len(services)))

    def _choose(self, number: int) -> None:
        self._number = number % len(self._services)
        self.endpoint_override = self._services[self._number]

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        """Send the request and record it; raises keystoneauth1's exceptions without an answer."""
        at, status, text = time.time(), None, ""
        service = self._number
        try:
            response = super().request(url, method, timeout=PATIENCE, **kwargs)
            status = response.status_code
            if status >= 400:
                text = response.text[:600]
            elif method == "GET" and url.startswith(ALLOCATIONS + "/"):
                text = response.text
        finally:
            took, body = time.time() - at, None
            if url.startswith(ALLOCATIONS):
                body = kwargs.get("json")
            self.last_status = status
            self._log.add(
                RecordedRequest(at, took, self.case, service, method, url, body, status, text)
            )
            if status is None or status == 503:
                self._choose(service + 1)
        return response

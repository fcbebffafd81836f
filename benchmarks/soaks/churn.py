"""What comes and goes: names, providers, traits, aggregates, consumers, and questions about them.

A round leaves the database as it was. All that it makes has names and uuids that no other round
has; so whatever a worker keeps by name, uuid or query without a bound grows with the rounds. What
no service ever removes – projects, users, types of consumers, aggregates – is from small sets.
"""

import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

#: how many there are of what is never removed
FEW = 7
AGGREGATES = [str(uuid.UUID(int=number + (0xA66 << 96))) for number in range(FEW)]
EXTENSIONS = "/berth/v1"


#: sends a request, given by method, path and body; returns status and body of the answer
Send = Callable[[str, str, Any], tuple[int, Any]]


class Unexpected(Exception):
    """The service answered what it mustn't."""


class Round:
    """One round, with a number that no other round has; `steps` runs it.

    :param source: chooses what is asked
    """

    def __init__(self, send: Send, number: int, source: random.Random) -> None:
        self._request, self._number, self._random = send, number, source
        self._name = f"CUSTOM_SOAK_{number}"
        self._root, self._child, self._consumer, self._claimed = (
            str(uuid.UUID(int=source.getrandbits(128), version=4)) for _ in range(4)
        )

    def steps(self) -> Iterator[str]:
        """Run the round; yield after each request what kind it was: write, search or read.

        Raises Unexpected.
        """
        yield from self._make()
        yield from self._claim()
        yield from self._ask()
        yield from self._be_refused()
        yield from self._write_tree()
        yield from self._remove()

    def _send(self, method: str, path: str, body: Any = None, *expected: int) -> Any:
        status, answer = self._request(method, path, body)
        if status not in (expected or (200,)):
            raise Unexpected(f"{method} {path}: {status} {str(answer)[:500]}")
        return answer

    def _make(self) -> Iterator[str]:
        name, root = self._name, f"/resource_providers/{self._root}"
        self._send("PUT", f"/resource_classes/{name}", None, 201)
        yield "write"
        self._send("PUT", f"/traits/{name}", None, 201)
        yield "write"
        for own, parent in ((self._root, None), (self._child, self._root)):
            body = {"name": f"soak {own}", "uuid": own, "parent_provider_uuid": parent}
            self._send("POST", "/resource_providers", body)
            yield "write"
        inventories = {name: {"total": 4}, "VCPU": {"total": 8}}
        stock = {"resource_provider_generation": 0, "inventories": inventories}
        self._send("PUT", f"{root}/inventories", stock)
        yield "write"
        self._send("PUT", f"{root}/traits", {"resource_provider_generation": 1, "traits": [name]})
        yield "write"
        aggregates = {"resource_provider_generation": 2, "aggregates": [self._few(AGGREGATES)]}
        self._send("PUT", f"{root}/aggregates", aggregates)
        yield "write"

    def _few(self, choices: list[str]) -> str:
        return choices[self._number % FEW]

    def _owner(self) -> dict[str, str]:
        number = self._number % FEW
        return {
            "project_id": f"soak-project-{number}",
            "user_id": f"soak-user-{number}",
            "consumer_type": f"SOAK_{number}",
        }

    def _holding(self, generation: int | None, allocations: Any) -> dict[str, Any]:
        return {
            "allocations": allocations,
            "consumer_generation": generation,
            **self._owner(),
        }

    def _claim(self) -> Iterator[str]:
        """Let a consumer hold something of the new provider, and another one of any host."""
        wanted = {self._root: {"resources": {self._name: 1, "VCPU": 2}}}
        self._send("PUT", f"/allocations/{self._consumer}", self._holding(None, wanted), 204)
        yield "write"
        found = self._send("GET", f"/allocation_candidates?{self._query()}&limit=5")
        yield "search"
        for candidate in found["allocation_requests"]:
            body = self._holding(None, candidate["allocations"])
            self._send("PUT", f"/allocations/{self._claimed}", body, 204, 409)
            yield "write"
            held = self._send("GET", f"/allocations/{self._claimed}")
            yield "read"
            if held["allocations"]:
                break

    def _query(self) -> str:
        """Return a query for room on some hosts that hardly any other round has."""
        memory = self._random.randrange(1, 100_000)
        return f"resources=MEMORY_MB:{memory},DISK_GB:{self._random.randrange(1, 100)}"

    def _ask(self) -> Iterator[str]:
        name, root = self._name, f"/resource_providers/{self._root}"
        position = self._send("GET", f"{EXTENSIONS}/changes")["position"]
        yield "read"
        found = self._send("GET", f"/allocation_candidates?resources={name}:1&required={name}")
        yield "search"
        if list(found["provider_summaries"]) != [self._root, self._child]:
            raise Unexpected(f"a search finds {found}, not {self._root}")
        self._send("GET", f"/allocation_candidates?{self._query()}&limit=10&required=!{name}")
        yield "search"
        consumer = {"uuid": str(uuid.uuid4()), **self._owner()}
        body = {"query": f"resources={name}:2&in_tree={self._root}", "consumers": [consumer]}
        self._send("POST", f"{EXTENSIONS}/claims", body)
        yield "write"
        self._send("DELETE", f"/allocations/{consumer['uuid']}", None, 204)
        yield "write"
        for path in (
            root,
            f"{root}/inventories",
            f"{root}/usages",
            f"{root}/allocations",
            f"{root}/traits",
            f"{root}/aggregates",
            f"/resource_providers?in_tree={self._root}",
            f"/resource_providers?name={quote(f'soak {self._root}')}",
            f"/resource_providers?resources={name}:1&required={name}",
            f"/allocations/{self._consumer}",
            f"/usages?project_id=soak-project-{self._number % FEW}",
            f"/usages?project_id={uuid.uuid4()}",
            f"/traits?name=startswith:{name}",
            f"{EXTENSIONS}/changes?after={position}",
            f"{EXTENSIONS}/provider_trees?in_tree={self._root}",
            f"{EXTENSIONS}/capacity?resources={name}:1",
        ):
            self._send("GET", path)
            yield "read"

    def _be_refused(self) -> Iterator[str]:
        """Ask for what isn't there, and write what isn't allowed."""
        wrong, root = f"{self._name}_WRONG", f"/resource_providers/{self._root}"
        self._send("GET", f"/allocation_candidates?resources={wrong}:1", None, 400)
        yield "search"
        self._send("GET", f"/resource_providers/{uuid.uuid4()}", None, 404)
        yield "read"
        self._send("GET", f"/{wrong}/{uuid.uuid4()}", None, 404)
        yield "read"
        stock = {"resource_provider_generation": 99, "inventories": {}}
        self._send("PUT", f"{root}/inventories", stock, 409)
        yield "write"
        self._send("DELETE", root, None, 409)
        yield "write"
        too_much = {self._root: {"resources": {self._name: 99}}}
        self._send("PUT", f"/allocations/{uuid.uuid4()}", self._holding(None, too_much), 409)
        yield "write"

    def _write_tree(self) -> Iterator[str]:
        """Write the tree as a whole, with a child more."""
        generation = self._send("GET", f"/resource_providers/{self._root}")["generation"]
        yield "read"
        more = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        path = f"{EXTENSIONS}/provider_trees/{self._root}"
        new = {"generation": None, "name": f"soak {more}", "parent_provider_uuid": self._root}
        body = {"providers": {self._root: {"generation": generation}, more: new}}
        self._send("PUT", path, body)
        yield "write"
        self._send("PUT", path, {"remove": {more: 0}})
        yield "write"

    def _remove(self) -> Iterator[str]:
        for consumer in (self._consumer, self._claimed):
            # the second one has nothing if others took what was found
            self._send("DELETE", f"/allocations/{consumer}", None, 204, 404)
            yield "write"
        for path in (
            f"/resource_providers/{self._child}",
            f"/resource_providers/{self._root}",
            f"/resource_classes/{self._name}",
            f"/traits/{self._name}",
        ):
            self._send("DELETE", path, None, 204)
            yield "write"

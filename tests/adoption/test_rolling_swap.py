"""Both services use one database at the same time, as when workers are replaced one by one."""

import json
import threading
import time

import pytest

from tests.adoption import cloud
from tests.adoption.comparison import Answers
from tests.adoption.test_taking_over import AUDIT
from tests.functional.placement.small_cloud import holding, numbered, stock
from tests.patience import PATIENCE
from tests.reference.script import Request

#: number of concurrent clients. On SQLite the reference returns 500 ("database is locked") while
#: another process writes, so there is only one client
CLIENTS = {"sqlite": 1, "postgresql": 4, "mariadb": 4}
ROUNDS = 8
SHARED = numbered("a", 900)
#: the clients request this much more than the inventory has
TOO_FEW = 5
BUSY = "placement.concurrent_update"
#: maximum number of conflicts with other clients for one request
TRIES = 1000


class Client(threading.Thread):
    """A client that sends its requests to the services in turn, as a load balancer would.

    `claimed` are the consumers that got an allocation; `wrong` are unexpected results.
    """

    def __init__(self, number, services):
        super().__init__()
        self._number = number
        self._services = services
        self._turn = number
        self.claimed = set()
        self.wrong = []

    def run(self):
        for turn in range(ROUNDS):
            self._claim(numbered("c", 1000 + self._number * ROUNDS + turn))
            self._own(turn)

    def send(self, method, path, body=None):
        """Send a request; repeat it after a conflict with another client."""
        for _ in range(TRIES):
            self._turn += 1
            service = self._services[self._turn % len(self._services)]
            answer = service.send(Request(method, path, body, "1.39"))
            said = json.loads(answer.body) if answer.body else {}
            if answer.status >= 500:
                self.wrong.append((service.name, method, path, answer.status, answer.body[:2000]))
            if answer.status != 409 or said["errors"][0]["code"] != BUSY:
                break
        return answer.status, said

    def expect(self, found, wanted):
        if found != wanted:
            self.wrong.append((found, wanted))

    def _claim(self, consumer):
        status, said = self.send(
            "PUT", f"/allocations/{consumer}", holding({SHARED: {"VCPU": 1}}, user=consumer[-2:])
        )
        if status == 204:
            self.claimed.add(consumer)
        else:
            self.expect((status, said["errors"][0]["code"]), (409, "placement.undefined_code"))
        # ask the other service
        _, said = self.send("GET", f"/allocations/{consumer}")
        self.expect(bool(said["allocations"]), status == 204)

    def _own(self, turn):
        """Create, change and perhaps delete a provider; the other service must see each step."""
        uuid = numbered("a", 1000 + self._number * ROUNDS + turn)
        path = f"/resource_providers/{uuid}"
        self.expect(self.send("POST", "/resource_providers", {"uuid": uuid, "name": uuid})[0], 200)
        self.expect(self.send("PUT", f"{path}/inventories", stock(0, DISK_GB=9))[0], 200)
        body = {"traits": ["CUSTOM_FAST"], "resource_provider_generation": 1}
        self.expect(self.send("PUT", f"{path}/traits", body)[0], 200)
        self.expect(self.send("GET", path)[1].get("generation"), 2)
        if turn % 2:
            self.expect(self.send("DELETE", path)[0], 204)
            self.expect(self.send("GET", path)[0], 404)


@pytest.fixture
def count(database_kind):
    """Return the number of clients."""
    return CLIENTS[database_kind]


@pytest.fixture
def services(reference, ours, empty_url, count):
    """Yield both services, on a database that the reference created."""
    with reference.serving(empty_url, sync=True) as theirs:
        cloud.build(theirs)
        theirs.do("POST", "/resource_providers", {"uuid": SHARED, "name": "shared"})
        theirs.do(
            "PUT",
            f"/resource_providers/{SHARED}/inventories",
            stock(0, VCPU=count * ROUNDS - TOO_FEW),
        )
        # take over the database while the reference is serving
        ours.sync(empty_url)
        with ours.serving(empty_url, BERTH__SNAPSHOT_AUDIT_INTERVAL=AUDIT) as mine:
            yield theirs, mine


def test_concurrent_clients_of_both_services_lose_no_update(services, count):
    clients = [Client(number, services) for number in range(count)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    theirs, mine = services

    assert [wrong for client in clients for wrong in client.wrong] == []
    claimed = set().union(*(client.claimed for client in clients))
    held = mine.get(f"/resource_providers/{SHARED}/allocations")["allocations"]
    assert set(held) == claimed
    assert len(claimed) == count * ROUNDS - TOO_FEW
    end = time.monotonic() + PATIENCE
    while (left := Answers(theirs).differences(Answers(mine))) and time.monotonic() < end:
        # only allocation candidates may be outdated until the audit
        assert {line.partition("?")[0] for line in left} == {"/allocation_candidates"}
    assert left == []

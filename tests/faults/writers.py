"""Writers that know what the database must have after each of their requests.

Each writer has two consumers and two providers of its own, and all writers allocate from one shared
provider. A consumer's generation follows from its allocations, so a partial write is detected.
"""

import copy
import dataclasses
import random
from collections.abc import Callable
from typing import Any

from tests.faults.running import NO_ANSWER, Client

SHARED = "50000000-0000-4000-8000-000000000000"
#: at times less than the writers request together
SHARED_TOTAL = 30
OWN_TOTAL = 100
#: a consumer with this amount of each class releases it
MOST = 6

Holding = dict[str, dict[str, int]]


def numbered(letter: str, writer: int, number: int) -> str:
    return f"{letter}0000000-0000-4000-8000-{writer:06d}{number:06d}"


@dataclasses.dataclass
class Part:
    """The rows of one writer.

    :param generations: of its consumers, which exist only while they have allocations
    :param held: allocations of its consumers
    :param stocks: inventories of its providers: `{provider: {class: total}}`
    :param provider_generations: of its providers
    :param roots: of the trees of its providers
    :param shared_steps: how often it has incremented the shared provider's generation
    """

    generations: dict[str, int]
    held: dict[str, Holding]
    stocks: dict[str, dict[str, int]]
    provider_generations: dict[str, int]
    roots: dict[str, str]
    shared_steps: int = 0


Request = tuple[str, str, Any]
#: a request, and the writer's rows after its success
Plan = tuple[Request, Part]


class Writer:
    """Sends random writes, one after the other.

    `part` has the expected rows. After an unanswered request, `maybe` has the rows in case that it
    succeeded.
    """

    def __init__(self, number: int, source: random.Random) -> None:
        self.number = number
        self.consumers = [numbered("c", number, i) for i in range(2)]
        self.providers = [numbered("a", number, i) for i in range(2)]
        self.part = Part(
            {},
            {},
            {p: {} for p in self.providers},
            dict.fromkeys(self.providers, 0),
            {p: p for p in self.providers},
        )
        self.maybe: Part | None = None
        self.granted = 0
        self.wrong: list[str] = []
        self._source = source

    def make(self, client: Client) -> None:
        """Create the writer's providers; the first one offers VGPUs."""
        for number, uuid in enumerate(self.providers):
            body = {"name": f"own {self.number} {number}", "uuid": uuid}
            assert client.post("/resource_providers", body).status == 200
        (method, path, body), after = self._stock(self.providers[0], {"VGPU": OWN_TOTAL})
        assert client.request(method, path, body).status == 200
        self.part = after

    def run(self, client: Client, stopped: Callable[[], bool]) -> None:
        """Write until stopped, or until a request gets no response."""
        while not stopped():
            (method, path, body), after = self._plan()
            try:
                answer = client.request(method, path, body)
            except NO_ANSWER:
                self.maybe = after
                return
            if answer.status < 300:
                self.part = after
                self.granted += 1
            elif answer.status == 503:
                # the write failed, or its commit's result is unknown
                self.maybe = after
                return
            elif answer.code != "placement.undefined_code" or answer.status != 409:
                # only a lack of capacity may be the reason; the writer causes no other error
                self.wrong.append(f"{method} {path} {body}: {answer}")

    def settle(self, found: Part) -> bool:
        """Accept the rows that were found; they must be one of the possible states.

        Returns whether an unanswered request succeeded.
        """
        assert found in (self.part, self.maybe or self.part), (found, self.part, self.maybe)
        done = self.maybe is not None and found == self.maybe
        self.part, self.maybe = found, None
        return done

    def _plan(self) -> Plan:
        full = [c for c in self.consumers if self.part.generations.get(c, 0) >= MOST]
        if full:
            return self._source.choice([self._release, self._give_up])(full[0])
        consumer = self._source.choice(self.consumers)
        held = self._source.choice([*self.part.held, None])
        plans = [
            lambda: self._claim([consumer]),
            lambda: self._claim(self.consumers),
            self._move,
            self._turn,
            lambda: self._stock(self._away, {"DISK_GB": self._source.randrange(1, 1000)}),
        ]
        if held is not None:
            plans += [lambda: self._release(held), lambda: self._give_up(held)]
        return self._source.choice(plans)()

    @property
    def _home(self) -> str:
        """Return the provider that offers VGPUs."""
        return next(p for p in self.providers if "VGPU" in self.part.stocks[p])

    @property
    def _away(self) -> str:
        return next(p for p in self.providers if "VGPU" not in self.part.stocks[p])

    def _wish(self, consumer: str, held: Holding) -> dict[str, Any]:
        return {
            "allocations": {uuid: {"resources": amounts} for uuid, amounts in held.items()},
            "project_id": "p",
            "user_id": f"u{self._source.randrange(3)}",
            "consumer_type": "INSTANCE",
            "consumer_generation": self.part.generations.get(consumer),
        }

    def _claim(self, consumers: list[str]) -> Plan:
        """Return a write that adds one to the consumers' allocations from two providers."""
        after, wishes = copy.deepcopy(self.part), {}
        for consumer in consumers:
            generation = self.part.generations.get(consumer, 0) + 1
            held = {SHARED: {"VCPU": generation}, self._home: {"VGPU": generation}}
            wishes[consumer] = self._wish(consumer, held)
            after.generations[consumer], after.held[consumer] = generation, held
        after.shared_steps += 1
        after.provider_generations[self._home] += 1
        if len(consumers) > 1:
            return ("POST", "/allocations", wishes), after
        return ("PUT", f"/allocations/{consumers[0]}", wishes[consumers[0]]), after

    def _release(self, consumer: str) -> Plan:
        """Return a DELETE, which changes no provider's generation."""
        after = copy.deepcopy(self.part)
        del after.generations[consumer], after.held[consumer]
        return ("DELETE", f"/allocations/{consumer}", None), after

    def _give_up(self, consumer: str) -> Plan:
        """Return an empty PUT, which increments the providers' generations."""
        _, after = self._release(consumer)
        after.shared_steps += 1
        after.provider_generations[self._home] += 1
        return ("PUT", f"/allocations/{consumer}", self._wish(consumer, {})), after

    def _stock(self, provider: str, totals: dict[str, int]) -> Plan:
        after = copy.deepcopy(self.part)
        after.stocks[provider] = totals
        after.provider_generations[provider] += 1
        path = f"/resource_providers/{provider}/inventories"
        return ("PUT", path, self._offer(provider, totals)), after

    def _offer(self, provider: str, totals: dict[str, int]) -> dict[str, Any]:
        return {
            "resource_provider_generation": self.part.provider_generations[provider],
            "inventories": {name: {"total": total} for name, total in totals.items()},
        }

    def _move(self) -> Plan:
        """Return a reshape that moves the VGPUs and their allocations to the other provider."""
        home, away = self._home, self._away
        after, wishes = self._moved()
        after.provider_generations[home] += 1
        # the three rounds of a reshape (rest-api.md 4.4)
        after.provider_generations[away] += 3 if wishes else 2
        offers = {away: self._offer(away, after.stocks[away]), home: self._offer(home, {})}
        return ("POST", "/reshaper", {"inventories": offers, "allocations": wishes}), after

    def _turn(self) -> Plan:
        """Return a write of a tree: the same move, and the other provider becomes the root."""
        home, away = self._home, self._away
        after, wishes = self._moved()
        providers: dict[str, dict[str, Any]] = {}
        for uuid, parent in ((home, away), (away, None)):
            offer = self._offer(uuid, after.stocks[uuid])
            providers[uuid] = {
                "generation": offer["resource_provider_generation"],
                "inventories": offer["inventories"],
                "parent_provider_uuid": parent,
            }
            after.provider_generations[uuid] += 1
        after.roots = {home: away, away: away}
        body = {"providers": providers, "allocations": wishes}
        return ("PUT", f"/berth/v1/provider_trees/{away}", body), after

    def _moved(self) -> tuple[Part, dict[str, Any]]:
        """Return the rows after the VGPUs went to the other provider, and the consumers' bodies.

        The generations of the writer's providers are those before.
        """
        home, away = self._home, self._away
        after, wishes = copy.deepcopy(self.part), {}
        after.stocks[home], after.stocks[away] = {}, {"VGPU": OWN_TOTAL}
        for consumer, held in self.part.held.items():
            moved = {away if uuid == home else uuid: amounts for uuid, amounts in held.items()}
            # one more than now, because the amounts don't change
            generation = self.part.generations[consumer] + 1
            moved = {uuid: dict.fromkeys(amounts, generation) for uuid, amounts in moved.items()}
            wishes[consumer] = self._wish(consumer, moved)
            after.generations[consumer], after.held[consumer] = generation, moved
        after.shared_steps += 1 if wishes else 0
        return after, wishes

"""Writers that know what the database must hold after each of their requests.

Each has two consumers and two providers of its own, and all claim from one provider they share.
What a consumer holds tells its generation, so half of a write shows.
"""

import copy
import dataclasses
import random
from collections.abc import Callable
from typing import Any

from tests.faults.running import NO_ANSWER, Client

SHARED = "50000000-0000-4000-8000-000000000000"
#: less than the writers ask for at times
SHARED_TOTAL = 30
OWN_TOTAL = 100
#: a consumer gives back what it holds when it holds so much of each
MOST = 6

Holding = dict[str, dict[str, int]]


def numbered(letter: str, writer: int, number: int) -> str:
    return f"{letter}0000000-0000-4000-8000-{writer:06d}{number:06d}"


@dataclasses.dataclass
class Part:
    """The rows that are one writer's.

    :param generations: of its consumers, which are there only while they hold something
    :param held: what they hold
    :param stocks: what its providers offer: `{provider: {class: total}}`
    :param provider_generations: of its providers
    :param shared_steps: how far it has moved the generation of the shared provider
    """

    generations: dict[str, int]
    held: dict[str, Holding]
    stocks: dict[str, dict[str, int]]
    provider_generations: dict[str, int]
    shared_steps: int = 0


Request = tuple[str, str, Any]
#: what to ask and what is there afterwards if it is granted
Plan = tuple[Request, Part]


class Writer:
    """Sends random writes, one after the other.

    `part` is what its rows must be. When a request wasn't answered, `maybe` is what they are if it
    was granted.
    """

    def __init__(self, number: int, source: random.Random) -> None:
        self.number = number
        self.consumers = [numbered("c", number, i) for i in range(2)]
        self.providers = [numbered("a", number, i) for i in range(2)]
        self.part = Part({}, {}, {p: {} for p in self.providers}, dict.fromkeys(self.providers, 0))
        self.maybe: Part | None = None
        self.granted = 0
        self.wrong: list[str] = []
        self._source = source

    def make(self, client: Client) -> None:
        """Create its providers, the first of which offers VGPUs."""
        for number, uuid in enumerate(self.providers):
            body = {"name": f"own {self.number} {number}", "uuid": uuid}
            assert client.post("/resource_providers", body).status == 200
        (method, path, body), after = self._stock(self.providers[0], {"VGPU": OWN_TOTAL})
        assert client.request(method, path, body).status == 200
        self.part = after

    def run(self, client: Client, stopped: Callable[[], bool]) -> None:
        """Write until stopped, or until a request isn't answered."""
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
                # not done, or broken off at its very end
                self.maybe = after
                return
            elif answer.code != "placement.undefined_code" or answer.status != 409:
                # no room is a refusal; the writer has caused no other
                self.wrong.append(f"{method} {path} {body}: {answer}")

    def settle(self, found: Part) -> bool:
        """Take what is found for what is there; it must be one of what may be.

        Answers whether a request that wasn't answered was granted.
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
            lambda: self._stock(self._away, {"DISK_GB": self._source.randrange(1, 1000)}),
        ]
        if held is not None:
            plans += [lambda: self._release(held), lambda: self._give_up(held)]
        return self._source.choice(plans)()

    @property
    def _home(self) -> str:
        """The provider that offers VGPUs."""
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
        """Have consumers hold one more than before, of two providers."""
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
        """DELETE, which moves no provider's generation."""
        after = copy.deepcopy(self.part)
        del after.generations[consumer], after.held[consumer]
        return ("DELETE", f"/allocations/{consumer}", None), after

    def _give_up(self, consumer: str) -> Plan:
        """An empty PUT, which moves them."""
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
        """Reshape the VGPUs and who holds them to the other provider."""
        home, away = self._home, self._away
        after, wishes = copy.deepcopy(self.part), {}
        after.stocks[home], after.stocks[away] = {}, {"VGPU": OWN_TOTAL}
        for consumer, held in self.part.held.items():
            moved = {away if uuid == home else uuid: amounts for uuid, amounts in held.items()}
            # it still holds as much as its generation says
            generation = self.part.generations[consumer] + 1
            moved = {uuid: dict.fromkeys(amounts, generation) for uuid, amounts in moved.items()}
            wishes[consumer] = self._wish(consumer, moved)
            after.generations[consumer], after.held[consumer] = generation, moved
        after.provider_generations[home] += 1
        # as the three rounds of a reshape move them (rest-api.md 4.4)
        after.provider_generations[away] += 3 if wishes else 2
        after.shared_steps += 1 if wishes else 0
        offers = {away: self._offer(away, after.stocks[away]), home: self._offer(home, {})}
        return ("POST", "/reshaper", {"inventories": offers, "allocations": wishes}), after

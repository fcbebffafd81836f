"""Client processes that send random requests about a few providers and consumers, with times.

All processes use one clock of the machine.
"""

import contextlib
import dataclasses
import functools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.concurrency.history import Call
from tests.concurrency.model import (
    CONFLICT,
    DONE,
    IN_USE,
    KEPT,
    MISPLACED,
    MISSING,
    NO_CANDIDATE,
    REFUSED,
    Amounts,
    Change,
    Claim,
    Operation,
    ReadConsumer,
    ReadPlace,
    ReadProvider,
    ReadUsage,
    Release,
    Reshape,
    Restock,
    Search,
    Wish,
    Write,
    WriteTree,
)
from tests.faults.running import NO_ANSWER, Answer, Client
from tests.functional.forked import PROCESSES
from tests.patience import PATIENCE

CLASS = "VCPU"
PROVIDERS = 3
CONSUMERS = 4
#: inventory of each provider at first, which is less than all consumers request together
TOTAL = 6


@dataclasses.dataclass(frozen=True)
class Task:
    """The task of one client.

    :param path: path of the service's socket
    :param history: number that separates the providers and consumers of one history from those of
        others
    :param calls: number of calls
    """

    path: str
    history: int
    number: int
    calls: int
    seed: int


def provider_uuid(history: int, number: int) -> str:
    return f"a0000000-0000-4000-8000-{history:06d}{number:06d}"


def consumer_uuid(history: int, number: int) -> str:
    return f"c0000000-0000-4000-8000-{history:06d}{number:06d}"


class Wire:
    """Sends operations of the model as requests, and translates the responses back."""

    def __init__(self, client: Client, history: int) -> None:
        self._client = client
        self._providers = [provider_uuid(history, n) for n in range(PROVIDERS)]
        self._consumers = [consumer_uuid(history, n) for n in range(CONSUMERS)]
        self._number = {uuid: number for number, uuid in enumerate(self._providers)}

    def perform(self, operation: Operation) -> Any:
        """Send an operation; return the model's result, or the response if the model has none."""
        perform: Callable[[Any], Any] = getattr(self, f"_{type(operation).__name__.lower()}")
        return perform(operation)

    def _write(self, write: Write) -> Any:
        wishes = self._wishes(write.wishes)
        if len(wishes) > 1:
            return _outcome(self._client.post("/allocations", wishes))
        ((uuid, wish),) = wishes.items()
        return _outcome(self._client.put(f"/allocations/{uuid}", wish))

    def _wishes(self, wishes: tuple[Wish, ...]) -> dict[str, Any]:
        return {
            self._consumers[wish.consumer]: {
                "allocations": {
                    self._providers[provider]: {"resources": {CLASS: amount}}
                    for provider, amount in wish.holds
                },
                "project_id": "p",
                "user_id": "u",
                "consumer_type": "INSTANCE",
                "consumer_generation": wish.generation,
            }
            for wish in wishes
        }

    def _claim(self, claim: Claim) -> Any:
        uuid = self._consumers[claim.consumer]
        owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
        body = {
            "query": f"resources={CLASS}:{claim.amount}&in_tree={self._providers[claim.tree]}",
            "consumers": [{"uuid": uuid, **owner}],
        }
        answer = self._client.post("/berth/v1/claims", body)
        if answer.status != 200:
            return _outcome(answer)
        got = answer.body["consumers"][uuid]
        ((chosen, given),) = got["allocations"].items()
        assert got["mappings"] == {"": [chosen]}, answer
        assert given == {"resources": {CLASS: claim.amount}}, answer
        return DONE, got["consumer_generation"], self._number[chosen]

    def _release(self, release: Release) -> Any:
        answer = self._client.delete(f"/allocations/{self._consumers[release.consumer]}")
        return MISSING if answer.status == 404 else _outcome(answer)

    def _restock(self, restock: Restock) -> Any:
        body = _stock(restock.generation, restock.total)
        path = f"/resource_providers/{self._providers[restock.provider]}/inventories"
        return _outcome(self._client.put(path, body))

    def _reshape(self, reshape: Reshape) -> Any:
        source, target = self._providers[reshape.source], self._providers[reshape.target]
        body = {
            "inventories": {
                source: _stock(reshape.generations[0], None),
                target: _stock(reshape.generations[1], reshape.total),
            },
            "allocations": self._wishes(reshape.wishes),
        }
        return _outcome(self._client.post("/reshaper", body))

    def _writetree(self, write: WriteTree) -> Any:
        providers: dict[str, dict[str, Any]] = {}
        for change in write.changes:
            wanted = providers[self._providers[change.provider]] = {
                "generation": change.generation,
                "parent_provider_uuid": self._uuid(change.parent),
            }
            if change.total != KEPT:
                totals = {} if change.total is None else {CLASS: {"total": change.total}}
                wanted["inventories"] = totals
        body = {"providers": providers, "allocations": self._wishes(write.wishes)}
        answer = self._client.put(f"/berth/v1/provider_trees/{self._uuid(write.root)}", body)
        if answer.status == 400:
            return MISPLACED
        if answer.status != 200:
            return _outcome(answer)
        told = answer.body["generations"].items()
        return DONE, tuple(sorted((self._number[uuid], moved) for uuid, moved in told))

    def _uuid(self, provider: int | None) -> str | None:
        return None if provider is None else self._providers[provider]

    def _readplace(self, read: ReadPlace) -> Any:
        body = _found(self._client.get(f"/resource_providers/{self._providers[read.provider]}"))
        parent = body["parent_provider_uuid"]
        return (
            body["generation"],
            None if parent is None else self._number[parent],
            self._number[body["root_provider_uuid"]],
        )

    def _readconsumer(self, read: ReadConsumer) -> Any:
        body = _found(self._client.get(f"/allocations/{self._consumers[read.consumer]}"))
        holds = (
            (self._number[uuid], held["generation"], held["resources"][CLASS])
            for uuid, held in body["allocations"].items()
        )
        return body.get("consumer_generation"), tuple(sorted(holds))

    def _readprovider(self, read: ReadProvider) -> Any:
        path = f"/resource_providers/{self._providers[read.provider]}/inventories"
        body = _found(self._client.get(path))
        total = body["inventories"].get(CLASS, {}).get("total")
        return body["resource_provider_generation"], total

    def _readusage(self, read: ReadUsage) -> Any:
        path = f"/resource_providers/{self._providers[read.provider]}/usages"
        body = _found(self._client.get(path))
        return body["resource_provider_generation"], body["usages"].get(CLASS, 0)

    def _search(self, _: Search) -> Any:
        body = _found(self._client.get(f"/allocation_candidates?resources={CLASS}:1"))
        offered = {
            uuid for request in body["allocation_requests"] for uuid in request["allocations"]
        }
        summaries = {
            uuid: body["provider_summaries"][uuid]["resources"][CLASS]
            for uuid in offered
            if uuid in self._number
        }
        found = (
            (self._number[uuid], summary["capacity"], summary["used"])
            for uuid, summary in summaries.items()
        )
        return tuple(sorted(found))


def _stock(generation: int, total: int | None) -> dict[str, Any]:
    inventories = {} if total is None else {CLASS: {"total": total}}
    return {"resource_provider_generation": generation, "inventories": inventories}


def _found(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return answer.body


def _outcome(answer: Answer) -> Any:
    if answer.status in (200, 204):
        return DONE
    if answer.status != 409:
        return tuple(answer)
    return {
        "placement.concurrent_update": CONFLICT,
        "placement.undefined_code": REFUSED,
        "placement.inventory.inuse": IN_USE,
        "berth.no_candidate": NO_CANDIDATE,
    }.get(answer.code or "", tuple(answer))


def _possible(operation: Operation) -> list[Operation]:
    """Return what an operation without a response may have been.

    After one of them took effect, the others fail.
    """
    if isinstance(operation, Claim):
        return [dataclasses.replace(operation, chosen=number) for number in range(PROVIDERS)]
    return [operation]


class RandomClient:
    """A client that sends random requests, based on what it saw last, which may be outdated."""

    def __init__(self, wire: Wire, task: Task) -> None:
        self._wire = wire
        self._task = task
        self._source = random.Random(task.seed)
        #: what the client does next
        self._due: list[Callable[[], Operation]] = []
        self._providers: dict[int, tuple[int, int | None]] = dict.fromkeys(
            range(PROVIDERS), (1, TOTAL)
        )
        self._consumers: dict[int, tuple[int | None, Amounts]] = dict.fromkeys(
            range(CONSUMERS), (None, ())
        )

    def run(self) -> Iterator[Call]:
        """Yield the calls. Stop at the first one without a response."""
        for _ in range(self._task.calls):
            operation = self._choose()
            began = time.monotonic()
            try:
                answer = self._wire.perform(operation)
            except NO_ANSWER:
                for possible in _possible(operation):
                    yield Call(self._task.number, began, None, possible)
                return
            if isinstance(operation, Claim) and isinstance(answer, tuple):
                operation = dataclasses.replace(operation, chosen=answer[2])
            yield Call(self._task.number, began, time.monotonic(), operation, answer)
            self._learn(operation, answer)

    def _choose(self) -> Operation:
        if self._due:
            return self._due.pop(0)()
        chance = self._source.random()
        consumer = self._source.randrange(CONSUMERS)
        provider = self._source.randrange(PROVIDERS)
        if chance < 0.12:
            return ReadConsumer(consumer)
        if chance < 0.2:
            return ReadProvider(provider)
        if chance < 0.24:
            return ReadPlace(provider)
        if chance < 0.3:
            return ReadUsage(provider)
        if chance < 0.4:
            return Search()
        if chance < 0.5:
            return Release(consumer)
        if chance < 0.6:
            total = self._source.randint(TOTAL // 2, TOTAL + 2)
            return Restock(provider, self._providers[provider][0], total)
        if chance < 0.65:
            return self._reshape(provider)
        if chance < 0.75:
            return self._tree(provider)
        if chance < 0.82:
            return Write(tuple(map(self._wish, self._source.sample(range(CONSUMERS), 2))))
        if chance < 0.88:
            return Claim(consumer, provider, self._source.randint(1, 2))
        return Write((self._wish(consumer),))

    def _wish(self, consumer: int) -> Wish:
        generation, held = self._consumers[consumer]
        if held and self._source.random() < 0.2:
            return Wish(consumer, generation, ())
        chosen = self._source.sample(range(PROVIDERS), self._source.randint(1, 2))
        holds = tuple((provider, self._source.randint(1, 3)) for provider in sorted(chosen))
        return Wish(consumer, generation, holds)

    def _reshape(self, source: int) -> Reshape:
        """Move a provider's inventory to another one, with the consumers that seem to use it."""
        target = (source + self._source.randint(1, PROVIDERS - 1)) % PROVIDERS
        wishes = []
        for consumer, (generation, held) in self._consumers.items():
            amounts = dict(held)
            if source in amounts:
                amounts[target] = amounts.get(target, 0) + amounts.pop(source)
                wishes.append(Wish(consumer, generation, tuple(sorted(amounts.items()))))
        generations = self._providers[source][0], self._providers[target][0]
        total = (self._providers[source][1] or 0) + (self._providers[target][1] or 0) or TOTAL
        return Reshape(source, target, generations, total, tuple(wishes))

    def _tree(self, root: int) -> WriteTree:
        """Write a tree: sometimes the root alone, mostly others below it, wherever they are now."""
        others = [number for number in range(PROVIDERS) if number != root]
        named = self._source.sample(others, self._source.randint(0, len(others)))
        changes = [self._change(root, None)] if self._source.random() < 0.8 else []
        for number in named:
            above = self._source.choice([root, *named]) if number != named[0] else root
            changes.append(self._change(number, above))
        consumers = self._source.sample(range(CONSUMERS), self._source.choice([0, 0, 1, 2]))
        return WriteTree(root, tuple(changes), tuple(map(self._wish, consumers)))

    def _change(self, provider: int, parent: int | None) -> Change:
        totals = [KEPT, KEPT, None, self._source.randint(TOTAL // 2, TOTAL + 2)]
        return Change(provider, self._providers[provider][0], parent, self._source.choice(totals))

    def _learn(self, operation: Operation, answer: Any) -> None:
        """Remember results of reads, and the effects of successful writes."""
        match operation:
            case ReadConsumer(consumer):
                generation, holds = answer
                self._consumers[consumer] = generation, tuple((p, n) for p, _, n in holds)
                for provider, moved, _ in holds:
                    self._providers[provider] = moved, self._providers[provider][1]
            case ReadProvider(provider):
                self._providers[provider] = answer
            case Claim(consumer, amount=amount) if isinstance(answer, tuple):
                _, moved, provider = answer
                self._consumers[consumer] = moved, ((provider, amount),)
            case Release(consumer):
                self._consumers[consumer] = None, ()
            case Restock(provider, generation, total) if answer == DONE:
                self._providers[provider] = generation + 1, total
            case Write(wishes) | Reshape(wishes=wishes) if answer == DONE:
                for wish in wishes:
                    moved = (wish.generation or 0) + 1 if wish.holds else None
                    self._consumers[wish.consumer] = moved, wish.holds
            case WriteTree(_, changes, wishes) if answer[0] == DONE:
                for provider, generation in answer[1]:
                    self._providers[provider] = generation, self._providers[provider][1]
                for change in changes:
                    if not isinstance(change.total, str):
                        generation = self._providers[change.provider][0]
                        self._providers[change.provider] = generation, change.total
                for wish in wishes:
                    moved = (wish.generation or 0) + 1 if wish.holds else None
                    self._consumers[wish.consumer] = moved, wish.holds
            case WriteTree(root, changes) if answer == CONFLICT and self._source.random() < 0.5:
                self._due = [functools.partial(ReadPlace, change.provider) for change in changes]
                self._due.append(functools.partial(self._tree, root))
            case ReadPlace(provider):
                self._providers[provider] = answer[0], self._providers[provider][1]
            case Write(wishes) if answer == CONFLICT:
                for wish in wishes:
                    self._look_again(wish.consumer)

    def _look_again(self, consumer: int) -> None:
        """Try another generation next time; a read would make conflicts too rare."""
        generation, held = self._consumers[consumer]
        self._consumers[consumer] = (
            (generation or 0) + 1 if self._source.random() < 0.5 else None,
            held,
        )


def make(client: Client, history: int) -> None:
    """Create the providers of a history, in the state of `State.fresh`."""
    for number in range(PROVIDERS):
        uuid = provider_uuid(history, number)
        body = {"name": f"{history} {number}", "uuid": uuid}
        assert client.post("/resource_providers", body).status == 200
        path = f"/resource_providers/{uuid}/inventories"
        assert client.put(path, _stock(0, TOTAL)).status == 200


@contextlib.contextmanager
def at_work(tasks: list[Task]) -> Iterator[Callable[[], list[Call]]]:
    """Start processes that begin together; yield a function that waits for their calls."""
    together = PROCESSES.Barrier(len(tasks) + 1)
    pipes, processes = [], []
    for task in tasks:
        here, there = PROCESSES.Pipe(duplex=False)
        pipes.append(here)
        processes.append(PROCESSES.Process(target=_work, args=(task, together, there)))
        processes[-1].start()
        there.close()
    try:
        together.wait(PATIENCE)
        yield lambda: [call for pipe in pipes for call in pipe.recv()]
    finally:
        for process, pipe in zip(processes, pipes, strict=True):
            # who has told its calls has ended, or is about to
            process.kill()
            process.join()
            process.close()
            pipe.close()


def _work(task: Task, together: Any, told: Any) -> None:
    """In a process of its own: send the requests as soon as all others can."""
    client = RandomClient(Wire(Client(task.path), task.history), task)
    together.wait(PATIENCE)
    told.send(list(client.run()))

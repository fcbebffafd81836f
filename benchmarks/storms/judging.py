"""Whether the database has what the answers promised (promises.rst).

A consumer of a storm is written by one client, one request after the other. So its answers tell
what it may hold: exactly one thing, until the outcome of a write is unknown. Then it may hold what
it held, or what was written, and nothing in between.
"""

import collections
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.storms.recording import ALLOCATIONS, RecordedRequest
from placement.errors import DatabaseUnavailable, OutcomeUnknown
from tests.databases.questions import ask
from tests.faults.running import Answer, Client
from tests.faults.tables import RULES

#: without a limit: all candidates
SEARCHES = ("resources=VCPU:1", "resources=MEMORY_MB:1024,DISK_GB:1", "resources=PCPU:1,VCPU:4")
#: so many that each worker of a service answers some
QUESTIONS = 12
#: what is held by some consumers: (consumer, provider, class, amount)
Held = frozenset[tuple[str, str, str, int]]
#: a write: what each consumer that it names holds afterwards
Written = Mapping[str, Held]
#: the uuid of a root, the totals and traits of its providers, and whether its agent couldn't finish
Tree = tuple[str, Mapping[str, Any], bool]
CONSUMER_CONFLICT = "consumer generation conflict"


def _written(asked: RecordedRequest) -> Written:
    """Return what a write of allocations wants."""
    consumer = asked.path.removeprefix(ALLOCATIONS).removeprefix("/")
    if asked.method == "DELETE":
        return {consumer: frozenset()}
    bodies = asked.body if asked.method == "POST" else {consumer: asked.body}
    return {name: _held(name, body["allocations"]) for name, body in bodies.items()}


def _held(consumer: str, allocations: Mapping[str, Any]) -> Held:
    return frozenset(
        (consumer, provider, name, amount)
        for provider, part in allocations.items()
        for name, amount in part["resources"].items()
    )


def _after(held: Held, written: Written) -> Held:
    kept = {row for row in held if row[0] not in written}
    return frozenset(kept.union(*written.values()))


def is_unknown(asked: RecordedRequest) -> bool:
    """Return whether a write may or may not have happened."""
    return asked.status is None or (asked.status == 503 and OutcomeUnknown.text in asked.text)


def is_promised(asked: RecordedRequest) -> bool:
    """Return whether an answer is none of a server's errors, or a 503 that promises.rst names."""
    if asked.status is None or asked.status < 500:
        return True
    named = (DatabaseUnavailable.text, OutcomeUnknown.text)
    return asked.status == 503 and any(text in asked.text for text in named)


class Case:
    """What an instance and its migrations may hold, by what was answered so far.

    :param name: the instance
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.consumers = {name}
        self.wrong: list[str] = []
        self.possible: set[Held] = {frozenset()}
        #: whether a write that nobody answered may still happen
        self._late = False

    def follow(self, asked: RecordedRequest) -> None:
        """Take a request and its answer into account; they come in order."""
        if asked.method == "GET":
            self._read(asked)
            return
        written = _written(asked)
        self.consumers |= written.keys()
        done = {_after(held, written) for held in self.possible}
        if is_unknown(asked):
            self.possible |= done
            self._late |= asked.status is None
        elif asked.status is not None and asked.status < 300:
            # whoever writes waits for the transactions that have the consumers, so those have ended
            self.possible = self.possible | done if self._late else done
        else:
            self._refused(asked, written)

    def _read(self, asked: RecordedRequest) -> None:
        if asked.status != 200:
            return
        consumer = asked.path.removeprefix(f"{ALLOCATIONS}/")
        shown = _held(consumer, json.loads(asked.text)["allocations"])
        if shown not in {_of(held, consumer) for held in self.possible}:
            self._note(asked, f"shows {sorted(shown)}")

    def _refused(self, asked: RecordedRequest, written: Written) -> None:
        """Judge a refusal: where one thing is known for sure, it must not contradict that."""
        if len(self.possible) > 1 or self._late:
            return
        (held,) = self.possible
        if asked.status == 409 and CONSUMER_CONFLICT in asked.text:
            self._note(asked, "was refused, but nobody else writes this consumer")
        if asked.status == 404 and all(_of(held, consumer) for consumer in written):
            self._note(asked, "was answered 404")

    def _note(self, asked: RecordedRequest, what: str) -> None:
        may = " or ".join(str(sorted(held)) for held in self.possible)
        self.wrong.append(f"{asked.method} {asked.path} at {asked.at:.1f} {what}; may be: {may}")


def _of(held: Held, consumer: str) -> Held:
    return frozenset(row for row in held if row[0] == consumer)


def cases_of(log: Iterable[RecordedRequest]) -> dict[str, Case]:
    """Return what each instance may hold, by its uuid."""
    cases: dict[str, Case] = {}
    for asked in log:
        if asked.is_of_allocations:
            cases.setdefault(asked.case, Case(asked.case)).follow(asked)
    return cases


_HELD = """
    SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a
    JOIN resource_providers p ON p.id = a.resource_provider_id
    JOIN resource_classes c ON c.id = a.resource_class_id
"""


def wrong_allocations(url: str, cases: Mapping[str, Case]) -> Iterator[str]:
    """Yield what the database has and must not have, or hasn't and must have."""
    found: dict[str, set[tuple[str, str, str, int]]] = collections.defaultdict(set)
    owners = {consumer: case.name for case in cases.values() for consumer in case.consumers}
    rows = ask(url, _HELD)
    for consumer, provider, name, used in rows:
        if consumer not in owners:
            yield f"{consumer} holds {used} {name} of {provider}, and nobody claimed that"
            continue
        row = (consumer, provider, name, int(used))
        if row in found[owners[consumer]]:
            yield f"{row} is there twice"
        found[owners[consumer]].add(row)
    for case in cases.values():
        yield from case.wrong
        if found[case.name] not in case.possible:
            may = " or ".join(str(sorted(held)) for held in case.possible)
            yield f"{case.name} has {sorted(found[case.name])}; may be: {may}"


def broken_rules(url: str) -> Iterator[str]:
    """Yield the rows that break a rule of the tables, such as usage over capacity."""
    for name, question in RULES.items():
        for row in ask(url, question):
            yield f"{name}: {row}"


_PROVIDERS = """
    SELECT p.name, p.uuid, r.name FROM resource_providers p
    JOIN resource_providers r ON r.id = p.root_provider_id
"""
_STOCK = """
    SELECT p.name, c.name, i.total FROM inventories i
    JOIN resource_providers p ON p.id = i.resource_provider_id
    JOIN resource_classes c ON c.id = i.resource_class_id
"""
_TRAITS = """
    SELECT p.name, t.name FROM resource_provider_traits x
    JOIN resource_providers p ON p.id = x.resource_provider_id
    JOIN traits t ON t.id = x.trait_id
"""


def wrong_trees(
    url: str, agents: Mapping[str, tuple[str, Mapping[str, Any], bool]]
) -> Iterator[str]:
    """Yield the providers that differ from what the agents made.

    :param agents: by name of the root
    """
    rows = ask(url, _PROVIDERS)
    found = {name: (uuid, root) for name, uuid, root in rows}
    if len(found) != len(rows):
        yield f"{len(rows)} providers have {len(found)} names"
    stock: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for name, resource_class, total in ask(url, _STOCK):
        stock[name][resource_class] = total
    traits: dict[str, list[str]] = collections.defaultdict(list)
    for name, trait in ask(url, _TRAITS):
        traits[name].append(trait)
    wanted = set()
    for root, (uuid, providers, is_lost) in agents.items():
        if is_lost:
            yield f"{root} could not finish"
        for name, (inventory, names) in providers.items():
            wanted.add(name)
            place = found.get(name, (None, None))
            if place[1] != root or (name == root and place[0] != uuid):
                yield f"{name} is at {place}"
            elif (stock[name], traits[name]) != (inventory, names):
                yield f"{name} has {stock[name]} {traits[name]}, not {inventory} {names}"
    for name in found.keys() - wanted:
        yield f"nobody made {name}"


def wrong_searches(service: Client, fresh: Client) -> Iterator[str]:
    """Yield the searches that a worker answers unlike a service that has just started."""
    for search in SEARCHES:
        path = f"/allocation_candidates?{search}"
        right = _in_order(fresh.get(path))
        if any(_in_order(service.get(path)) != right for _ in range(QUESTIONS)):
            yield search


def _in_order(answer: Answer) -> tuple[int, list[str], Any]:
    requests = [json.dumps(one, sort_keys=True) for one in answer.body["allocation_requests"]]
    return answer.status, sorted(requests), answer.body["provider_summaries"]

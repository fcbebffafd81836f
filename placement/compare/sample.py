"""Requests made from what a cloud has: the default set of a comparison.

Only the other service, the reference, is asked for it: what this service says is what is judged.
"""

import dataclasses
import json
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

from placement.compare.answers import ReceivedAnswer
from placement.compare.request import Request

#: microversions between which the form of answers changes
OLD, MIDDLE = 0, (12, 19, 28)
#: candidates of a search among all hosts, as nova asks for
_MOST = 1000
_NOBODY = "00000000-0000-4000-8000-0000000000ff"
#: requests that are refused, at the newest microversion
_REFUSED = (
    f"/resource_providers/{_NOBODY}",
    f"/resource_providers/{_NOBODY}/inventories",
    f"/resource_providers/{_NOBODY}/usages",
    f"/resource_providers/{_NOBODY}/aggregates",
    f"/resource_providers/{_NOBODY}/traits",
    f"/resource_providers/{_NOBODY}/allocations",
    f"/allocations/{_NOBODY}",
    "/resource_providers?in_tree=no-uuid",
    "/resource_providers?resources=VCPU:0",
    "/resource_providers?resources=NO_SUCH_CLASS:1",
    "/resource_providers?required=NO_SUCH_TRAIT",
    "/resource_providers?nonsense=1",
    "/resource_classes/NO_SUCH_CLASS",
    "/traits/NO_SUCH_TRAIT",
    "/usages",
    "/allocation_candidates",
    "/allocation_candidates?resources=NO_SUCH_CLASS:1",
    "/allocation_candidates?resources1=VCPU:1&resources2=VCPU:1",
    "/no/such/path",
)
Asker = Callable[[Request], ReceivedAnswer]


class NoSample(Exception):
    """The service doesn't answer what a sample is made from; the message says what."""


@dataclasses.dataclass(frozen=True)
class SampledProvider:
    """A provider with what belongs to it, as the service shows it."""

    uuid: str
    name: str
    root: str
    inventories: dict[str, dict[str, Any]]
    traits: list[str]
    aggregates: list[str]
    consumers: list[str]


def make(ask: Asker, newest: int, count: int, seed: int) -> list[Request]:
    """Return requests about `count` providers of the cloud, and about the cloud as a whole.

    Raises NoSample, also for answers in another form than placement's, and what `ask` raises.

    :param ask: asks the other service
    :param newest: the newest microversion that both services have, 1.`newest`
    :param seed: the same one makes the same requests in the same cloud
    """
    try:
        return _made(_CloudReader(ask, newest), newest, count, random.Random(seed))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise NoSample(
            "The answers about the cloud don't have the form of placement's "
            f"({type(error).__name__}: {error!s:.100})."
        ) from error


def _made(cloud: "_CloudReader", newest: int, count: int, draw: random.Random) -> list[Request]:
    providers = cloud.get("/resource_providers")["resource_providers"]
    chosen = _drawn_trees(draw, providers, count)
    nodes = [node for one in chosen if (node := cloud.node(one)) is not None]
    classes = [one["name"] for one in cloud.get("/resource_classes")["resource_classes"]]
    traits = cloud.get("/traits?name=startswith:CUSTOM_")["traits"]
    found: dict[Request, None] = {}
    for request in (
        *_whole(newest),
        *(_at(newest, path) for path in _REFUSED),
        *_names(draw, newest, classes, traits, count),
        *(request for node in nodes for request in _about(node, newest)),
        *_lists(draw, newest, nodes),
        *_consumers(cloud, draw, newest, nodes, count),
        *_searches(draw, newest, nodes),
    ):
        found[request] = None
    return list(found)


class _CloudReader:
    """Reads the cloud at the newest microversion."""

    def __init__(self, ask: Asker, newest: int) -> None:
        self._ask = ask
        self._newest = newest

    def get(self, path: str) -> Any:
        """Return the body of an answer that must be 200."""
        answer = self._ask(_at(self._newest, path))
        if answer.status != 200:
            raise NoSample(f"The answer to GET {path} is {answer.status}, not 200.")
        return _json(answer, path)

    def find(self, path: str) -> Any:
        """Return the body of an answer; None if what it is about is gone."""
        answer = self._ask(_at(self._newest, path))
        return _json(answer, path) if answer.status == 200 else None

    def node(self, provider: dict[str, Any]) -> SampledProvider | None:
        """Return a provider with what belongs to it; None if it is gone."""
        path = f"/resource_providers/{provider['uuid']}"
        parts = [self.find(f"{path}/{part}") for part in ("inventories", "traits", "aggregates")]
        held = self.find(f"{path}/allocations")
        if None in (*parts, held):
            return None
        inventories, traits, aggregates = parts
        return SampledProvider(
            provider["uuid"],
            provider["name"],
            provider.get("root_provider_uuid") or provider["uuid"],
            inventories["inventories"],
            sorted(traits["traits"]),
            sorted(aggregates["aggregates"]),
            sorted(held["allocations"]),
        )


def _json(answer: ReceivedAnswer, path: str) -> object:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise NoSample(f"The answer to GET {path} is no JSON.") from None


def _at(minor: int, path: str) -> Request:
    return Request(path, f"1.{minor}")


def _ats(newest: int, path: str, *minors: int) -> Iterator[Request]:
    """Yield the path at these microversions and the newest, as far as they are served."""
    for minor in sorted({*minors, newest}):
        if minor <= newest:
            yield _at(minor, path)


def _drawn(draw: random.Random, items: list[Any], count: int) -> list[Any]:
    return list(items) if len(items) <= count else draw.sample(items, count)


def _drawn_trees(
    draw: random.Random, providers: list[dict[str, Any]], count: int
) -> list[dict[str, object]]:
    """Return about `count` providers, of whole trees as far as these aren't larger."""
    trees: dict[str, list[dict[str, Any]]] = {}
    for one in sorted(providers, key=lambda one: one["uuid"]):
        trees.setdefault(one.get("root_provider_uuid") or one["uuid"], []).append(one)
    roots = sorted(trees)
    draw.shuffle(roots)
    chosen: list[dict[str, Any]] = []
    for root in roots:
        if len(chosen) >= count:
            break
        chosen += _drawn(draw, trees[root], count)
    return chosen


def _whole(newest: int) -> Iterator[Request]:
    yield Request("/")
    yield Request("/resource_providers")
    yield from _ats(newest, "/resource_providers", 0, 14)
    yield from _ats(newest, "/resource_classes", 0, 2, 15)
    yield from _ats(newest, "/traits", 0, 6)
    yield from _ats(newest, "/traits?name=startswith:CUSTOM_", 6)
    yield from _ats(newest, "/traits?associated=true", 6)
    yield Request("/traits", "latest")
    yield Request("/traits", "1.999")


def _names(
    draw: random.Random, newest: int, classes: list[str], traits: list[str], count: int
) -> Iterator[Request]:
    custom = [name for name in classes if name.startswith("CUSTOM_")]
    for name in [*classes[:1], *_drawn(draw, custom, count)]:
        yield from _ats(newest, f"/resource_classes/{quote(name)}", 2)
    for name in _drawn(draw, sorted(traits), count):
        yield from _ats(newest, f"/traits/{quote(name)}", 6)


def _about(node: SampledProvider, newest: int) -> Iterator[Request]:
    path = f"/resource_providers/{node.uuid}"
    yield from _ats(newest, path, 0, 14)
    yield from _ats(newest, f"{path}/inventories", 0)
    for name in sorted(node.inventories)[:3]:
        yield _at(newest, f"{path}/inventories/{quote(name)}")
    yield _at(newest, f"{path}/inventories/CUSTOM_NOT_HERE")
    yield from _ats(newest, f"{path}/usages", 0)
    yield from _ats(newest, f"{path}/aggregates", 0, 1, 19)
    yield from _ats(newest, f"{path}/traits", 6)
    yield from _ats(newest, f"{path}/allocations", 0)


def _lists(draw: random.Random, newest: int, nodes: list[SampledProvider]) -> Iterator[Request]:
    def listed(query: str, *minors: int) -> Iterator[Request]:
        return _ats(newest, f"/resource_providers?{query}", *minors)

    for node in _drawn(draw, nodes, 5):
        yield from listed(f"name={quote(node.name, safe='')}", 0)
        yield from listed(f"uuid={node.uuid}", 0)
        yield from listed(f"in_tree={node.uuid}", 14)
        for aggregate in node.aggregates[:1]:
            yield from listed(f"member_of={aggregate}", 3)
            yield from listed(f"member_of=!{aggregate}&in_tree={node.uuid}")
        for trait in _drawn(draw, node.traits, 2):
            yield from listed(f"required={trait}", 18)
            yield from listed(f"required=!{trait}&in_tree={node.uuid}", 22)
        if len(node.traits) > 1 and newest >= 39:
            yield from listed(f"required=in:{','.join(node.traits[:2])}")
        if wanted := _amounts(draw, node):
            yield from listed(f"resources={wanted}", 4)


def _consumers(
    cloud: _CloudReader, draw: random.Random, newest: int, nodes: list[SampledProvider], count: int
) -> Iterator[Request]:
    everybody = sorted({consumer for node in nodes for consumer in node.consumers})
    owners: set[tuple[str, str]] = set()
    for consumer in _drawn(draw, everybody, count):
        path = f"/allocations/{quote(consumer)}"
        yield from _ats(newest, path, OLD, *MIDDLE)
        found = cloud.find(path) or {}
        if "project_id" in found:
            owners.add((found["project_id"], found["user_id"]))
    for project, user in sorted(owners)[:count]:
        path = f"/usages?project_id={quote(project, safe='')}"
        yield from _ats(newest, path, 9, 37)
        yield from _ats(newest, f"{path}&user_id={quote(user, safe='')}", 9)
        if newest >= 38:
            for kind in ("all", "INSTANCE", "unknown"):
                yield _at(newest, f"{path}&consumer_type={kind}")


def _searches(draw: random.Random, newest: int, nodes: list[SampledProvider]) -> Iterator[Request]:
    """Yield searches for candidates with what single providers and whole trees have."""
    stocked = [node for node in nodes if node.inventories]
    for node in _drawn(draw, stocked, 12):
        wanted = _amounts(draw, node)
        if not wanted:
            continue
        one = wanted.split(",")[0]
        yield from _found(newest, f"resources={wanted}&in_tree={node.root}", 31)
        yield from _found(newest, f"resources={wanted}&limit={_MOST}", 16, 28)
        for trait in _drawn(draw, node.traits, 1):
            tree = f"in_tree={node.root}"
            yield from _found(newest, f"resources={one}&required={trait}&limit={_MOST}", 17)
            yield from _found(newest, f"resources={one}&required=!{trait}&{tree}", 31)
            yield from _found(newest, f"resources={one}&root_required={trait}&{tree}", 35)
        for aggregate in node.aggregates[:1]:
            yield from _found(newest, f"resources={one}&member_of={aggregate}&limit={_MOST}", 21)
        groups = f"resources1={one}&resources2={one}&in_tree1={node.root}&in_tree2={node.root}"
        yield from _found(newest, f"{groups}&group_policy=none", 31)
        yield from _found(newest, f"{groups}&group_policy=isolate", 33)
        subtree = groups.replace("1=", "_A=").replace("2=", "_B=")
        if newest >= 36:
            yield from _found(newest, f"{subtree}&same_subtree=_A,_B&group_policy=none", 36)
    for members in _trees(stocked)[:6]:
        # of each class once, from any of the tree's providers
        amounts = {
            wanted.partition(":")[0]: wanted
            for member in members
            if (wanted := _amounts(draw, member, 1))
        }
        wanted = ",".join(amounts[name] for name in sorted(amounts))
        if wanted:
            yield from _found(newest, f"resources={wanted}&in_tree={members[0].root}", 31)
            yield from _found(newest, f"resources={wanted}&limit={_MOST}", 16)
    yield from _found(newest, f"resources=VCPU:1&limit={_MOST}", 16)
    yield from _found(newest, "resources=VCPU:999999999", 10)


def _found(newest: int, query: str, *minors: int) -> Iterator[Request]:
    # the order of the requests is of no matter; a version before the parameter is refused alike
    return _ats(newest, f"/allocation_candidates?{query}", *minors)


def _trees(nodes: Iterable[SampledProvider]) -> list[list[SampledProvider]]:
    """Return the drawn providers of each tree of which more than one was drawn."""
    trees: dict[str, list[SampledProvider]] = {}
    for node in nodes:
        trees.setdefault(node.root, []).append(node)
    return [tree for _, tree in sorted(trees.items()) if len(tree) > 1]


def _amounts(draw: random.Random, node: SampledProvider, most: int = 3) -> str:
    """Return amounts of up to `most` classes that the provider's inventories allow, or nothing."""
    names = _drawn(draw, sorted(node.inventories), most)
    wanted = []
    for name in sorted(names):
        stock = node.inventories[name]
        step, least = stock["step_size"], stock["min_unit"]
        amount = max(step, -(-least // step) * step)
        if amount <= stock["max_unit"]:
            wanted.append(f"{name}:{amount}")
    return ",".join(wanted)

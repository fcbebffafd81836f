"""Random trees of providers, random changes of them, and the same changes as single requests."""

import copy
import dataclasses
import random
from collections.abc import Iterator
from typing import Any

from tests.functional.placement.small_cloud import holding

CLASSES = ("VCPU", "DISK_GB", "CUSTOM_TREE_A", "CUSTOM_TREE_B")
TRAITS = ("HW_CPU_X86_AVX", "CUSTOM_TREE_X", "CUSTOM_TREE_Y", "CUSTOM_TREE_Z")
AGGREGATES = tuple(f"b0000000-0000-4000-8000-{number:012d}" for number in range(3))
TOTAL = 1000

Holding = dict[str, dict[str, int]]


@dataclasses.dataclass
class Provider:
    """A provider as a client describes it; `parent` is None for a root."""

    name: str
    parent: str | None
    inventories: dict[str, int]
    traits: set[str]
    aggregates: set[str]


@dataclasses.dataclass
class Cloud:
    """Providers and the allocations of consumers, by uuid."""

    providers: dict[str, Provider]
    held: dict[str, Holding]

    def root(self, uuid: str) -> str:
        """Return the root of the provider's tree."""
        while (parent := self.providers[uuid].parent) is not None:
            uuid = parent
        return uuid

    def tree(self, root: str) -> list[str]:
        """Return the providers of a tree."""
        return [uuid for uuid in self.providers if self.root(uuid) == root]

    def top_down(self) -> list[str]:
        """Return all providers, parents first."""
        found: list[str] = []
        while len(found) < len(self.providers):
            found += [
                uuid
                for uuid, provider in self.providers.items()
                if uuid not in found and provider.parent in (None, *found)
            ]
        return found


class Drawing:
    """Draws clouds of two trees, and changes of the first one, with uuids of their own.

    :param number: which no other drawing of the same database has
    """

    def __init__(self, number: int, seed: int) -> None:
        self._chance = random.Random(seed)
        self._number = number
        self._drawn = 0
        self.root = self._uuid("a")
        self.other = self._uuid("a")
        self.consumers = [self._uuid("c") for _ in range(4)]

    def _uuid(self, letter: str) -> str:
        self._drawn += 1
        return f"{letter}0000000-0000-4000-8000-{self._number:06d}{self._drawn:06d}"

    def _provider(self, parent: str | None) -> Provider:
        return Provider(self._name(), parent, self._stock(), self._some(TRAITS), self._groups())

    def _name(self) -> str:
        self._drawn += 1
        return f"{self._number} {self._drawn}"

    def _some(self, names: tuple[str, ...]) -> set[str]:
        return {name for name in names if self._chance.random() < 0.4}

    def _groups(self) -> set[str]:
        return self._some(AGGREGATES)

    def _stock(self) -> dict[str, int]:
        return {name: TOTAL + self._chance.randrange(9) for name in self._some(CLASSES)}

    def _holdings(self, cloud: Cloud, among: list[str]) -> None:
        """Let some consumers hold something of these providers, and the others nothing."""
        slots = [(uuid, name) for uuid in among for name in cloud.providers[uuid].inventories]
        for consumer in self.consumers:
            cloud.held.pop(consumer, None)
            for uuid, name in self._chance.sample(
                slots, min(len(slots), self._chance.randrange(4))
            ):
                held = cloud.held.setdefault(consumer, {}).setdefault(uuid, {})
                held[name] = 1 + self._chance.randrange(3)

    def cloud(self) -> Cloud:
        """Draw two trees."""
        cloud = Cloud({}, {})
        for root in (self.root, self.other):
            cloud.providers[root] = self._provider(None)
            for _ in range(self._chance.randrange(6)):
                above = self._chance.choice(cloud.tree(root))
                cloud.providers[self._uuid("a")] = self._provider(above)
        self._holdings(cloud, list(cloud.providers))
        return cloud

    def changed(self, before: Cloud) -> Cloud:
        """Draw what becomes of the first tree."""
        after = copy.deepcopy(before)
        for uuid in before.tree(self.root):
            if uuid != self.root and self._chance.random() < 0.25:
                for child in after.providers.values():
                    if child.parent == uuid:
                        child.parent = self.root
                del after.providers[uuid]
        for uuid in before.tree(self.other):
            if uuid != self.other and self._chance.random() < 0.25:
                after.providers[uuid].parent = self.root
        for _ in range(self._chance.randrange(4)):
            above = self._chance.choice(after.tree(self.root))
            after.providers[self._uuid("a")] = self._provider(above)
        here = after.tree(self.root)
        for uuid in here:
            self._redraw(after, uuid)
        names = [after.providers[uuid].name for uuid in here]
        if self._chance.random() < 0.4:
            self._chance.shuffle(names)
        for uuid, name in zip(here, names, strict=True):
            after.providers[uuid].name = name
        self._holdings(after, list(after.providers))
        return after

    def _redraw(self, cloud: Cloud, uuid: str) -> None:
        provider = cloud.providers[uuid]
        if self._chance.random() < 0.3:
            provider.name = self._name()
        if self._chance.random() < 0.4:
            provider.inventories = self._stock()
        if self._chance.random() < 0.4:
            provider.traits = self._some(TRAITS)
        if self._chance.random() < 0.4:
            provider.aggregates = self._groups()
        if provider.parent is not None and self._chance.random() < 0.3:
            was = provider.parent
            provider.parent = self._chance.choice(cloud.tree(self.root))
            if self._is_circle(cloud, uuid):
                provider.parent = was

    def _is_circle(self, cloud: Cloud, start: str) -> bool:
        above = cloud.providers[start].parent
        while above is not None and above != start:
            above = cloud.providers[above].parent
        return above == start


class Client:
    """Writes clouds to a service and reads them; remembers nothing."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def _get(self, path: str) -> Any:
        response = self._service.get(path)
        assert response.status_code == 200, response.text
        return response.json

    def _send(self, method: str, path: str, body: Any = None) -> None:
        response = self._service.request(method, path, body)
        assert response.status_code < 300, (method, path, body, response.text)

    def _generation(self, uuid: str) -> int:
        return self._get(f"/resource_providers/{uuid}")["generation"]

    def _wishes(self, before: Cloud, after: Cloud) -> dict[str, Any]:
        wishes = {}
        for consumer in before.held.keys() | after.held.keys():
            if before.held.get(consumer) != after.held.get(consumer):
                generation = self._get(f"/allocations/{consumer}").get("consumer_generation")
                wishes[consumer] = holding(after.held.get(consumer, {}), generation)
        return wishes

    def write_at_once(self, root: str, before: Cloud, after: Cloud) -> None:
        """Write the difference of two clouds, which is in one tree, with one request."""
        providers: dict[str, dict[str, Any]] = {}
        for uuid in reversed(list(after.providers)):
            now, was = after.providers[uuid], before.providers.get(uuid)
            wanted: dict[str, Any] = {}
            if was is None or now.name != was.name:
                wanted["name"] = now.name
            if was is None or now.parent != was.parent:
                wanted["parent_provider_uuid"] = now.parent
            if was is None or now.inventories != was.inventories:
                wanted["inventories"] = _records(now.inventories)
            if was is None or now.traits != was.traits:
                wanted["traits"] = sorted(now.traits)
            if was is None or now.aggregates != was.aggregates:
                wanted["aggregates"] = sorted(now.aggregates)
            if wanted:
                providers[uuid] = wanted | {
                    "generation": None if was is None else self._generation(uuid)
                }
        gone = [uuid for uuid in before.providers if uuid not in after.providers]
        body = {
            "providers": providers,
            "remove": {uuid: self._generation(uuid) for uuid in gone},
            "allocations": self._wishes(before, after),
            "create_names": True,
        }
        self._send("PUT", f"/berth/v1/provider_trees/{root}", body)

    def write_one_by_one(self, root: str, before: Cloud, after: Cloud) -> None:
        """Write the difference of two clouds with the requests that OpenStack Placement has."""
        for kind, names in (("resource_classes", CLASSES), ("traits", TRAITS)):
            for name in names:
                if name.startswith("CUSTOM_"):
                    self._send("PUT", f"/{kind}/{name}")
        kept = [uuid for uuid in after.top_down() if uuid in before.providers]
        gone = [uuid for uuid in reversed(before.top_down()) if uuid not in after.providers]
        for uuid in (*kept, *gone):
            if uuid in gone or after.providers[uuid].name != before.providers[uuid].name:
                # somebody else may get the name
                self._send("PUT", f"/resource_providers/{uuid}", {"name": f"old {uuid}"})
        for uuid in kept:
            if after.providers[uuid].parent != before.providers[uuid].parent:
                # nothing is below itself if it is below the root first
                body = {"name": f"old {uuid}", "parent_provider_uuid": root}
                self._send("PUT", f"/resource_providers/{uuid}", body)
        for uuid in after.top_down():
            now = after.providers[uuid]
            body = {"name": now.name, "parent_provider_uuid": now.parent}
            if uuid not in before.providers:
                self._send("POST", "/resource_providers", body | {"uuid": uuid})
            elif uuid in after.tree(root):
                self._send("PUT", f"/resource_providers/{uuid}", body)
        self._reshape(before, after)
        for uuid, now in after.providers.items():
            was = before.providers.get(uuid)
            for what in ("traits", "aggregates"):
                if was is None or getattr(now, what) != getattr(was, what):
                    body = {
                        what: sorted(getattr(now, what)),
                        "resource_provider_generation": self._generation(uuid),
                    }
                    self._send("PUT", f"/resource_providers/{uuid}/{what}", body)
        for uuid in gone:
            self._send("DELETE", f"/resource_providers/{uuid}")

    def _reshape(self, before: Cloud, after: Cloud) -> None:
        stocks = {
            uuid: {
                "resource_provider_generation": self._generation(uuid),
                "inventories": _records(now.inventories),
            }
            for uuid, now in after.providers.items()
            if uuid not in before.providers or before.providers[uuid].inventories != now.inventories
        }
        wishes = self._wishes(before, after)
        if stocks:
            self._send("POST", "/reshaper", {"inventories": stocks, "allocations": wishes})
        elif wishes:
            self._send("POST", "/allocations", wishes)

    def seen(self, before: Cloud, after: Cloud) -> dict[str, Any]:
        """Return all that can be read of the clouds' providers and consumers, without times.

        Generations of providers are left out: single requests raise them more often.
        """
        return dict(self._seen(before, after))

    def _seen(self, before: Cloud, after: Cloud) -> Iterator[tuple[str, Any]]:
        for uuid in before.providers.keys() | after.providers.keys():
            path = f"/resource_providers/{uuid}"
            found = self._service.get(path)
            yield path, found.status_code
            if found.status_code == 404:
                continue
            keys = ("name", "parent_provider_uuid", "root_provider_uuid")
            yield f"{path} row", [found.json[key] for key in keys]
            yield f"{path} inventories", self._get(f"{path}/inventories")["inventories"]
            yield f"{path} usages", self._get(f"{path}/usages")["usages"]
            for what in ("traits", "aggregates"):
                yield f"{path} {what}", sorted(self._get(f"{path}/{what}")[what])
        for consumer in before.held.keys() | after.held.keys():
            found = self._get(f"/allocations/{consumer}")
            for holder in found["allocations"].values():
                del holder["generation"]
            yield consumer, found

    def generations(self, cloud: Cloud) -> dict[str, int]:
        """Return the generations of the cloud's providers."""
        return {uuid: self._generation(uuid) for uuid in cloud.providers}


def _records(totals: dict[str, int]) -> dict[str, dict[str, int]]:
    return {name: {"total": total} for name, total in totals.items()}

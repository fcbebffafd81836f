"""What placement holds: read over its API, compared, and drawn."""

import collections
import dataclasses
from typing import Any

import requests
from rich.console import Console
from rich.tree import Tree

from compute.demo.programs import DemoFailed
from compute.provider_tree.inventory_record import capacity

HEADERS = {
    "X-Auth-Token": "admin",
    "OpenStack-API-Version": "placement 1.39",
    "Accept": "application/json",
}

#: amounts by resource class
Amounts = dict[str, int]


class PlacementAPI:
    """A few requests to the service, as any client would make them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers.update(HEADERS)
        # the service is on this machine, whatever proxy the environment names
        self._session.trust_env = False

    def get(self, path: str) -> Any:
        """Return the body of an answer. Raises DemoFailed if the service refuses."""
        return self._checked(self._session.get(self._url + path, timeout=30)).json()

    def put(self, path: str, body: object) -> None:
        """Send a body. Raises DemoFailed if the service refuses."""
        self._checked(self._session.put(self._url + path, json=body, timeout=30))

    def _checked(self, response: requests.Response) -> requests.Response:
        if not response.ok:
            raise DemoFailed(f"{response.request.method} {response.url}: {response.text}")
        return response


@dataclasses.dataclass
class DrawnProvider:
    """A provider with all that belongs to it."""

    uuid: str
    name: str
    parent: str | None
    generation: int
    inventories: dict[str, dict[str, Any]]
    usages: Amounts
    allocations: dict[str, Amounts]
    traits: list[str]


@dataclasses.dataclass
class Picture:
    """A provider tree, parents before children."""

    providers: list[DrawnProvider]

    @classmethod
    def take(cls, api: PlacementAPI, root: str) -> "Picture":
        """Read the tree of a root provider."""
        listed = api.get(f"/resource_providers?in_tree={root}")["resource_providers"]
        return cls([_provider(api, given) for given in listed])

    def totals(self, resource_class: str) -> int:
        """Return what the tree has of a class, in all."""
        records = (p.inventories.get(resource_class) for p in self.providers)
        return sum(record["total"] for record in records if record)

    def consumers(self) -> dict[str, Amounts]:
        """Return what each consumer holds in the tree, in all."""
        held: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for provider in self.providers:
            for consumer, amounts in provider.allocations.items():
                held[consumer].update(amounts)
        return {consumer: dict(amounts) for consumer, amounts in held.items()}

    def overfull(self) -> list[str]:
        """Return a line for each class of which more is used than its capacity."""
        found = []
        for provider in self.providers:
            for name, used in provider.usages.items():
                room = capacity(provider.inventories[name])
                if used > room:
                    found.append(f"{provider.name}: {used} {name} used of {room}")
        return found

    def draw(self, console: Console, names: dict[str, str]) -> None:
        """Show the tree; `names` are what the consumers are called."""
        drawn: dict[str | None, Tree] = {}
        for provider in _parents_first(self.providers):
            label = f"[bold]{provider.name}[/]  [dim]generation {provider.generation}[/]"
            parent = drawn.get(provider.parent)
            branch = Tree(label) if parent is None else parent.add(label)
            drawn[provider.uuid] = branch
            _draw_contents(branch, provider, names)
        roots = [p.uuid for p in self.providers if p.parent is None]
        for root in roots:
            console.print(drawn[root])


def _provider(api: PlacementAPI, given: dict[str, Any]) -> DrawnProvider:
    path = f"/resource_providers/{given['uuid']}"
    allocations = api.get(f"{path}/allocations")["allocations"]
    return DrawnProvider(
        uuid=given["uuid"],
        name=given["name"],
        parent=given["parent_provider_uuid"],
        generation=given["generation"],
        inventories=api.get(f"{path}/inventories")["inventories"],
        usages=api.get(f"{path}/usages")["usages"],
        allocations={consumer: held["resources"] for consumer, held in allocations.items()},
        traits=api.get(f"{path}/traits")["traits"],
    )


def _parents_first(providers: list[DrawnProvider]) -> list[DrawnProvider]:
    ordered: list[DrawnProvider] = []
    waiting = sorted(providers, key=lambda provider: provider.name)
    while waiting:
        placed = {provider.uuid for provider in ordered} | {None}
        ready = [provider for provider in waiting if provider.parent in placed]
        if not ready:
            raise DemoFailed(f"providers without a parent: {[p.name for p in waiting]}")
        ordered += ready
        waiting = [provider for provider in waiting if provider not in ready]
    return ordered


def _draw_contents(branch: Tree, provider: DrawnProvider, names: dict[str, str]) -> None:
    for name, record in provider.inventories.items():
        used = provider.usages.get(name, 0)
        branch.add(
            f"[cyan]{name}[/] {used} used of {record['total']}, {record['reserved']} reserved, "
            f"ratio {record['allocation_ratio']:g}"
        )
    for consumer, amounts in sorted(provider.allocations.items()):
        held = ", ".join(f"{amount} {name}" for name, amount in amounts.items())
        branch.add(f"[green]{names.get(consumer, consumer)}[/] holds {held}")
    if provider.traits:
        branch.add(f"[dim]{len(provider.traits)} traits, such as {provider.traits[0]}[/]")

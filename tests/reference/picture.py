"""The contents of a placement database, by names instead of ids (rest-api.md 6)."""

import bisect
import dataclasses
import datetime
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from placement.compare.deviations import SHARING


class Provider(NamedTuple):
    """A row of resource_providers, with uuids instead of ids."""

    name: str
    generation: int
    parent: str | None
    root: str


class Inventory(NamedTuple):
    """A row of inventories."""

    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float


class Consumer(NamedTuple):
    """A row of consumers, with names instead of ids."""

    generation: int
    project: str
    user: str
    type: str | None


@dataclasses.dataclass(frozen=True)
class Picture:
    """All rows except those that no request can show: unused projects, users and types.

    `inventories` are by provider and class, `allocations` by consumer, provider and class.
    `touched` says which request, counted from 1, wrote a row last, for rows whose time responses
    show.
    """

    providers: Mapping[str, Provider]
    inventories: Mapping[tuple[str, str], Inventory]
    allocations: Mapping[tuple[str, str, str], int]
    consumers: Mapping[str, Consumer]
    aggregates: Mapping[str, frozenset[str]]
    traits: Mapping[str, frozenset[str]]
    custom_traits: tuple[str, ...]
    custom_classes: tuple[str, ...]
    touched: Mapping[tuple[str, ...], int | None]

    @property
    def class_names(self) -> list[str]:
        """The names of the custom resource classes, without ids."""
        return [row.partition(":")[2] for row in self.custom_classes]

    @property
    def has_sharing_providers(self) -> bool:
        """Whether a provider shares its inventory with others by aggregates."""
        return any(SHARING in traits for traits in self.traits.values())

    @property
    def optimizes_wide_trees(self) -> bool:
        """The option is never set."""
        return False

    def children(self, uuid: str) -> list[str]:
        """Return the children of a provider."""
        return [child for child, row in self.providers.items() if row.parent == uuid]

    def used(self, uuid: str, resource_class: str) -> int:
        """Return the allocated amount of a provider's class."""
        return sum(
            amount
            for (_, provider, name), amount in self.allocations.items()
            if (provider, name) == (uuid, resource_class)
        )

    def held(self, consumer: str) -> dict[str, dict[str, int]]:
        """Return a consumer's allocations: amounts by class by provider."""
        found: dict[str, dict[str, int]] = {}
        for (holder, provider, name), amount in self.allocations.items():
            if holder == consumer:
                found.setdefault(provider, {})[name] = amount
        return found

    def differences(self, other: "Picture") -> list[str]:
        """Return the differences of two databases, a line each: this one's first."""
        lines = []
        for field in dataclasses.fields(self):
            mine, others = getattr(self, field.name), getattr(other, field.name)
            if mine == others:
                continue
            if not isinstance(mine, dict):
                lines.append(f"database, {field.name}: {mine} / {others}")
                continue
            lines += [
                f"database, {field.name} {key}: {mine.get(key)} / {others.get(key)}"
                for key in [*mine, *(key for key in others if key not in mine)]
                if mine.get(key) != others.get(key)
            ]
        return lines


_PROVIDERS = """
    SELECT p.uuid, p.name, p.generation, parent.uuid, root.uuid FROM resource_providers p
    LEFT JOIN resource_providers parent ON parent.id = p.parent_provider_id
    LEFT JOIN resource_providers root ON root.id = p.root_provider_id ORDER BY p.id"""
_INVENTORIES = """
    SELECT p.uuid, c.name, i.total, i.reserved, i.min_unit, i.max_unit, i.step_size,
    i.allocation_ratio FROM inventories i
    LEFT JOIN resource_providers p ON p.id = i.resource_provider_id
    LEFT JOIN resource_classes c ON c.id = i.resource_class_id ORDER BY 1, 2"""
_ALLOCATIONS = """
    SELECT a.consumer_id, p.uuid, c.name, sum(a.used) FROM allocations a
    LEFT JOIN resource_providers p ON p.id = a.resource_provider_id
    LEFT JOIN resource_classes c ON c.id = a.resource_class_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
_CONSUMERS = """
    SELECT c.uuid, c.generation, p.external_id, u.external_id, t.name FROM consumers c
    LEFT JOIN projects p ON p.id = c.project_id LEFT JOIN users u ON u.id = c.user_id
    LEFT JOIN consumer_types t ON t.id = c.consumer_type_id ORDER BY c.uuid"""
_AGGREGATES = """
    SELECT p.uuid, a.uuid FROM resource_provider_aggregates link
    LEFT JOIN resource_providers p ON p.id = link.resource_provider_id
    LEFT JOIN placement_aggregates a ON a.id = link.aggregate_id ORDER BY 1, 2"""
_TRAITS = """
    SELECT p.uuid, t.name FROM resource_provider_traits link
    LEFT JOIN resource_providers p ON p.id = link.resource_provider_id
    LEFT JOIN traits t ON t.id = link.trait_id ORDER BY 1, 2"""
_CUSTOM_TRAITS = r"SELECT name FROM traits WHERE name LIKE 'CUSTOM\_%' ESCAPE '\' ORDER BY name"
_CUSTOM_CLASSES = "SELECT id, name FROM resource_classes WHERE id >= 10000 ORDER BY id"
_TOUCHED = """
    SELECT 'provider', uuid, NULL, coalesce(updated_at, created_at) FROM resource_providers
    UNION SELECT 'saved provider', uuid, NULL, updated_at FROM resource_providers
    UNION SELECT 'class', name, NULL, coalesce(updated_at, created_at) FROM resource_classes
    WHERE id >= 10000
    UNION SELECT 'trait', name, NULL, created_at FROM traits WHERE name LIKE 'CUSTOM%'
    UNION SELECT 'inventory', p.uuid, resource_class_id, coalesce(i.updated_at, i.created_at)
    FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id
    UNION SELECT 'allocation', consumer_id, p.uuid, coalesce(a.updated_at, a.created_at)
    FROM allocations a JOIN resource_providers p ON p.id = a.resource_provider_id"""


class Camera:
    """Reads the contents of one SQLite database.

    :param names: generated values with their names in scripts; changes while scripts run
    :param begun: when each request was sent, in seconds since the epoch; grows while scripts run
    """

    def __init__(self, database: Path, names: Mapping[str, str], begun: Sequence[float]) -> None:
        self._begun = begun
        self._connection = sqlite3.connect(f"file:{database}", uri=True, isolation_level=None)
        self._names = names

    def picture(self) -> Picture:
        """Return the current contents."""
        rows = self._rows
        return Picture(
            providers={uuid: Provider(*row) for uuid, *row in rows(_PROVIDERS)},
            inventories={(uuid, name): Inventory(*row) for uuid, name, *row in rows(_INVENTORIES)},
            allocations={tuple(key): used for *key, used in rows(_ALLOCATIONS)},
            consumers={uuid: Consumer(*row) for uuid, *row in rows(_CONSUMERS)},
            aggregates=_sets(rows(_AGGREGATES)),
            traits=_sets(rows(_TRAITS)),
            custom_traits=tuple(name for (name,) in rows(_CUSTOM_TRAITS)),
            # with ids: their values are defined, and decide the order in responses
            custom_classes=tuple(f"{id}:{name}" for id, name in rows(_CUSTOM_CLASSES)),
            touched={tuple(key): self._request_at(time) for *key, time in rows(_TOUCHED)},
        )

    def forget_consumer(self, uuid: str) -> None:
        """Delete the row of a consumer without allocations."""
        self._connection.execute("DELETE FROM consumers WHERE uuid = ?", (uuid,))

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _request_at(self, time: str | None) -> int | None:
        """Return the number of the request that was running at a row's time."""
        if time is None:
            return None
        moment = datetime.datetime.fromisoformat(time).replace(tzinfo=datetime.UTC)
        return bisect.bisect(self._begun, moment.timestamp())

    def _rows(self, question: str) -> list[list]:
        return [
            [self._names.get(value, value) for value in row]
            for row in self._connection.execute(question)
        ]


def _sets(rows: list[list]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for key, value in rows:
        found.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in found.items()}

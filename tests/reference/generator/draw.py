"""Random choices among existing objects and few names, so that requests affect each other."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, UUID, uuid5

from tests.reference.picture import Inventory, Picture
from tests.reference.script import Request

T = TypeVar("T")

NEWEST = 39
STANDARD_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "VGPU", "PCPU")
CUSTOM_CLASSES = ("CUSTOM_BATTERY", "CUSTOM_LASER", "CUSTOM_1", "CUSTOM__")
SHARING = "MISC_SHARES_VIA_AGGREGATE"
STANDARD_TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD", SHARING)
CUSTOM_TRAITS = ("CUSTOM_BLUE", "CUSTOM_GREEN", "CUSTOM_RED", "CUSTOM_", "CUSTOM_A_B", "CUSTOM_AXB")
PROJECTS = ("project-a", "project-b", "ünïcode", "0" * 255)
USERS = ("user-a", "user-b", "u")
TYPES = ("INSTANCE", "MIGRATION", "UNKNOWN", "ALL", "X_1")
PROVIDER_NAMES = (
    "node",
    "Node",
    "ƞode ☃",
    "a name, with: punctuation&=;",
    "<b>tag</b>",
    " ",
    "n\n",
)
AGGREGATES = tuple(str(uuid5(NAMESPACE_URL, f"aggregate {n}")) for n in range(4))
#: maximum numbers of objects; with fewer objects, requests affect each other more often
MANY_PROVIDERS = 14
MANY_CONSUMERS = 12


class Draw:
    """Random choices for one request.

    :param label: unique in the script, for values that the service generates
    """

    def __init__(self, rng: random.Random, picture: Picture, label: str) -> None:
        self.rng = rng
        self.picture = picture
        self.label = label

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.rng.random() < probability

    def one(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return self.rng.choice(choices)

    def some(self, choices: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Return a few different choices, in any order."""
        most = min(most, len(choices))
        return self.rng.sample(choices, self.rng.randint(min(least, most), most))

    def number(self, first: int, last: int) -> int:
        """Return a whole number, both ends included, small ones more often."""
        return min(self.rng.randint(first, last), self.rng.randint(first, last))

    def uuid(self) -> str:
        """Return a new uuid."""
        return str(UUID(int=self.rng.getrandbits(128), version=4))

    # the microversion

    def minor(self, since: int = 0, until: int = NEWEST) -> int:
        """Return a microversion's minor number; often the newest possible."""
        if self.chance(0.35):
            return until
        return self.rng.randint(since, until)

    def request(self, method: str, path: str, minor: int, body: Any = None) -> Request:
        """Return a request at microversion 1.minor, in one of the possible spellings."""
        version: str | None = f"1.{minor}"
        if minor == 0 and self.chance(0.5):
            version = None
        if minor == NEWEST and self.chance(0.2):
            version = "latest"
        return Request(method, path, body, version)

    # what exists, or nearly

    def provider(self) -> str | None:
        """Return a provider's uuid, rarely an unknown one; None if there is no provider."""
        known = list(self.picture.providers)
        if self.chance(0.02):
            return self.uuid()
        return self.one(known) if known else None

    def consumer(self) -> str | None:
        """Return a consumer's uuid, or None if there is no consumer."""
        known = list(self.picture.consumers)
        return self.one(known) if known else None

    def slot(self) -> tuple[str, str] | None:
        """Return a provider and a class of its inventories."""
        known = list(self.picture.inventories)
        return self.one(known) if known else None

    def root(self, uuid: str) -> str | None:
        """Return the root of a provider's tree; None if there is no such provider."""
        row = self.picture.providers.get(uuid)
        return row.root if row else None

    def resource_class(self) -> str:
        """Return an existing class."""
        return self.one([*STANDARD_CLASSES, *self.picture.class_names])

    def traits(self, most: int, least: int = 0) -> list[str]:
        """Return a few existing traits."""
        return self.some([*STANDARD_TRAITS, *self.picture.custom_traits], most, least)

    def aggregates(self, most: int, least: int = 0) -> list[str]:
        """Return a few aggregates, with or without members."""
        return self.some(AGGREGATES, most, least)

    def amount(self, uuid: str, resource_class: str) -> int:
        """Return an amount to request from a provider, usually one that is free."""
        inventory = self.picture.inventories.get((uuid, resource_class))
        if inventory is None or self.chance(0.08):
            return self.number(1, 40)
        room = _capacity(inventory) - self.picture.used(uuid, resource_class)
        step = inventory.step_size
        highest = min(inventory.max_unit, max(room, 1)) // step
        lowest = -(-inventory.min_unit // step)
        return max(1, step * self.number(lowest, max(lowest, highest)))

    def _can_give(self, uuid: str, resource_class: str) -> bool:
        """Return whether the smallest possible amount of a provider is free."""
        inventory = self.picture.inventories[uuid, resource_class]
        step = inventory.step_size
        least = max(1, -(-inventory.min_unit // step)) * step
        room = _capacity(inventory) - self.picture.used(uuid, resource_class)
        return least <= min(inventory.max_unit, room)

    def asked(self, most: int) -> dict[str, dict[str, int]]:
        """Return amounts by class by provider, from a few inventories, usually free ones."""
        slots = list(self.picture.inventories)
        if self.chance(0.9):
            slots = [slot for slot in slots if self._can_give(*slot)] or slots
        asked: dict[str, dict[str, int]] = {}
        for uuid, resource_class in self.some(slots, most, least=1):
            asked.setdefault(uuid, {})[resource_class] = self.amount(uuid, resource_class)
        return asked


def _capacity(inventory: Inventory) -> int:
    return int((inventory.total - inventory.reserved) * inventory.allocation_ratio)


def query(parameters: Sequence[tuple[str, str]] | Mapping[str, str]) -> str:
    """Return a query string with its question mark; empty without parameters."""
    text = urlencode(parameters, safe="${}:")
    return f"?{text}" if text else ""

"""What a service answers: OpenStack Placement's API, and the features that are added to it.

A feature is a package. It has only the modules that it needs, by names that all features share:

* `routes.ROUTES`: its endpoints, by path;
* `handler`: the functions that the routes name;
* `schema`: `BODIES`, `QUERIES`, `RESPONSES` and `LINES`, the schemas of what its endpoints read and
  answer;
* `policy.RULES`: who may do what.

The modules are imported when a process first needs them.
"""

import dataclasses
import functools
import importlib
import importlib.util
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from oslo_policy import policy

from placement import policies, routes
from placement.routes import Endpoint


@dataclasses.dataclass(frozen=True)
class Feature:
    """Something that OpenStack Placement doesn't have.

    :param package: the full name of its package, such as `placement.extensions.claims`
    """

    package: str

    def module(self, name: str) -> ModuleType | None:
        """Return a module of the package; None: the feature needs no such module."""
        full = f"{self.package}.{name}"
        return None if importlib.util.find_spec(full) is None else importlib.import_module(full)

    def table(self, module: str, name: str) -> Any:
        """Return what a module of the package names so; None: there is no such thing."""
        return getattr(self.module(module), name, None)

    def routes(self) -> dict[str, tuple[Endpoint, ...]]:
        """Return its endpoints by path."""
        home = f"{self.package}.handler"
        return {
            path: tuple(dataclasses.replace(endpoint, home=home) for endpoint in endpoints)
            for path, endpoints in (self.table("routes", "ROUTES") or {}).items()
        }


@dataclasses.dataclass(frozen=True)
class Api:
    """All that a service answers.

    Tables of schemas have paths in the form of OpenAPI. Their schemas are imported when they are
    first asked for: most services never need all of them.

    :param features: what is added to OpenStack Placement, in the order of discovery
    """

    features: Sequence[Feature] = ()

    @functools.cached_property
    def routes(self) -> dict[str, tuple[Endpoint, ...]]:
        """The endpoints by path."""
        joined = dict(routes.ROUTES)
        for feature in self.features:
            joined |= feature.routes()
        return joined

    @property
    def offers(self) -> tuple[str, ...]:
        """The names of what is offered beyond OpenStack Placement, in the order of the routes."""
        endpoints = itertools.chain.from_iterable(self.routes.values())
        return tuple(dict.fromkeys(each.offer for each in endpoints if each.offer is not None))

    @property
    def rules(self) -> list[policy.RuleDefault]:
        """The defaults of all policy rules."""
        added = (feature.table("policy", "RULES") or () for feature in self.features)
        return [*policies.list_rules(), *itertools.chain.from_iterable(added)]

    @functools.cached_property
    def bodies(self) -> Mapping[tuple[str, str], Any]:
        """The schemas of bodies of requests, by path and method."""
        return self._joined("requests", "BODIES")

    @functools.cached_property
    def queries(self) -> Mapping[str, Any]:
        """The schemas of queries, by path."""
        return self._joined("requests", "QUERIES")

    @functools.cached_property
    def responses(self) -> Mapping[str, Mapping[str, Any]]:
        """The schemas of responses, by path, method and status."""
        return self._joined("responses", "RESPONSES")

    @functools.cached_property
    def lines(self) -> Mapping[str, Any]:
        """The schemas of one line, by path, where the answer may be one JSON value a line."""
        return self._joined(None, "LINES")

    def schema_modules(self) -> Iterator[ModuleType]:
        """Yield the modules of the features that have schemas."""
        for feature in self.features:
            module = feature.module("schema")
            if module is not None:
                yield module

    def _joined(self, core: str | None, name: str) -> dict[Any, Any]:
        """Return a table of `placement.schemas` with what the features add to it."""
        joined: dict[Any, Any] = {}
        if core is not None:
            joined |= getattr(importlib.import_module(f"placement.schemas.{core}"), name)
        for feature in self.features:
            joined |= feature.table("schema", name) or {}
        return joined

"""A cloud built through the REST API, and candidates in terms of the providers' names."""

import contextlib
import itertools
import os
import uuid
from collections import Counter

import os_resource_classes
import os_traits

from tests.functional.placement import small_cloud
from tests.functional.placement.service import Service


class Cloud:
    """The providers and aggregates of a topology, by name."""

    def __init__(self, service):
        self.service = service
        self.uuids = {}
        self.aggregates = {}
        self._planned = {}

    def build(self, topology, allocations=()):
        """Create the providers (parents first), then the allocations."""
        traits = {name for provider in topology for name in provider.get("traits", ())}
        classes = {name for provider in topology for name in provider.get("inventories", {})}
        for name in sorted(traits - set(os_traits.get_traits())):
            self.service.write("PUT", f"/traits/{name}")
        for name in sorted(classes - set(os_resource_classes.STANDARDS)):
            self.service.write("PUT", f"/resource_classes/{name}")
        for provider in topology:
            self._make(provider)
        for allocation in allocations:
            self._allocate(allocation)
        return self

    def _make(self, provider):
        name = provider["name"]
        key = self.uuids[name] = self._planned.get(name) or str(uuid.uuid4())
        parent = provider.get("parent")
        body = {"name": name, "uuid": key}
        if parent:
            body["parent_provider_uuid"] = self.uuids[parent]
        self.service.write("POST", "/resource_providers", body)
        path, generation = f"/resource_providers/{key}", 0
        if provider.get("inventories"):
            body = {
                "inventories": provider["inventories"],
                "resource_provider_generation": generation,
            }
            answer = self.service.write("PUT", f"{path}/inventories", body)
            generation = answer["resource_provider_generation"]
        if provider.get("traits"):
            body = {
                "traits": sorted(set(provider["traits"])),
                "resource_provider_generation": generation,
            }
            answer = self.service.write("PUT", f"{path}/traits", body)
            generation = answer["resource_provider_generation"]
        if provider.get("aggregates"):
            labels = dict.fromkeys(provider["aggregates"])
            body = {
                "aggregates": [self.aggregate(label) for label in labels],
                "resource_provider_generation": generation,
            }
            self.service.write("PUT", f"{path}/aggregates", body)

    def _allocate(self, allocation):
        body = {
            "allocations": {
                self.uuids[name]: {"resources": resources}
                for name, resources in allocation["allocations"].items()
            },
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self.service.write("PUT", f"/allocations/{uuid.uuid4()}", body)

    def aggregate(self, label):
        """Return the uuid of an aggregate's label."""
        return self.aggregates.setdefault(label, str(uuid.uuid4()))

    def names(self):
        """Return the providers' names by uuid."""
        return {key: name for name, key in self.uuids.items()}

    def candidates(self, body, version):
        """Return a response's candidates as a multiset of (allocations, mappings), by names."""
        names = self.names()
        return Counter(read_candidate(request, names) for request in body["allocation_requests"])


def small_cloud_at(url):
    """Write the small cloud into an empty database: tests get copies of it."""
    with contextlib.closing(Service(url)) as service:
        small_cloud.fill(service)


class Copied:
    """A topology as the content of databases: it is written once, and tests get copies.

    It has the same uuids on each kind of database. They are of this process, and so is its name.
    """

    _numbers = itertools.count(1)

    def __init__(self, topology, allocations=()):
        self.__name__ = f"cloud_{os.getpid()}_{next(self._numbers)}"
        self._written = topology, allocations
        self._uuids = {provider["name"]: str(uuid.uuid4()) for provider in topology}
        self._aggregates = {}

    def __call__(self, url):
        """Write it into an empty database."""
        with contextlib.closing(Service(url)) as service:
            self._plan(service).build(*self._written)

    def of(self, service):
        """Return the cloud of a service whose database is a copy."""
        cloud = self._plan(service)
        cloud.uuids.update(self._uuids)
        cloud.aggregates = {**self._aggregates}
        return cloud

    def _plan(self, service):
        cloud = Cloud(service)
        cloud._planned, cloud.aggregates = self._uuids, self._aggregates
        return cloud


def read_candidate(request, names):
    """Return one allocation request as hashable values; mappings are None if it has none."""
    allocations = request["allocations"]
    if isinstance(allocations, list):
        pairs = [(a["resource_provider"]["uuid"], a["resources"]) for a in allocations]
    else:
        pairs = [(key, value["resources"]) for key, value in allocations.items()]
    taken = frozenset((names[key], frozenset(res.items())) for key, res in pairs)
    assert len(taken) == len(pairs)
    if "mappings" not in request:
        return taken, None
    mappings = frozenset(
        (suffix, frozenset(names[key] for key in keys))
        for suffix, keys in request["mappings"].items()
    )
    return taken, mappings

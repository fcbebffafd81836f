"""Somebody else who uses placement: sets the scene, and changes it behind the client's back."""

from uuid import uuid4

LATEST = "1.39"
#: the last that knows no types of consumers
UNTYPED = "1.37"


class Outsider:
    """Plain requests at the latest microversion; an answer that isn't a success is an error."""

    def __init__(self, adapter):
        self.adapter = adapter

    def call(self, method, url, body=None, version=LATEST):
        sent = {} if body is None else {"json": body}
        headers = {"OpenStack-API-Version": f"placement {version}"}
        response = self.adapter.request(url, method, headers=headers, **sent)
        assert response.status_code < 400, f"{method} {url}: {response.text}"
        return response.json() if response.content else None

    def exists(self, uuid):
        return self.adapter.get(f"/resource_providers/{uuid}").status_code == 200

    def provider(self, name=None, parent=None, inventory=None, traits=(), aggregates=(), uuid=None):
        """Create a provider with all it has and return its uuid."""
        uuid = uuid or str(uuid4())
        body = {"uuid": uuid, "name": name or f"name-of-{uuid}"}
        if parent:
            body["parent_provider_uuid"] = parent
        generation = self.call("POST", "/resource_providers", body)["generation"]
        if inventory:
            generation = self.set_inventory(uuid, inventory, generation)
        if traits:
            generation = self.set_traits(uuid, traits, generation)
        if aggregates:
            self.set_aggregates(uuid, aggregates, generation)
        return uuid

    def shown(self, uuid):
        return self.call("GET", f"/resource_providers/{uuid}")

    def generation(self, uuid):
        return self.shown(uuid)["generation"]

    def inventory(self, uuid):
        return self.call("GET", f"/resource_providers/{uuid}/inventories")["inventories"]

    def totals(self, uuid):
        return {name: record["total"] for name, record in self.inventory(uuid).items()}

    def traits(self, uuid):
        return set(self.call("GET", f"/resource_providers/{uuid}/traits")["traits"])

    def aggregates(self, uuid):
        return set(self.call("GET", f"/resource_providers/{uuid}/aggregates")["aggregates"])

    def set_inventory(self, uuid, inventory, generation=None):
        """Return the new generation; that of before is asked for, unless it is given."""
        for name in inventory:
            if name.startswith("CUSTOM_"):
                self.call("PUT", f"/resource_classes/{name}")
        return self._put(f"{uuid}/inventories", {"inventories": inventory}, uuid, generation)

    def set_traits(self, uuid, traits, generation=None):
        for name in traits:
            if name.startswith("CUSTOM_"):
                self.call("PUT", f"/traits/{name}")
        return self._put(f"{uuid}/traits", {"traits": sorted(traits)}, uuid, generation)

    def set_aggregates(self, uuid, aggregates, generation=None):
        body = {"aggregates": sorted(aggregates)}
        return self._put(f"{uuid}/aggregates", body, uuid, generation)

    def _put(self, path, body, uuid, generation):
        key = "resource_provider_generation"
        known = self.generation(uuid) if generation is None else generation
        return self.call("PUT", f"/resource_providers/{path}", {**body, key: known})[key]

    def allocate(self, resources_by_provider, consumer=None, consumer_type="INSTANCE"):
        """Make these the consumer's allocations and return its uuid.

        None as the type is for a writer that knows no types.
        """
        generation = None
        if consumer:
            generation = self.call("GET", f"/allocations/{consumer}").get("consumer_generation")
        consumer = consumer or str(uuid4())
        body = {
            "allocations": {
                uuid: {"resources": resources} for uuid, resources in resources_by_provider.items()
            },
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": generation,
        }
        if consumer_type is None:
            self.call("PUT", f"/allocations/{consumer}", body, UNTYPED)
        else:
            body["consumer_type"] = consumer_type
            self.call("PUT", f"/allocations/{consumer}", body)
        return consumer

    def allocations(self, consumer):
        """Return `{provider: {class: amount}}`."""
        found = self.call("GET", f"/allocations/{consumer}")["allocations"]
        return {uuid: part["resources"] for uuid, part in found.items()}


def tree_of(outsider, host):
    """name without the host's → uuid"""
    found = outsider.call("GET", f"/resource_providers?in_tree={host.uuid}")
    return {
        row["name"].removeprefix(f"{host.name}_"): row["uuid"]
        for row in found["resource_providers"]
    }

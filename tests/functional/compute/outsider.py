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
        self.call("POST", "/resource_providers", body)
        if inventory:
            self.set_inventory(uuid, inventory)
        if traits:
            self.set_traits(uuid, traits)
        if aggregates:
            self.set_aggregates(uuid, aggregates)
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

    def set_inventory(self, uuid, inventory):
        for name in inventory:
            if name.startswith("CUSTOM_"):
                self.call("PUT", f"/resource_classes/{name}")
        self.call(
            "PUT",
            f"/resource_providers/{uuid}/inventories",
            {"inventories": inventory, "resource_provider_generation": self.generation(uuid)},
        )

    def set_traits(self, uuid, traits):
        for name in traits:
            if name.startswith("CUSTOM_"):
                self.call("PUT", f"/traits/{name}")
        self.call(
            "PUT",
            f"/resource_providers/{uuid}/traits",
            {"traits": sorted(traits), "resource_provider_generation": self.generation(uuid)},
        )

    def set_aggregates(self, uuid, aggregates):
        self.call(
            "PUT",
            f"/resource_providers/{uuid}/aggregates",
            {
                "aggregates": sorted(aggregates),
                "resource_provider_generation": self.generation(uuid),
            },
        )

    def allocate(self, resources_by_provider, consumer=None, consumer_type="INSTANCE"):
        """Make these the consumer's allocations and return its uuid.

        None as the type is for a writer that knows no types.
        """
        consumer = consumer or str(uuid4())
        generation = self.call("GET", f"/allocations/{consumer}").get("consumer_generation")
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

"""Writers of a small cloud, and watchers that keep a copy of it (extensions.md 7)."""

import random
import threading

import sqlalchemy as sa

from placement.storage import tables
from placement.storage.feed.change_feed import ChangeKind
from tests.functional.placement.small_cloud import holding, numbered

UUIDS = [numbered("a", number) for number in range(8)]
CONSUMERS = [numbered("c", number) for number in range(5)]
#: what a write may answer when others, or the state of the cloud, are against it
REFUSED = (400, 404, 409)


class Writer:
    """Sends random requests; most are granted, some are refused."""

    def __init__(self, service, seed):
        self.service = service
        self.random = random.Random(seed)

    def step(self):
        name, *given = self.random.choice(
            [
                ("create",),
                ("create",),
                ("delete",),
                ("rename",),
                ("move",),
                ("restock",),
                ("restock",),
                ("claim",),
                ("claim",),
                ("free",),
                ("train",),
                ("join",),
                ("rename_class",),
                ("replace_tree",),
                ("change_owner",),
                ("reshape",),
                ("join_without_generation",),
                ("clear",),
            ]
        )
        response = getattr(self, f"_{name}")(*given)
        assert response.status_code < 300 or response.status_code in REFUSED, response.text

    def _any(self):
        return self.random.choice(UUIDS)

    def _generation(self, uuid):
        shown = self.service.get(f"/resource_providers/{uuid}")
        return shown.json["generation"] if shown.status_code == 200 else 0

    def _create(self):
        uuid = self._any()
        body = {"name": f"{uuid} {self.random.random()}", "uuid": uuid}
        if self.random.random() < 0.6:
            body["parent_provider_uuid"] = self._any()
        return self.service.post("/resource_providers", body)

    def _delete(self):
        return self.service.delete(f"/resource_providers/{self._any()}")

    def _rename(self):
        body = {"name": f"new {self.random.random()}"}
        return self.service.put(f"/resource_providers/{self._any()}", body)

    def _move(self):
        parent = self.random.choice([None, self._any()])
        body = {"name": f"moved {self.random.random()}", "parent_provider_uuid": parent}
        return self.service.put(f"/resource_providers/{self._any()}", body)

    def _restock(self):
        uuid = self._any()
        classes = self.random.sample(["VCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B"], 2)
        body = {
            "resource_provider_generation": self._generation(uuid),
            "inventories": {name: {"total": self.random.randint(5, 9)} for name in classes},
        }
        return self.service.put(f"/resource_providers/{uuid}/inventories", body)

    def _claim(self):
        consumer = self.random.choice(CONSUMERS)
        found = self.service.get(f"/allocations/{consumer}").json
        amounts = {uuid: {"VCPU": 1} for uuid in self.random.sample(UUIDS, 2)}
        body = holding(amounts, found.get("consumer_generation"))
        return self.service.put(f"/allocations/{consumer}", body)

    def _free(self):
        return self.service.delete(f"/allocations/{self.random.choice(CONSUMERS)}")

    def _train(self):
        uuid = self._any()
        names = self.random.sample(["HW_CPU_X86_AVX", "HW_CPU_X86_SSE"], self.random.randint(0, 2))
        body = {"resource_provider_generation": self._generation(uuid), "traits": names}
        return self.service.put(f"/resource_providers/{uuid}/traits", body)

    def _join(self):
        uuid = self._any()
        body = {
            "resource_provider_generation": self._generation(uuid),
            "aggregates": [numbered("b", self.random.randint(1, 3))],
        }
        return self.service.put(f"/resource_providers/{uuid}/aggregates", body)

    def _join_without_generation(self):
        body = [numbered("b", self.random.randint(1, 3))]
        return self.service.put(
            f"/resource_providers/{self._any()}/aggregates", body, version="1.1"
        )

    def _clear(self):
        what = self.random.choice(["inventories", "traits"])
        return self.service.delete(f"/resource_providers/{self._any()}/{what}")

    def _change_owner(self):
        """Give what a consumer holds to another project: no amount changes."""
        consumer = self.random.choice(CONSUMERS)
        found = self.service.get(f"/allocations/{consumer}").json
        amounts = {uuid: each["resources"] for uuid, each in found["allocations"].items()}
        owner = f"project {self.random.random()}"
        body = holding(amounts, found.get("consumer_generation"), project=owner)
        return self.service.put(f"/allocations/{consumer}", body)

    def _reshape(self):
        """Move all that one consumer holds to one provider, and give that a new inventory."""
        uuid, consumer = self._any(), self.random.choice(CONSUMERS)
        found = self.service.get(f"/allocations/{consumer}").json
        stock = {
            "resource_provider_generation": self._generation(uuid),
            "inventories": {"VCPU": {"total": self.random.randint(5, 9)}},
        }
        moved = holding({uuid: {"VCPU": 1}}, found.get("consumer_generation"))
        body = {"inventories": {uuid: stock}, "allocations": {consumer: moved}}
        return self.service.post("/reshaper", body)

    def _rename_class(self):
        old, new = self.random.sample(["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"], 2)
        return self.service.put(f"/resource_classes/{old}", {"name": new}, version="1.2")

    def _replace_tree(self):
        """Remove a provider and create another one in one request."""
        root, other = self.random.sample(UUIDS, 2)
        new = {"name": f"tree {self.random.random()}", "parent_provider_uuid": None}
        body = {"providers": {root: new | {"generation": None, "traits": ["HW_CPU_X86_AVX"]}}}
        body["remove"] = {other: self._generation(other)} if self.random.random() < 0.5 else {}
        return self.service.put(f"/berth/v1/provider_trees/{root}", body)


class Watcher:
    """Keeps a copy of all providers: reads all, then what changed, and all again after a 410."""

    def __init__(self, service, seed=0):
        self.service = service
        self.random = random.Random(seed)
        self.position = None
        self.copy = {}
        self.read_all = 0

    def step(self):
        """Ask for one page of changes, and take it in; return whether that was all of them."""
        if self.position is None:
            body = self._trees("")
            self.position = body["position"]
            self.copy = _by_uuid(body)
            self.read_all += 1
            return False
        limit = self.random.choice([1, 2, 3, 1000])
        answer = self.service.get(f"/berth/v1/changes?after={self.position}&limit={limit}")
        if answer.status_code == 410:
            self.position = None
            return False
        assert answer.status_code == 200, answer.text
        assert len(answer.json["providers"]) <= limit
        self._renew(answer.json["providers"])
        self.position = answer.json["position"]
        return answer.json["complete"]

    def catch_up(self):
        """Take in all changes."""
        while not self.step():
            pass

    def _renew(self, uuids):
        """Read providers again, each with its whole tree."""
        if not uuids:
            return
        found = _by_uuid(self._trees(f"&uuid=in:{','.join(uuids)}"))
        for uuid in uuids:
            self.copy.pop(uuid, None)
        self.copy.update(found)

    def _trees(self, query):
        fields = "inventories,traits,aggregates,usages,allocations"
        answer = self.service.get(f"/berth/v1/provider_trees?fields={fields}{query}")
        assert answer.status_code == 200, answer.text
        return answer.json


def _by_uuid(body):
    return {
        one["uuid"]: one
        | {"traits": sorted(one["traits"]), "aggregates": sorted(one["aggregates"])}
        for tree in body["trees"]
        for one in tree["providers"]
    }


def everything(service):
    """Return what the service says of all providers now."""
    return _by_uuid(Watcher(service)._trees(""))


class InThread(threading.Thread):
    """Does steps until it is told to end; `failure` is what it raised."""

    def __init__(self, steps, count):
        super().__init__(daemon=True)
        self.steps, self.count, self.failure = steps, count, None
        self.start()

    def run(self):
        try:
            for _ in range(self.count):
                self.steps()
        except BaseException as failure:
            self.failure = failure


def append_as_before_lanes(database, seed):
    """Rename a provider as a worker of an earlier version does: without a lane."""
    providers, feed = tables.resource_providers, tables.provider_changes

    def write(connection):
        ids = connection.execute(sa.select(providers.c.id)).scalars().all()
        if not ids:
            return
        key = random.Random(seed).choice(ids)
        row = {"resource_provider_id": key, "kind": int(ChangeKind.ROW)}
        values = {"name": f"old {seed}"}
        connection.execute(sa.update(providers).where(providers.c.id == key).values(values))
        connection.execute(sa.insert(feed).values(row))

    database.write(write)

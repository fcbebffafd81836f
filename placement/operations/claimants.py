"""The consumers of one allocation write, locked, with what they hold and what they are to hold."""

import dataclasses
from collections.abc import Mapping, Sequence

from placement.domain.allocation import Entry
from placement.domain.consumer import Consumer, ConsumerRequest, check_generation
from placement.domain.provider import Node
from placement.storage import allocations, consumers
from placement.storage.engine import Connection


@dataclasses.dataclass
class Claimants:
    """What :func:`Claimants.lock` found, and the statements that need it."""

    requests: Sequence[ConsumerRequest]
    stored: dict[str, Consumer]
    held: list[Entry]

    @classmethod
    def lock(cls, connection: Connection, requests: Sequence[ConsumerRequest]) -> "Claimants":
        """Lock the consumers that exist, and read what they hold."""
        uuids = [request.uuid for request in requests]
        if not uuids:
            return cls(requests, {}, [])
        stored = consumers.lock(connection, uuids)
        held = allocations.entries_of(connection, uuids)
        return cls(requests, stored, held)

    @property
    def uuids(self) -> list[str]:
        return [request.uuid for request in self.requests]

    def check_generations(self) -> None:
        """Raise ConcurrentUpdate for the first consumer that isn't as its request believes."""
        for request in self.requests:
            known = self.stored.get(request.uuid)
            check_generation(request, known.generation if known else None)

    def provider_ids(self) -> set[int]:
        """Ids of the providers that the consumers hold something of."""
        return {entry.provider_id for entry in self.held}

    def class_names(self) -> list[str]:
        """The classes the requests name, in their order."""
        names = (
            name
            for request in self.requests
            for resources in request.allocations.values()
            for name in resources
        )
        return list(dict.fromkeys(names))

    def entries(self, nodes: Mapping[str, Node], class_ids: Mapping[str, int]) -> list[Entry]:
        """What the consumers are to hold; what an empty request gives up comes with amount 0."""
        entries = []
        for request in self.requests:
            if not request.allocations:
                entries += [
                    dataclasses.replace(entry, amount=0)
                    for entry in self.held
                    if entry.consumer == request.uuid
                ]
            for uuid, resources in request.allocations.items():
                entries += [
                    Entry(request.uuid, nodes[uuid].id, class_ids[name], amount)
                    for name, amount in resources.items()
                ]
        return entries

    def save_consumers(self, connection: Connection) -> None:
        """Create the consumers that are new and store the requests' projects, users and types."""
        projects = consumers.ensure_projects(connection, (r.project for r in self.requests))
        users = consumers.ensure_users(connection, (r.user for r in self.requests))
        types = consumers.ensure_types(
            connection, (r.type_name for r in self.requests if r.type_name is not None)
        )
        new, changed = [], []
        for request in self.requests:
            project, user = projects[request.project], users[request.user]
            type_id = types[request.type_name] if request.type_name is not None else None
            known = self.stored.get(request.uuid)
            if known is None:
                new.append(
                    {
                        "uuid": request.uuid,
                        "project_id": project,
                        "user_id": user,
                        "consumer_type_id": type_id,
                    }
                )
                continue
            type_id = known.type_id if type_id is None else type_id
            if (known.project_id, known.user_id, known.type_id) != (project, user, type_id):
                changed.append(
                    {"consumer": known.id, "project": project, "user": user, "type": type_id}
                )
        if new:
            consumers.insert(connection, new)
            self.stored |= consumers.lock(connection, [str(row["uuid"]) for row in new])
        consumers.set_owners(connection, changed)

    def save_allocations(self, connection: Connection, entries: list[Entry]) -> None:
        """Store the entries in place of all that the consumers held; forget emptied consumers."""
        if self.held:
            allocations.delete(connection, self.uuids)
        allocations.insert(connection, entries)
        listed = {entry.consumer for entry in entries}
        holding = {entry.consumer for entry in entries if entry.amount}
        consumers.bump(connection, [self.stored[uuid].id for uuid in sorted(holding)])
        consumers.delete(connection, [self.stored[uuid].id for uuid in sorted(listed - holding)])

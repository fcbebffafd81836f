"""The locked consumers of one allocation write, with their old and requested allocations."""

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from placement.domain.capacity import Entry
from placement.domain.consumer import Consumer, ConsumerRequest, check_generation, named_twice
from placement.errors import AllocationRefused, LostRace
from placement.storage import allocations, consumers
from placement.storage.database.connection import Question, StatementResult
from placement.storage.database.engine import Connection

Row = Mapping[str, object]


@dataclasses.dataclass
class LockedConsumers:
    """The consumers of one write, made by :func:`LockedConsumers.lock`.

    :param stored: the consumers that exist, by uuid
    :param held: their stored allocations
    :param owner_ids: the ids of requested projects, users and types that exist, by kind and name;
        None: they weren't looked up yet
    """

    requests: Sequence[ConsumerRequest]
    stored: dict[str, Consumer]
    held: list[Entry]
    owner_ids: Mapping[str, Mapping[str, int]] | None = None

    @classmethod
    def lock(cls, connection: Connection, requests: Sequence[ConsumerRequest]) -> "LockedConsumers":
        """Lock the consumers that exist, and read their allocations.

        Raises LostRace if another writer created one of the consumers between the two statements:
        to lock that consumer now could violate the order of locks.
        """
        return cls.lock_and_ask(connection, requests)[0]

    @classmethod
    def lock_and_ask(
        cls,
        connection: Connection,
        requests: Sequence[ConsumerRequest],
        *questions: Question,
        wait: bool = True,
    ) -> tuple["LockedConsumers", list[StatementResult]]:
        """Do as `lock`, then ask questions, in one message if that can be; return the answers.

        :param wait: whether to wait for consumers that others have locked. If not, these aren't
            among the `stored` ones, but their allocations are among those that are `held`
        """
        uuids = [request.uuid for request in requests]
        if not uuids:
            return cls(requests, {}, []), connection.execute_all(*questions)
        named = consumers.owners_question(*_owner_names(requests))
        own = [allocations.entries_question(uuids), *([named] if named else [])]
        stored, answers = consumers.lock_and_ask(connection, uuids, *own, *questions, wait=wait)
        held, owners = allocations.entries_in(answers[0])
        owner_ids = consumers.ids_by_kind(answers[1]) if named else None
        if wait and not owners <= {consumer.id for consumer in stored.values()}:
            raise LostRace()
        locked = cls(_as_stored(requests, stored), stored, held, owner_ids)
        return locked, answers[len(own) :]

    @property
    def uuids(self) -> list[str]:
        return [request.uuid for request in self.requests]

    def check_generations(self) -> None:
        """Raise ConcurrentUpdate for the first consumer with another generation than requested."""
        seen = set()
        for request in self.requests:
            known = self.stored.get(request.uuid)
            check_generation(request, known.generation if known else None)
            if known and request.uuid in seen:
                raise named_twice(request, known.generation + 1)
            seen.add(request.uuid)

    @contextlib.contextmanager
    def refusing(self, connection: Connection) -> Iterator[None]:
        """Wrap the check of capacities: report a new consumer's outdated generation first.

        A consumer that doesn't exist can't be locked. While this transaction waits for the locks of
        the providers, another writer may create the consumer and take the requested resources.
        Then the check raises AllocationRefused, but the cause is the caller's outdated generation.
        Raises ConcurrentUpdate instead in that case.
        """
        try:
            yield
        except AllocationRefused:
            new = [request for request in self.requests if request.uuid not in self.stored]
            if new:
                stored = consumers.generations(connection, [request.uuid for request in new])
                for request in new:
                    check_generation(request, stored.get(request.uuid))
            raise

    def provider_ids(self) -> set[int]:
        """Return the ids of the providers with stored allocations of the consumers."""
        return {entry.provider_id for entry in self.held}

    def emptied_provider_ids(self) -> set[int]:
        """Return the ids of the providers of which empty requests remove allocations."""
        emptied = {request.uuid for request in self.requests if not request.allocations}
        return {entry.provider_id for entry in self.held if entry.consumer in emptied}

    def class_names(self) -> list[str]:
        """Return the resource classes in the requests, in the order of their first mention."""
        names = (
            name
            for request in self.requests
            for resources in request.allocations.values()
            for name in resources
        )
        return list(dict.fromkeys(names))

    def entries(self, provider_ids: Mapping[str, int], class_ids: Mapping[str, int]) -> list[Entry]:
        """Return the requested allocations.

        For a consumer with an empty request, return its stored allocations with amount 0.

        :param provider_ids: ids of providers by uuid
        :param class_ids: ids of resource classes by name
        """
        held: dict[str, list[Entry]] = {}
        for entry in self.held:
            held.setdefault(entry.consumer, []).append(entry)
        entries: list[Entry] = []
        for request in self.requests:
            if not request.allocations:
                entries += [
                    dataclasses.replace(entry, amount=0) for entry in held.get(request.uuid, ())
                ]
            for uuid, resources in request.allocations.items():
                entries += [
                    Entry(request.uuid, provider_ids[uuid], class_ids[name], amount)
                    for name, amount in resources.items()
                ]
        return entries

    def save(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Replace the stored allocations of the consumers with the entries.

        New consumers are created, consumers without allocations are deleted, and the generation of
        the other stored consumers is incremented. Raises ConcurrentUpdate.
        """
        holding = {entry.consumer for entry in entries if entry.amount}
        emptied = {entry.consumer for entry in entries} - holding
        self._save_consumers(connection, holding, emptied)
        if self.held:
            allocations.delete(connection, self.uuids)
        allocations.insert(connection, entries)
        consumers.bump(connection, self._ids(holding))
        consumers.delete(connection, self._ids(emptied))

    def _ids(self, uuids: Collection[str]) -> list[int]:
        """Return the ids of the consumers that existed before, in ascending order."""
        return sorted(self.stored[uuid].id for uuid in uuids if uuid in self.stored)

    def _save_consumers(
        self, connection: Connection, holding: Collection[str], emptied: Collection[str]
    ) -> None:
        projects, users, types = consumers.ensure_owners(
            connection, *_owner_names(self.requests), known=self.owner_ids
        )
        new, changed = [], []
        for request in self.requests:
            owner = {
                "project_id": projects[request.project],
                "user_id": users[request.user],
                "consumer_type_id": types[request.type_name]
                if request.type_name is not None
                else None,
            }
            known = self.stored.get(request.uuid)
            if known is not None:
                changed += _changed(known, owner)
            elif request.uuid not in emptied:
                generation = int(request.uuid in holding)
                new.append({"uuid": request.uuid, "generation": generation, **owner})
        # sorted, so that writers of the same new consumers can't deadlock
        self._insert(connection, sorted(new, key=lambda row: str(row["uuid"])))
        consumers.set_owners(connection, changed)

    def _insert(self, connection: Connection, new: Sequence[Row]) -> None:
        """Insert new consumers. Raises ConcurrentUpdate if two uuids are equal to the database.

        Some databases take uuids that differ in case for the same one, and only a query for stored
        uuids shows whether this one does. So one spelling of each uuid is inserted. Then the other
        spellings are looked up: those that are found are the same uuid a second time.
        """
        first: dict[str, str] = {}
        for uuid in [*self.stored, *(str(row["uuid"]) for row in new)]:
            first.setdefault(uuid.lower(), uuid)
        spellings = set(first.values())
        consumers.insert(connection, [row for row in new if row["uuid"] in spellings])
        others = [row for row in new if row["uuid"] not in spellings]
        if not others:
            return
        found = consumers.lock(connection, [str(row["uuid"]) for row in others])
        for request in self.requests:
            uuid = first[request.uuid.lower()]
            if request.uuid not in spellings and uuid in found:
                known = self.stored.get(uuid)
                raise named_twice(request, known.generation if known else 0)
        consumers.insert(connection, others)


def _owner_names(
    requests: Sequence[ConsumerRequest],
) -> tuple[list[str], list[str], list[str]]:
    """Return the projects, users and consumer types in the requests."""
    return (
        [request.project for request in requests],
        [request.user for request in requests],
        [request.type_name for request in requests if request.type_name is not None],
    )


def _as_stored(
    requests: Sequence[ConsumerRequest], stored: Mapping[str, Consumer]
) -> Sequence[ConsumerRequest]:
    """Return the requests, with the uuids as they are stored.

    A stored uuid differs only if the database ignores case.
    """
    otherwise = {uuid.lower(): uuid for uuid in stored.keys() - {r.uuid for r in requests}}
    if not otherwise:
        return requests
    return [
        dataclasses.replace(request, uuid=otherwise.get(request.uuid.lower(), request.uuid))
        for request in requests
    ]


def _changed(known: Consumer, owner: dict[str, int | None]) -> list[dict[str, int | None]]:
    """Return a list with the row that changes the consumer's owner; empty if it stays the same.

    Without a requested type, the consumer keeps its stored type.
    """
    project, user = owner["project_id"], owner["user_id"]
    type_id = known.type_id if owner["consumer_type_id"] is None else owner["consumer_type_id"]
    if (known.project_id, known.user_id, known.type_id) == (project, user, type_id):
        return []
    return [{"consumer": known.id, "project": project, "user": user, "type": type_id}]

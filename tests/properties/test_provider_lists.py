"""Of any cloud, whatever two workers wrote, lists from memory are those of the database."""

import contextlib

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.candidates.live.foreign_writers import NEVER, OthersInFeed, OtherWriters
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.operations.database_lists import DatabaseLists
from placement.operations.provider_lists import ProviderLists
from placement.storage import tables
from placement.storage.database.engine import Database, DatabaseSettings
from tests import leftovers
from tests.extent import examples
from tests.functional.placement.operations.listing import assert_same, filters
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import holding, numbered

PROVIDERS = [numbered("a", number) for number in range(5)]
AGGREGATES = [numbered("b", number) for number in range(2)]
CONSUMERS = [numbered("c", number) for number in range(3)]
TRAITS = ("HW_CPU_X86_AVX2", "CUSTOM_T")
CLASSES = ("VCPU", "DISK_GB")

one = st.sampled_from(PROVIDERS)
stocks = st.dictionaries(
    st.sampled_from(CLASSES),
    st.fixed_dictionaries(
        {"total": st.integers(1, 9)},
        optional={
            "reserved": st.integers(0, 9),
            "min_unit": st.integers(1, 3),
            "max_unit": st.integers(1, 9),
            "step_size": st.integers(1, 3),
            "allocation_ratio": st.sampled_from([0.1, 0.5, 0.7, 1.0, 1.1, 4.0, 16.0]),
        },
    ),
)
held = st.dictionaries(
    one, st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 5), min_size=1), max_size=2
)
writes = st.one_of(
    st.tuples(st.just("create"), one, st.none() | one),
    st.tuples(st.just("rename"), one, st.sampled_from("xyz")),
    st.tuples(st.just("move"), one, st.none() | one),
    st.tuples(st.just("delete"), one),
    st.tuples(st.just("stock"), one, stocks),
    st.tuples(st.just("describe"), one, st.sets(st.sampled_from(TRAITS))),
    st.tuples(st.just("join"), one, st.sets(st.sampled_from(AGGREGATES))),
    st.tuples(st.just("claim"), st.sampled_from(CONSUMERS), held),
)
history = st.lists(
    st.tuples(writes, st.integers(0, 1), st.sampled_from([(), (0,), (1,), (0, 1)])),
    min_size=1,
    max_size=12,
)


class Worker:
    """A service on the database, and its lists. Whether a write is refused doesn't matter."""

    def __init__(self, url):
        self.service = Service(url)
        self.database = Database(DatabaseSettings(url, sqlite_synchronous=False))
        leftovers.owner().at_end(self.database.close)
        self.begin()

    def begin(self):
        """Begin without a snapshot, and never look at the tables but as the change feed says."""
        others = OtherWriters(NEVER)
        live = LiveSnapshot(self.database, 0, others)
        live.current()
        self.lists = ProviderLists(
            self.database, OthersInFeed(others), DatabaseLists(self.database), live
        )

    def _generation(self, uuid):
        return self.service.get(f"/resource_providers/{uuid}").json.get("generation", 0)

    def _put(self, uuid, part, body):
        body |= {"resource_provider_generation": self._generation(uuid)}
        self.service.put(f"/resource_providers/{uuid}/{part}", body)

    def create(self, uuid, parent):
        body = {"uuid": uuid, "name": uuid, "parent_provider_uuid": parent}
        self.service.post("/resource_providers", body)

    def rename(self, uuid, name):
        self.service.put(f"/resource_providers/{uuid}", {"name": name})

    def move(self, uuid, parent):
        body = {"name": uuid, "parent_provider_uuid": parent}
        self.service.put(f"/resource_providers/{uuid}", body)

    def delete(self, uuid):
        self.service.delete(f"/resource_providers/{uuid}")

    def stock(self, uuid, stocks):
        self._put(uuid, "inventories", {"inventories": stocks})

    def describe(self, uuid, traits):
        self._put(uuid, "traits", {"traits": sorted(traits)})

    def join(self, uuid, aggregates):
        self._put(uuid, "aggregates", {"aggregates": sorted(aggregates)})

    def claim(self, consumer, held):
        known = self.service.get(f"/allocations/{consumer}").json.get("consumer_generation")
        self.service.put(f"/allocations/{consumer}", holding(held, known))


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('lists')}/placement.db"
    made = [Worker(url), Worker(url)]
    made[0].service.write("PUT", "/traits/CUSTOM_T")
    with contextlib.ExitStack() as stack:
        for worker in made:
            stack.enter_context(contextlib.closing(worker.database))
        yield made


def empty(connection):
    """Delete all providers, with what belongs to them. The feed isn't told."""
    for table in (
        *(tables.allocations, tables.consumers, tables.inventories),
        *(tables.resource_provider_traits, tables.resource_provider_aggregates),
        *(tables.placement_aggregates, tables.resource_providers),
    ):
        connection.execute(sa.delete(table))


@settings(max_examples=examples(6, 80), deadline=None)
@given(steps=history, seed=st.integers(0, 99))
def test_the_lists_of_both_workers_are_those_of_the_database(workers, steps, seed):
    workers[0].database.write(empty)
    for worker in workers:
        worker.begin()
    for uuid in PROVIDERS[:3]:
        workers[0].create(uuid, None)
    for (kind, *values), writer, asked in steps:
        getattr(workers[writer], kind)(*values)
        for number in asked:
            compare(workers[number], seed, combined=5)
    for worker in workers:
        compare(worker, seed, combined=40)


def compare(worker, seed, combined):
    asked = filters(worker.database, seed, combined)
    # the single conditions are many and alike: some are enough each time
    assert_same(worker.lists, worker.database, [asked[0], *asked[1 + seed % 7 : -combined : 7]])
    assert_same(worker.lists, worker.database, asked[-combined:])

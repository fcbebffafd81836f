"""Whatever two workers write, what each remembers of projects is what the tables say."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement.candidates.live.foreign_writers import NEVER, OthersInFeed, OtherWriters
from placement.operations import project_usages
from placement.operations.project_usages import ProjectUsages
from placement.storage import usages
from placement.storage.database.engine import Database, DatabaseSettings
from tests import leftovers
from tests.extent import examples
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import holding, numbered, stock

PROVIDERS = [numbered("a", number) for number in range(4)]
CONSUMERS = [numbered("c", number) for number in range(5)]
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
PROJECTS, USERS, TYPES = ("p", "q"), ("u", "v"), ("INSTANCE", "MIGRATION", "unknown")

held = st.dictionaries(
    st.sampled_from(PROVIDERS),
    st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 3), min_size=1),
    max_size=3,
)
owned = st.tuples(
    st.sampled_from(CONSUMERS),
    held,
    st.sampled_from(PROJECTS),
    st.sampled_from(USERS),
    st.sampled_from(TYPES),
)
writes = st.one_of(
    st.tuples(st.just("put"), owned),
    st.tuples(st.just("owner"), owned),
    st.tuples(st.just("post"), st.lists(owned, min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.sampled_from(CONSUMERS)),
    st.tuples(st.just("reshape"), st.lists(owned, min_size=1, max_size=3)),
    st.tuples(st.just("stock"), st.sampled_from(PROVIDERS)),
)
history = st.lists(
    st.tuples(writes, st.integers(0, 1), st.sampled_from([(), (0,), (1,), (0, 1)])),
    min_size=1,
    max_size=12,
)


class Worker:
    """A service on the database, and what it remembers of projects."""

    def __init__(self, url):
        self.service = Service(url)
        self.database = Database(DatabaseSettings(url, sqlite_synchronous=False))
        leftovers.owner().at_end(self.database.close)
        self.usages = self.forgetful()

    def forgetful(self):
        """Return a memory without anything; what it remembers, it never reads again by age."""
        self.usages = ProjectUsages(self.database, OthersInFeed(OtherWriters(NEVER)), few=1)
        return self.usages

    def generation(self, path):
        found = self.service.get(path).json
        return found.get("consumer_generation", found.get("generation"))

    def write(self, kind, given):
        """Write; a refusal is as good as a write."""
        getattr(self, kind)(given)

    def _body(self, consumer, held, project, user, type_name):
        generation = self.generation(f"/allocations/{consumer}")
        return holding(held, generation, project, user, type_name)

    def put(self, given):
        self.service.put(f"/allocations/{given[0]}", self._body(*given))

    def owner(self, given):
        """Give a consumer to somebody else, with all that it holds."""
        consumer, _, *whose = given
        now = self.service.get(f"/allocations/{consumer}").json["allocations"]
        same = {provider: entry["resources"] for provider, entry in now.items()}
        self.service.put(f"/allocations/{consumer}", self._body(consumer, same, *whose))

    def post(self, given):
        self.service.post("/allocations", {each[0]: self._body(*each) for each in given})

    def reshape(self, given):
        inventories = {
            provider: stock(self.generation(f"/resource_providers/{provider}"), **TOTALS)
            for provider in PROVIDERS[:2]
        }
        allocations = {each[0]: self._body(*each) for each in given}
        body = {"inventories": inventories, "allocations": allocations}
        self.service.post("/reshaper", body)

    def delete(self, consumer):
        self.service.delete(f"/allocations/{consumer}")

    def stock(self, provider):
        path = f"/resource_providers/{provider}"
        self.service.put(f"{path}/inventories", stock(self.generation(path), **TOTALS))


TOTALS = dict.fromkeys(CLASSES, 20)


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('usages')}/placement.db"
    made = [Worker(url), Worker(url)]
    for uuid in PROVIDERS:
        made[0].service.write("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        made[0].stock(uuid)
    with contextlib.ExitStack() as stack:
        for worker in made:
            stack.enter_context(contextlib.closing(worker.database))
        yield made


def assert_right(worker):
    for project in PROJECTS:
        for user in (None, *USERS):
            for by_type in (True, False):
                right = usages.of_project(worker.database, project, user, by_type)
                assert worker.usages.of_project(project, user, by_type) == right


@settings(max_examples=examples(30, 120))
@given(steps=history, of_provider=st.sampled_from([0, 1, 50]))
def test_the_answers_of_both_workers_are_those_of_the_tables(workers, steps, of_provider):
    with pytest.MonkeyPatch.context() as patched:
        # from reading each changed provider again to reading all of the project
        patched.setattr(project_usages, "_OF_PROVIDER", of_provider)
        for worker in workers:
            worker.forgetful()
        for (kind, what), writer, asked in steps:
            workers[writer].write(kind, what)
            for number in asked:
                assert_right(workers[number])
        for worker in workers:
            assert_right(worker)

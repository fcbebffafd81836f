"""Claims beside other claims and other writers (extensions.md 4)."""

import collections
import concurrent.futures
import contextlib
import functools
import itertools
import threading

import pytest
import sqlalchemy as sa

from placement.candidates.budget import Budget, SearchEnded
from placement.candidates.live.live_snapshot import LiveSnapshot
from placement.candidates.request import CandidateRequest, Group
from placement.domain.consumer import UNCHECKED, ConsumerRequest
from placement.errors import ClaimUnfinished, NoCandidate, SearchUnfinished
from placement.extensions.claims import claim_batch
from placement.extensions.claims.choice import Chooser, Strategy
from placement.extensions.claims.claim_batch import ClaimBatch, Job
from placement.extensions.claims.claim_lines import ClaimLines
from placement.extensions.claims.operation import ClaimRequest
from placement.storage import consumers, tables
from tests.endless import endless
from tests.faults.locks import wait_until_somebody_waits
from tests.functional.placement.extensions.claims.claiming import (
    HOSTS,
    ask,
    got,
    joint_job,
    make_together,
    outcome,
    stocked,
    used,
)
from tests.functional.placement.processes import COUNT
from tests.functional.placement.service import Service, statements
from tests.functional.placement.small_cloud import expect, holding, numbered, stock
from tests.patience import PATIENCE

pytestmark = [pytest.mark.spread_over_databases, pytest.mark.usefixtures("unhurried")]

RP = tables.resource_providers
PLACES = 8


@pytest.fixture
def service(database_url):
    """Return a service with hosts that have room for 2 claims of 1 VCPU each."""
    return stocked(Service(database_url))


def in_threads(jobs):
    """Run the jobs in threads that begin together; return the results in their order."""
    ready = threading.Barrier(len(jobs))

    def run(job):
        ready.wait()
        return job()

    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        return [one.result() for one in [pool.submit(run, job) for job in jobs]]


# Among claims


def take_last_places(service, number):
    """Claim in threads, one with each strategy."""
    jobs = [
        functools.partial(ask, service, numbered("c", number * 100 + n), strategy=strategy.value)
        for n, strategy in enumerate(Strategy)
    ]
    return collections.Counter(map(outcome, in_threads(jobs)))


def test_each_of_the_last_places_is_taken_once(service, processes):
    answers = sum(processes.run(take_last_places, service.url), collections.Counter())
    assert answers == {200: PLACES, "berth.no_candidate": COUNT * 4 - PLACES}
    assert used(service) == dict.fromkeys(HOSTS, 2)


def claim_the_same(service, number):
    return [ask(service, numbered("f", n), numbered("e", n)).json for n in range(3)]


def test_a_claim_that_is_sent_again_meanwhile_gets_the_same_answer(service, processes):
    first, *others = processes.run(claim_the_same, service.url)
    assert [set(one) for one in first] == [{"consumers"}] * 3
    assert others == [first] * (COUNT - 1)
    assert sum(used(service).values()) == 6


def test_threads_that_send_the_same_claim_get_the_same_answer(service):
    answers = in_threads([lambda: ask(service, numbered("c", 1), strategy="random").json] * 6)
    assert answers == [answers[0]] * 6
    assert sum(used(service).values()) == 1


def test_claims_in_threads_do_not_concern_each_other(service):
    expect(service.put(f"/allocations/{numbered('d', 1)}", holding({HOSTS[0]: {"VCPU": 2}})), 204)
    jobs = {
        "avoids": lambda: got(ask(service, numbered("c", 1), avoid=HOSTS[:3])),
        "fits": lambda: got(ask(service, numbered("c", 2), query="resources=VCPU:2")),
        "unknown": lambda: outcome(ask(service, numbered("c", 3), query="resources=CUSTOM_N:1")),
        "too much": lambda: outcome(ask(service, numbered("c", 4), query="resources=VCPU:3")),
        "holds": lambda: outcome(ask(service, numbered("d", 1))),
        "again": lambda: got(ask(service, numbered("d", 1), query="resources=VCPU:2")),
    }
    for _ in range(5):
        answers = dict(zip(jobs, in_threads(list(jobs.values())), strict=True))
        (fits,) = answers.pop("fits")
        assert fits in HOSTS[1:]
        assert answers == {
            "avoids": [HOSTS[3]],
            "unknown": "placement.undefined_code",
            "too much": "berth.no_candidate",
            "holds": "placement.concurrent_update",
            "again": [HOSTS[0]],
        }
        for number in (1, 2):
            expect(service.delete(f"/allocations/{numbered('c', number)}"), 204)


def test_claims_made_together_raise_generations_as_those_made_one_after_the_other(service):
    def generations():
        paths = [f"/resource_providers/{uuid}" for uuid in HOSTS]
        return [expect(service.get(path), 200).json["generation"] for path in paths]

    before = generations()
    make_together([joint_job(service, number) for number in range(3)])
    raised = [after - first for first, after in zip(before, generations(), strict=True)]
    assert raised == [used(service).get(uuid, 0) for uuid in HOSTS] == [2, 1, 0, 0]


def test_claims_made_together_pass_over_a_host_that_is_gone_without_a_new_look(service):
    """They don't wait for what is locked, so a host that isn't there is one that others have."""
    jobs = [joint_job(service, number) for number in range(3)]
    looks = [jobs[0].claim.cloud.current()]
    jobs[0].claim.cloud = Seen(service, current=looks.pop)
    expect(service.delete(f"/resource_providers/{HOSTS[0]}"), 204)
    make_together(jobs)
    assert [next(iter(job.results.values())).choice.allocations for job in jobs] == [
        {uuid: {"VCPU": 1}} for uuid in (HOSTS[1], HOSTS[1], HOSTS[2])
    ]


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_one_search_does_not_concern_other_claims(service, failing):
    jobs = [joint_job(service, number) for number in range(3)]
    jobs[failing].claim.chooser = Failing()
    make_together(jobs)
    assert [bool(job.results) for job in jobs] == [number != failing for number in range(3)]


def test_a_long_search_does_not_hold_up_other_claims(service):
    jobs = [joint_job(service, number) for number in range(3)]
    jobs[1].claim.chooser = Endless()
    # at each look at its clock, more time has passed than any search may take
    jobs[1].claim.budget = lambda: Budget(
        None, None, clock=itertools.count(0, 2 * PATIENCE).__next__
    )
    make_together(jobs)
    assert [bool(job.results) for job in jobs] == [True, False, True]


@pytest.mark.parametrize("database_kind", ["postgresql", "mariadb"], indirect=True)
def test_a_consumer_that_another_write_has_locked_does_not_hold_up_other_claims(service):
    expect(ask(service, numbered("c", 1)), 200)
    jobs = [joint_job(service, number) for number in range(3)]
    ready, enough = threading.Event(), threading.Event()

    def hold(connection):
        consumers.lock(connection, [numbered("c", 1)])
        ready.set()
        enough.wait(PATIENCE)

    holder = threading.Thread(target=service.database.write, args=(hold,))
    leader = threading.Thread(target=make_together, args=(jobs,))
    holder.start()
    assert ready.wait(PATIENCE)
    leader.start()
    leader.join(PATIENCE)
    try:
        assert [bool(job.results) for job in jobs] == [True, False, True]
        # what it holds is known without the lock
        assert alone(jobs[1].claim)[numbered("c", 1)].generation == 1
    finally:
        enough.set()
        holder.join(PATIENCE)
        leader.join(PATIENCE)


class Failing:
    """A chooser with a defect."""

    request = CandidateRequest((Group("", {"VCPU": 1}),))

    def choose(self, snapshot, budget):
        raise RecursionError


class Endless:
    """A chooser that searches until its budget is used up."""

    request = CandidateRequest((Group("", {"VCPU": 1}),))

    def choose(self, snapshot, budget):
        try:
            while True:
                budget.spend()
        except SearchEnded as ended:
            raise SearchUnfinished("") from ended


def test_threads_of_a_new_process_wait_for_each_other(service, monkeypatch):
    made = ClaimLines()
    monkeypatch.setattr("os.getpid", lambda: -1)
    jobs = [joint_job(service, number).claim for number in range(6)]
    results = in_threads([functools.partial(made.make, claim) for claim in jobs])
    assert [list(result) for result in results] == [[numbered("c", n)] for n in range(6)]


# Among other writers


@contextlib.contextmanager
def locked(service, *hosts):
    """Lock the rows of hosts, as a write of allocations does."""
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has a single lock")
    question = sa.text("SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE")
    with service.database.transaction() as connection:
        for uuid in hosts:
            connection.execute(question, {"uuid": uuid})
        yield


@pytest.mark.spread_over_databases("postgresql", "mariadb")
def test_hosts_that_others_have_locked_are_passed_over(service):
    with locked(service, *HOSTS[:2]):
        assert got(ask(service, numbered("c", 1))) == [HOSTS[2]]
        assert got(ask(service, numbered("c", 2), numbered("c", 3))) == [HOSTS[2], HOSTS[3]]
    assert got(ask(service, numbered("c", 4))) == [HOSTS[0]]


@pytest.mark.spread_over_databases("postgresql", "mariadb")
def test_a_claim_waits_for_the_only_host(service):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with locked(service, HOSTS[1]):
            query = f"resources=VCPU:1&in_tree={HOSTS[1]}"
            waiting = pool.submit(ask, service, numbered("c", 1), query=query)
            wait_until_somebody_waits(service.url)
            assert not waiting.done()
        assert got(waiting.result()) == [HOSTS[1]]


class Seen:
    """The cloud as it is, after `first` was called; but `current` may show something else.

    :param current: what it shows
    """

    def __init__(self, service, current=None, first=lambda: None):
        self.live = LiveSnapshot(service.database)
        self._current, self._first = current or self.live.current, first
        self.questions = 0

    def current(self):
        return self._current()

    def at_once(self, question):
        self.questions += 1
        self._first()
        return self.live.at_once(question)

    def look_for_others(self):
        self.live.look_for_others()


def alone(claim):
    job = Job(claim)
    job.is_alone = True
    ClaimBatch([job], lambda job, root: None, frozenset).run()
    if job.error is not None:
        raise job.error
    return job.results


def claim_of(service, cloud, request=None, budget=endless):
    """Return a claim of one VCPU for the first consumer."""
    request = request or CandidateRequest((Group("", {"VCPU": 1}),))
    wanted = ConsumerRequest(numbered("c", 1), "p", "u", UNCHECKED, "INSTANCE", {})
    return ClaimRequest(service.database, cloud, Chooser.first(request), [wanted], budget)


def outdated(service, change):
    """Return a cloud that is first seen as it was before a change, then as it is."""
    live = LiveSnapshot(service.database)
    seen = [live.current()]
    change()
    return Seen(service, lambda: seen.pop() if seen else live.current())


@pytest.mark.parametrize("make", [alone, lambda claim: ClaimLines().make(claim)])
def test_a_host_that_was_filled_since_the_search_is_passed_over(service, make):
    def fill():
        taken = holding({HOSTS[0]: {"VCPU": 2}})
        expect(service.put(f"/allocations/{numbered('d', 1)}", taken), 204)

    found = make(claim_of(service, outdated(service, fill)))
    assert found[numbered("c", 1)].choice.allocations == {HOSTS[1]: {"VCPU": 1}}


@pytest.mark.parametrize("make", [alone, lambda claim: ClaimLines().make(claim)])
def test_a_host_that_lost_a_trait_since_the_search_is_passed_over(service, make):
    for uuid in HOSTS[:2]:
        traits = {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 1}
        expect(service.put(f"/resource_providers/{uuid}/traits", traits), 200)

    def lose():
        none = {"traits": [], "resource_provider_generation": 2}
        expect(service.put(f"/resource_providers/{HOSTS[0]}/traits", none), 200)

    group = Group("", {"VCPU": 1}, required=(frozenset({"HW_CPU_X86_AVX"}),))
    cloud = outdated(service, lose)
    found = make(claim_of(service, cloud, request=CandidateRequest((group,))))
    assert found[numbered("c", 1)].choice.allocations == {HOSTS[1]: {"VCPU": 1}}


@pytest.mark.parametrize("make", [alone, lambda claim: ClaimLines().make(claim)])
def test_a_host_that_was_deleted_since_the_search_is_passed_over(service, make):
    def delete():
        expect(service.delete(f"/resource_providers/{HOSTS[0]}"), 204)

    found = make(claim_of(service, outdated(service, delete)))
    assert found[numbered("c", 1)].choice.allocations == {HOSTS[1]: {"VCPU": 1}}


def test_a_claim_whose_hosts_are_always_taken_is_given_up(service, monkeypatch):
    monkeypatch.setattr(claim_batch, "ATTEMPTS", 5)
    live = LiveSnapshot(service.database)
    before = live.current()
    taken = {
        numbered("d", number): holding({uuid: {"VCPU": 2}}) for number, uuid in enumerate(HOSTS)
    }
    expect(service.post("/allocations", taken), 204)
    rows = service.tables()
    with pytest.raises(ClaimUnfinished):
        ClaimLines().make(claim_of(service, Seen(service, lambda: before)))
    assert service.tables() == rows
    with pytest.raises(NoCandidate):
        ClaimLines().make(claim_of(service, live))


WHOLE_HOST = CandidateRequest((Group("", {"VCPU": 2}, in_tree=HOSTS[0]),))


def test_what_a_consumer_holds_is_judged_with_the_cloud_of_that_moment(service):
    """The consumer holds the only place whenever the cloud is seen, and then gives it up."""
    path, taken = f"/allocations/{numbered('c', 1)}", holding({HOSTS[0]: {"VCPU": 2}})

    def current():
        service.put(path, taken)
        return live.current()

    live = LiveSnapshot(service.database)
    cloud = Seen(service, current, lambda: expect(service.delete(path), 204))
    found = alone(claim_of(service, cloud, WHOLE_HOST))
    assert found[numbered("c", 1)].choice.allocations == {HOSTS[0]: {"VCPU": 2}}
    assert cloud.questions == 1


def test_that_nothing_fits_is_certain_while_others_write_all_the_time(service):
    taken = holding({HOSTS[0]: {"VCPU": 1}})
    expect(service.put(f"/allocations/{numbered('d', 1)}", taken), 204)
    names = itertools.count()

    def write():
        expect(service.post("/resource_providers", {"name": f"other{next(names)}"}), 200)

    cloud = Seen(service, first=write)
    with pytest.raises(NoCandidate):
        alone(claim_of(service, cloud, WHOLE_HOST))
    assert cloud.questions == 1


def fill_unseen(service, *hosts):
    """Take all that hosts have, as a service does that doesn't append to the change feed."""
    with service.database.transaction() as connection:
        for number, uuid in enumerate(hosts):
            mine = RP.c.uuid == uuid
            connection.execute(
                sa.insert(tables.allocations),
                {
                    "resource_provider_id": connection.plain.scalar(sa.select(RP.c.id).where(mine)),
                    "resource_class_id": 0,
                    "consumer_id": numbered("d", number),
                    "used": 2,
                },
            )
            connection.execute(sa.update(RP).where(mine).values(generation=RP.c.generation + 1))


@pytest.mark.parametrize("beside", ["auto", "never"])
@pytest.mark.parametrize("strategy", [strategy.value for strategy in Strategy])
def test_hosts_that_another_service_filled_are_passed_over(new_database, beside, strategy):
    service = stocked(Service(new_database(), berth__beside_reference=beside))
    expect(ask(service, numbered("c", 1), query="resources=VCPU:99"), 409)
    fill_unseen(service, *HOSTS[:3])
    assert got(ask(service, numbered("c", 1), strategy=strategy)) == HOSTS[3:]


def test_a_claim_finds_out_that_another_service_filled_all_hosts(service):
    expect(ask(service, numbered("c", 1), query="resources=VCPU:99"), 409)
    fill_unseen(service, *HOSTS)
    assert outcome(ask(service, numbered("c", 1))) == "berth.no_candidate"


# Several consumers


#: a group needs the trait of one device and another doesn't
def test_too_many_names_are_refused_without_repeating_them(service):
    for number, more in ((1001, {}), (1, {"avoid": [numbered("a", n) for n in range(10_001)]})):
        answer = ask(service, *(numbered("c", n) for n in range(number)), **more)
        assert expect(answer, 400)
        assert "at most" in answer.text
        assert len(answer.text) < 500


def test_a_tree_may_be_avoided_twice(service):
    assert got(ask(service, numbered("c", 1), avoid=[HOSTS[0], HOSTS[0]])) == [HOSTS[1]]


def test_the_number_of_statements_does_not_depend_on_the_number_of_consumers(service):
    ask(service, numbered("d", 1))
    counts = []
    for together in ([numbered("c", 0)], [numbered("c", n) for n in range(1, 6)]):
        with statements(service.database) as sent:
            expect(ask(service, *together), 200)
        counts.append(len(sent))
        for uuid in together:
            expect(service.delete(f"/allocations/{uuid}"), 204)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("make", [alone, lambda claim: ClaimLines().make(claim)])
def test_a_search_that_is_not_finished_says_so(service, make):
    with pytest.raises(SearchUnfinished):
        make(claim_of(service, LiveSnapshot(service.database), budget=lambda: Budget(0, None)))


def test_random_claims_take_every_host(service):
    random_hosts = set()
    for number in range(40):
        random_hosts |= set(got(ask(service, numbered("c", number), strategy="random")))
        expect(service.delete(f"/allocations/{numbered('c', number)}"), 204)
    assert random_hosts == set(HOSTS)


def test_spread_and_pack_compare_the_free_share(service):
    expect(service.put(f"/resource_providers/{HOSTS[2]}/inventories", stock(1, VCPU=4)), 200)
    taken = {numbered("d", n): holding({HOSTS[n]: {"VCPU": 1}}) for n in range(4)}
    expect(service.post("/allocations", taken), 204)
    # free: 1/2, 1/2, 3/4, 1/2
    assert got(ask(service, numbered("c", 1), strategy="spread")) == [HOSTS[2]]
    assert got(ask(service, numbered("c", 2), strategy="pack")) == [HOSTS[0]]


def test_the_class_that_runs_out_first_is_compared(service):
    for uuid in HOSTS[:2]:
        more = stock(1, VCPU=100, MEMORY_MB=8)
        expect(service.put(f"/resource_providers/{uuid}/inventories", more), 200)
    taken = ({HOSTS[0]: {"VCPU": 50}}, {HOSTS[1]: {"MEMORY_MB": 4}})
    for number, amounts in enumerate(taken):
        expect(service.put(f"/allocations/{numbered('d', number)}", holding(amounts)), 204)
    query = "resources=VCPU:1,MEMORY_MB:1"
    expected = {("spread", None): 0, ("pack", None): 1, ("spread", "VCPU"): 1, ("pack", "VCPU"): 0}
    for (strategy, by), host in expected.items():
        more = {"strategy": strategy} | ({"by": by} if by else {})
        assert got(ask(service, numbered("c", 1), query=query, **more)) == [HOSTS[host]]
        expect(service.delete(f"/allocations/{numbered('c', 1)}"), 204)


@pytest.mark.parametrize("strategy", [strategy.value for strategy in Strategy])
def test_a_class_to_compare_by_has_to_exist(service, strategy):
    answer = expect(ask(service, numbered("c", 1), strategy=strategy, by="CUSTOM_NO"), 400)
    assert "No such resource class CUSTOM_NO" in answer.text

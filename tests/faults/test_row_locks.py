"""Rows that other programs have locked, and deadlocks with them (architecture.rst D3).

Berth's own transactions lock rows in one order, so that they don't deadlock. Not on SQLite, which
has a single lock (`test_sqlite.py`).
"""

import concurrent.futures
import contextlib

import pytest
import sqlalchemy as sa

from tests.databases.fixtures import only
from tests.databases.questions import ask, connected
from tests.faults.forking import running
from tests.faults.locks import wait_until_somebody_waits, waiting_transactions
from tests.faults.running import eventually
from tests.functional.placement.small_cloud import (
    NEW,
    OTHER_HOLDER,
    ROOT,
    holding,
    numbered,
    stock,
)

SECOND = numbered("b", 1)
FOUR = (ROOT, SECOND, numbered("b", 2), numbered("b", 3))
TOTAL = 4
#: number of rows that the other transaction writes, so that MariaDB rolls back the service's
MUCH = 300


#: databases that lock rows
database_kind = only("postgresql", "mariadb")


@pytest.fixture
def options(request, database_kind):
    """Return options: those of the test, or a short timeout for locks."""
    if not hasattr(request, "param"):
        return {}
    more = dict(request.param)
    limits = (PATIENT if more.pop("patient", False) else IMPATIENT)[database_kind]
    if "read_timeout" in more:
        limits += f"&read_timeout={more.pop('read_timeout')}"
    return {
        "DEFAULT__DEBUG": "true",
        "PLACEMENT_DATABASE__CONNECTION_PARAMETERS": limits,
        **more,
    }


@pytest.fixture
def service(database_url, database_kind, options):
    if database_kind == "postgresql":
        patient_about_deadlocks(database_url)
    with running(database_url, workers=1, **options) as service:
        for uuid in FOUR:
            body = {"name": uuid, "uuid": uuid}
            assert service.post("/resource_providers", body).status == 200
            path = f"/resource_providers/{uuid}/inventories"
            assert service.put(path, stock(0, VCPU=TOTAL)).status == 200
        # so that project, user and type exist
        held = holding({ROOT: {"VCPU": 1}})
        assert service.put(f"/allocations/{OTHER_HOLDER}", held).status == 204
        yield service


def patient_about_deadlocks(url):
    """Make the database search for deadlocks only after the other transaction has completed one."""
    with connected(url) as connection:
        name = connection.execute(sa.text("SELECT current_database()")).scalar()
        connection.execute(sa.text(f"ALTER DATABASE {name} SET deadlock_timeout = '1s'"))
        connection.commit()


@pytest.fixture
def beside():
    """Return a function that runs another one in a thread; it returns a future."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield pool.submit


@contextlib.contextmanager
def transaction(url):
    """Yield a transaction of another program, which doesn't time out."""
    with connected(url) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SET LOCAL deadlock_timeout = '1h'"))
        yield connection


def lock(connection, uuid):
    question = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE"
    connection.execute(sa.text(question), {"uuid": uuid}).scalar_one()


def claim(service, *uuids):
    wanted = holding({uuid: {"VCPU": 1} for uuid in uuids})
    return service.put(f"/allocations/{NEW}", wanted)


def test_a_write_waits_for_another_program_that_holds_its_provider(service, database_url, beside):
    with transaction(database_url) as other:
        lock(other, ROOT)
        answer = beside(claim, service, ROOT)
        wait_until_somebody_waits(database_url)
        assert service.get(f"/resource_providers/{ROOT}").status == 200
        assert service.get("/allocation_candidates?resources=VCPU:1").status == 200
        assert not answer.done()
    assert answer.result().status == 204


def sent_at_once(service, database_url, beside, write):
    """Return the statuses and codes of four writes whose row stays locked."""
    with transaction(database_url) as other:
        lock(other, ROOT)
        answers = [beside(write, service) for _ in range(4)]
        found = [answer.result() for answer in answers]
    assert "Answers 503" not in service.log.read_text()
    return {(one.status, one.code) for one in found}


@pytest.mark.thorough
def test_several_writes_that_wait_for_one_row_do_not_take_the_server_for_silent(
    service, database_url, beside
):
    """Each gets what a single one gets: on PostgreSQL, they wait for one another, too.

    It takes half a minute with the limits that Berth has by itself.
    """

    def write(service):
        traits = {"resource_provider_generation": 1, "traits": []}
        return service.put(f"/resource_providers/{ROOT}/traits", traits)

    found = sent_at_once(service, database_url, beside, write)
    assert found == {(409, "placement.concurrent_update")}


def test_a_client_does_not_notice_a_deadlock(service, database_url, beside):
    with transaction(database_url) as other:
        names = [{"name": f"CUSTOM_{n}"} for n in range(MUCH)]
        other.execute(sa.text("INSERT INTO traits (name) VALUES (:name)"), names)
        lock(other, SECOND)
        answer = beside(claim, service, ROOT, SECOND)
        wait_until_somebody_waits(database_url)
        # the service has locked this row; without a rollback of the service this statement would
        # fail
        lock(other, ROOT)
    assert answer.result().status == 204
    held = "SELECT count(*) FROM allocations WHERE consumer_id = :consumer"
    assert ask(database_url, held, consumer=NEW) == [(2,)]


IMPATIENT = {
    "postgresql": "options=-c%20lock_timeout%3D100ms",
    "mariadb": "init_command=SET%20SESSION%20innodb_lock_wait_timeout%20%3D%201",
}
PATIENT = {
    "postgresql": "options=-c%20lock_timeout%3D2s",
    "mariadb": "init_command=SET%20SESSION%20innodb_lock_wait_timeout%20%3D%202",
}
TWO_TRIES = {"PLACEMENT__ALLOCATION_CONFLICT_RETRY_COUNT": "2"}
#: a wait for a lock as in `IMPATIENT`, and seconds after which a server is silent
SHORT_LIMITS = TWO_TRIES | {"read_timeout": "3"}


@pytest.mark.parametrize("options", [TWO_TRIES], indirect=True, ids=["two tries"])
def test_a_lock_that_stays_is_a_conflict_after_the_configured_tries(
    service, database_url, database_kind
):
    with transaction(database_url) as other:
        lock(other, ROOT)
        answer = claim(service, ROOT)
        assert (answer.status, answer.code) == (409, "placement.concurrent_update")
    assert claim(service, ROOT).status == 204
    assert service.log.read_text().count("Runs again after lock_timeout") == 1


@pytest.mark.parametrize("options", [SHORT_LIMITS], indirect=True, ids=["short limits"])
def test_the_limits_for_locks_and_for_silence_may_be_shorter(service, database_url, beside):
    found = sent_at_once(service, database_url, beside, lambda service: claim(service, ROOT))
    assert found == {(409, "placement.concurrent_update")}


def several(service):
    """Allocate from both providers for several consumers; the lower id is locked first."""
    held = {
        numbered("9", number): holding({uuid: {"VCPU": 1} for uuid in (ROOT, SECOND)})
        for number in range(2)
    }
    return service.post("/allocations", held)


def reshape(service):
    """Reshape both providers."""
    stocks = {uuid: stock(1, VCPU=TOTAL) for uuid in (ROOT, SECOND)}
    return service.post("/reshaper", {"inventories": stocks, "allocations": {}})


def change_tree(service):
    """Write the first provider's traits, and allocate from both."""
    wanted = {"generation": 1, "traits": []}
    held = {NEW: holding({uuid: {"VCPU": 1} for uuid in (ROOT, SECOND)})}
    body = {"providers": {ROOT: wanted}, "allocations": held}
    return service.put(f"/berth/v1/provider_trees/{ROOT}", body)


def claim_both(service):
    return claim(service, ROOT, SECOND)


@pytest.mark.spread_over_databases("postgresql", "mariadb")
@pytest.mark.parametrize("write", [claim_both, several, reshape, change_tree])
def test_a_write_holds_nothing_while_it_waits_for_long(service, database_url, beside, write):
    """Another program may lock the one provider, and does so while the write still waits."""
    with transaction(database_url) as other:
        lock(other, SECOND)
        answer = beside(write, service)
        eventually(lambda: waits_alone(database_url))
        assert claim(service, ROOT).status == 204
        assert not answer.done()
    assert answer.result().status in (200, 204, 409)


def waits_alone(url):
    """Return whether one transaction waits, and holds no lock of ROOT meanwhile."""
    before = waiting_transactions(url)
    with connected(url) as other:
        question = "SELECT id FROM resource_providers WHERE uuid = :uuid FOR UPDATE SKIP LOCKED"
        is_free = other.execute(sa.text(question), {"uuid": ROOT}).all()
    return bool(is_free) and len(before) == 1 and before == waiting_transactions(url)


#: a longer wait for a row, and seconds after which a server is silent
ONE_AFTER_THE_OTHER = {"patient": True, "read_timeout": "3"}
#: how a transaction of another program ends itself after so many seconds without a statement
ENDS_ITSELF = {
    "postgresql": "SET idle_in_transaction_session_timeout = '{}s'",
    "mariadb": "SET SESSION idle_transaction_timeout = {}",
}


def allocate(service, generation=None):
    """Allocate from all four providers."""
    wanted = holding({uuid: {"VCPU": 1} for uuid in FOUR}, generation)
    return service.put(f"/allocations/{NEW}", wanted)


def allocate_again(service):
    return allocate(service, 1)


def reshape_all(service):
    stocks = {
        uuid: stock(service.get(f"/resource_providers/{uuid}").body["generation"], VCPU=TOTAL)
        for uuid in FOUR
    }
    return service.post("/reshaper", {"inventories": stocks, "allocations": {}})


@pytest.mark.spread_over_databases("postgresql", "mariadb")
@pytest.mark.parametrize("options", [ONE_AFTER_THE_OTHER], indirect=True, ids=["three seconds"])
@pytest.mark.parametrize("write", [allocate, allocate_again, reshape_all])
def test_rows_that_become_free_one_after_the_other_are_no_silent_server(
    service, database_url, database_kind, write
):
    """Each becomes free a second after the one before: together later than a server is silent."""
    if write is allocate_again:
        assert allocate(service).status == 204
    with contextlib.ExitStack() as others:
        for seconds, uuid in enumerate(FOUR, 1):
            other = others.enter_context(connected(database_url))
            # the server has ended it
            others.callback(other.invalidate)
            other.execute(sa.text(ENDS_ITSELF[database_kind].format(seconds)))
            lock(other, uuid)
        answer = write(service)
    assert answer.status in (200, 204), answer.body
    said = service.log.read_text()
    assert "has not answered" not in said
    assert "Runs again after disconnect" not in said


def test_a_consumer_created_concurrently_is_a_conflict_and_no_lack_of_capacity(
    service, database_url, beside
):
    """Allocate what fitted before the other write; the generation is outdated after it."""
    with transaction(database_url) as other:
        lock(other, ROOT)
        wanted = holding({ROOT: {"VCPU": TOTAL - 1}})
        answer = beside(service.put, f"/allocations/{NEW}", wanted)
        wait_until_somebody_waits(database_url)
        write_both(other)
    assert (answer.result().status, answer.result().code) == (409, "placement.concurrent_update")


def test_a_reshape_for_a_consumer_created_concurrently_is_a_conflict_too(
    service, database_url, beside
):
    with transaction(database_url) as other:
        lock(other, ROOT)
        answer = beside(service.post, "/reshaper", RESHAPE)
        wait_until_somebody_waits(database_url)
        write_both(other)
    assert (answer.result().status, answer.result().code) == (409, "placement.concurrent_update")


#: a reshape that doesn't change ROOT, which the other write doesn't use
RESHAPE = {
    "inventories": {SECOND: stock(1, VCPU=TOTAL)},
    "allocations": {NEW: holding({ROOT: {"VCPU": TOTAL - 1}})},
}


def write_both(connection):
    """Create NEW with one VCPU and give OTHER_HOLDER the rest, as one write would."""
    values = {"new": NEW, "like": OTHER_HOLDER, "rest": TOTAL - 1}
    for statement in (
        "INSERT INTO consumers (uuid, project_id, user_id, consumer_type_id, generation) "
        "SELECT :new, project_id, user_id, consumer_type_id, 1 FROM consumers WHERE uuid = :like",
        "INSERT INTO allocations (consumer_id, resource_provider_id, resource_class_id, used) "
        "SELECT :new, resource_provider_id, resource_class_id, 1 "
        "FROM allocations WHERE consumer_id = :like",
        "UPDATE allocations SET used = :rest WHERE consumer_id = :like",
        "UPDATE consumers SET generation = generation + 1 WHERE uuid = :like",
    ):
        connection.execute(sa.text(statement), values)

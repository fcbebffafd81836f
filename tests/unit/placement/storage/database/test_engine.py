"""One transaction per write, run again when a failure may pass (architecture.rst D3)."""

import contextlib
import sqlite3

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from placement.errors import (
    ConcurrentUpdate,
    DatabaseUnavailable,
    OutcomeUnknown,
    PlacementError,
    TraitInUse,
)
from placement.storage.database.compiled import Compiled
from placement.storage.database.engine import (
    LONGEST_PAUSE,
    PATIENCE,
    TRIES,
    Database,
    DatabaseSettings,
)
from tests.clock import Clock

NUMBERS = sa.Table("numbers", sa.MetaData(), sa.Column("n", sa.Integer, unique=True))
LOCKED = OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))
LOST = OperationalError("INSERT", {}, Exception("gone"), connection_invalidated=True)
DEADLOCK = OperationalError("INSERT", {}, Exception(1213, "Deadlock found"))
BROKEN = OperationalError("INSERT", {}, sqlite3.OperationalError("no such table: x"))


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def database(tmp_path, pauses):
    """Return a database whose patience ends on no machine, however slow it is."""
    settings = DatabaseSettings(f"sqlite:///{tmp_path}/n.db")
    opened = Database(settings, pause=pauses.append, clock=Clock())
    opened.write(lambda connection: NUMBERS.create(connection.plain))
    yield opened
    opened.close()


def numbers(database):
    return database.read(lambda connection: list(connection.execute(sa.select(NUMBERS)).scalars()))


def failing(times, error, number=1):
    """Make an operation that writes a number, and fails so many times before it succeeds."""
    left = iter([error] * times)

    def operation(connection):
        connection.execute(sa.insert(NUMBERS).values(n=number))
        failure = next(left, None)
        if failure is not None:
            raise failure
        return number

    return operation


def test_a_write_answers_what_its_operation_answers(database):
    assert database.write(failing(0, None, number=7)) == 7


def test_a_write_that_goes_through_is_stored(database):
    database.write(failing(0, None))
    assert numbers(database) == [1]


def test_a_write_runs_again_from_its_start_after_a_lock(database):
    database.write(failing(TRIES - 1, LOCKED))
    assert numbers(database) == [1]


def test_what_is_compiled_for_one_database_serves_the_next(tmp_path):
    select = Compiled(sa.select(NUMBERS.c.n))
    for name in ("one", "other"):
        with contextlib.closing(Database(DatabaseSettings(f"sqlite:///{tmp_path}/{name}"))) as it:
            it.write(lambda connection: NUMBERS.metadata.create_all(connection.plain))
            assert it.ask(select) == []
    assert len(select._forms) == 1


def test_deadlocks_use_up_no_tries(database):
    database.write(failing(3 * TRIES, DEADLOCK))
    assert (numbers(database), database.retries["deadlock"]) == ([1], 3 * TRIES)


def test_further_runs_are_counted_by_cause(database):
    database.write(failing(2, LOCKED))
    database.write(failing(1, LOST, number=2))
    assert dict(database.retries) == {"locked": 2, "disconnect": 1}
    assert database.repetitions == 3


def test_a_write_that_never_gets_through_is_a_conflict_and_leaves_nothing(database):
    with pytest.raises(ConcurrentUpdate):
        database.write(failing(TRIES, LOCKED))
    assert numbers(database) == []


def test_it_is_an_error_unless_the_caller_goes_on(database, caplog):
    """Who says how long a write may take, as a claim does, tries again itself."""
    for patience, errors in ((PATIENCE, 0), (None, 1)):
        with pytest.raises(ConcurrentUpdate):
            database.write(failing(TRIES, LOCKED), patience=patience)
        assert [record.levelname for record in caplog.records].count("ERROR") == errors


def test_a_write_pauses_a_bounded_random_time_between_its_tries(database, pauses):
    with pytest.raises(ConcurrentUpdate):
        database.write(failing(TRIES, LOCKED))
    assert len(pauses) == TRIES - 1
    assert all(0 <= pause <= LONGEST_PAUSE for pause in pauses)


def test_no_try_is_begun_that_would_outlast_its_patience_as_the_longest_before(tmp_path):
    third = PATIENCE / 3
    times = iter([0.0, third, 2 * third + 1])
    impatient = Database(
        DatabaseSettings(f"sqlite:///{tmp_path}/n.db"),
        pause=lambda seconds: None,
        clock=times.__next__,
    )
    impatient.engine.dispose()

    def locked(connection):
        raise LOCKED

    with pytest.raises(ConcurrentUpdate):
        impatient.write(locked)
    assert impatient.retries["locked"] == 1
    impatient.close()


#: a node of a Galera cluster that was frozen, when it goes on; the driver's COMMIT is no statement
FROZEN = OperationalError(None, None, Exception(1180, "Got error 5 during COMMIT"))


def failing_commits(database, times):
    left = iter([FROZEN] * times)

    def commit(connection):
        failure = next(left, None)
        if failure is not None:
            raise failure

    event.listen(database.engine, "commit", commit)


def test_a_commit_that_a_node_of_a_cluster_refuses_is_run_again(database):
    failing_commits(database, 2)
    assert database.write(failing(0, None)) == 1
    assert (numbers(database), dict(database.retries)) == ([1], {"commit_failed": 2})


def test_commits_refused_again_and_again_leave_nobody_certain(database):
    failing_commits(database, TRIES)
    with pytest.raises(OutcomeUnknown):
        database.write(failing(0, None))


def test_what_follows_a_refused_commit_is_as_uncertain(database):
    failing_commits(database, 1)
    errors = iter([None] + [LOCKED] * TRIES)

    def operation(connection):
        if error := next(errors):
            raise error

    with pytest.raises(OutcomeUnknown):
        database.write(operation)


@pytest.mark.parametrize("error", [TraitInUse(name="T"), PoolExhausted("no connection is free")])
def test_a_refusal_after_a_refused_commit_is_as_uncertain(database, error):
    """The commit may have happened after all, and be the reason."""
    failing_commits(database, 1)
    errors = iter([None, error])

    def operation(connection):
        if failure := next(errors):
            raise failure

    with pytest.raises(OutcomeUnknown):
        database.write(operation)


@pytest.mark.parametrize("error", [BROKEN, TraitInUse(name="T"), KeyError("x")])
def test_other_errors_are_not_tried_again(database, error):
    with pytest.raises(type(error)):
        database.write(failing(1, error))
    assert (dict(database.retries), numbers(database)) == ({}, [])


def test_a_refusal_of_the_service_leaves_nothing(database):
    with pytest.raises(PlacementError):
        database.write(failing(1, TraitInUse(name="T")))
    assert numbers(database) == []


def test_a_key_taken_meanwhile_is_seen_by_the_next_run(database):
    looked = []

    def insert_unless_there(connection):
        there = list(connection.execute(sa.select(NUMBERS)).scalars())
        looked.append(there)
        if not there:
            if len(looked) == 1:
                raise taken
            connection.execute(sa.insert(NUMBERS).values(n=1))

    database.write(failing(0, None))
    with pytest.raises(IntegrityError) as broken, database.engine.begin() as connection:
        connection.execute(sa.insert(NUMBERS).values(n=1))
    taken = broken.value
    with database.engine.begin() as connection:
        connection.execute(sa.delete(NUMBERS))

    database.write(insert_unless_there)

    assert (looked, numbers(database), database.retries["duplicate"]) == ([[], []], [1], 1)


def committing(database, error):
    """Let the next commit fail."""
    errors = [error]

    @event.listens_for(database.engine, "commit")
    def fail(connection):
        if errors:
            raise errors.pop()


def test_a_write_waits_for_another_process_that_writes(tmp_path):
    path = tmp_path / "n.db"
    other = sqlite3.connect(path, isolation_level=None)
    patient = Database(
        DatabaseSettings(f"sqlite:///{path}"),
        pause=lambda seconds: other.execute("COMMIT"),
        clock=Clock(),
    )

    @event.listens_for(patient.engine, "connect")
    def do_not_wait_in_sqlite(connection, record):
        connection.execute("PRAGMA busy_timeout = 0")

    patient.write(lambda connection: NUMBERS.create(connection.plain))
    other.execute("BEGIN IMMEDIATE")

    patient.write(failing(0, None))

    assert (numbers(patient), dict(patient.retries)) == ([1], {"locked": 1})
    patient.close()
    other.close()


def test_a_commit_that_met_a_lock_runs_again(database):
    committing(database, LOCKED)
    database.write(failing(0, None))
    assert (numbers(database), database.retries["locked"]) == ([1], 1)


def test_a_connection_lost_while_it_commits_is_an_error(database):
    committing(database, LOST)
    with pytest.raises(OutcomeUnknown):
        database.write(failing(0, None))
    assert dict(database.retries) == {}


def test_a_question_is_asked_again_on_a_new_connection(database):
    failures = [LOST]

    def question(connection):
        if failures:
            raise failures.pop()
        return "answer"

    assert (database.read(question), database.retries["disconnect"]) == ("answer", 1)


def test_a_question_that_is_never_answered_is_no_conflict(database):
    def question(connection):
        raise LOST

    with pytest.raises(DatabaseUnavailable):
        database.read(question)


def test_a_write_that_never_reaches_the_database_is_no_conflict(database):
    def operation(connection):
        raise LOST

    with pytest.raises(DatabaseUnavailable):
        database.write(operation)


def test_a_question_sees_one_moment(database):
    def question(connection):
        before = connection.execute(sa.select(sa.func.count()).select_from(NUMBERS)).scalar()
        database.write(failing(0, None))
        after = connection.execute(sa.select(sa.func.count()).select_from(NUMBERS)).scalar()
        return before, after

    assert database.read(question) == (0, 0)


def test_a_database_in_memory_is_one_for_all_threads():
    with contextlib.closing(Database(DatabaseSettings("sqlite://"))) as database:
        database.write(lambda connection: NUMBERS.create(connection.plain))
        database.write(failing(0, None))
        assert numbers(database) == [1]

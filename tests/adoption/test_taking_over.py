"""Berth takes over a database of OpenStack Placement, and gives it back (architecture.rst D2)."""

import time

import pytest

from tests.adoption import cloud
from tests.adoption.comparison import Answers
from tests.adoption.rows import execute, rows
from tests.adoption.upgrade_check import without_ours
from tests.patience import PATIENCE

#: seconds between audits of the snapshot
AUDIT = "1"


@pytest.fixture
def filled(reference, empty_url):
    """Return the URL of a database that the reference created and filled."""
    with reference.serving(empty_url, sync=True) as service:
        cloud.build(service)
    return empty_url


def test_every_response_is_the_same_after_the_takeover(filled, reference, ours):
    with reference.serving(filled) as service:
        before = Answers(service)
    ours.sync(filled)
    with ours.serving(filled) as service:
        after = Answers(service)
    assert before.differences(after) == []


def test_the_takeover_changes_no_row_of_the_reference(filled, ours):
    before = rows(filled)
    ours.sync(filled)
    with ours.serving(filled):
        after = rows(filled)
    assert after == before


def test_the_reference_works_on_a_database_that_was_taken_over(filled, reference, ours):
    ours.sync(filled)
    with ours.serving(filled) as service:
        cloud.live_on(service)
        mine = Answers(service)
    with reference.serving(filled, sync=True) as service:
        assert mine.differences(Answers(service)) == []
        cloud.live_on(service)


def test_commands_of_the_reference_work_on_a_database_that_was_taken_over(filled, reference, ours):
    ours.sync(filled)
    with ours.serving(filled) as service:
        cloud.live_on(service)
    reference.sync(filled)
    assert reference.manage(filled, "version").stdout == ours.manage(filled, "version").stdout
    check = reference.run(filled, "placement-status", "upgrade", "check")
    assert check.returncode == 0, check.stdout


def test_berth_works_again_after_the_reference(filled, reference, ours):
    ours.sync(filled)
    with ours.serving(filled) as service:
        cloud.live_on(service)
        Answers(service)
    with reference.serving(filled) as service:
        cloud.live_on(service)
        theirs = Answers(service)
    with ours.serving(filled) as service:
        assert theirs.differences(Answers(service)) == []


def test_the_reference_works_on_a_database_that_berth_created(empty_url, reference, ours):
    ours.sync(empty_url)
    with ours.serving(empty_url) as service:
        cloud.build(service)
        mine = Answers(service)
    reference.sync(empty_url)
    with reference.serving(empty_url) as service:
        assert mine.differences(Answers(service)) == []
        cloud.live_on(service)


def test_a_running_service_notices_what_the_reference_writes(filled, reference, ours):
    ours.sync(filled)
    with (
        reference.serving(filled) as theirs,
        ours.serving(filled, BERTH__SNAPSHOT_AUDIT_INTERVAL=AUDIT) as mine,
    ):
        Answers(mine)
        cloud.live_on(theirs)
        written = Answers(theirs)
        end = time.monotonic() + PATIENCE
        while (left := written.differences(Answers(mine))) and time.monotonic() < end:
            assert {line.partition("?")[0] for line in left} == {"/allocation_candidates"}
    assert left == []


def old_data(url):
    """Make the database look as if its rows were older than trees and consumers."""
    execute(
        url,
        "UPDATE resource_providers SET root_provider_id = NULL WHERE parent_provider_id IS NULL",
        "DELETE FROM consumers WHERE generation = 1",
    )


def test_old_data_is_migrated_as_the_reference_does(new_database, reference, ours):
    told = {}
    for program in (reference, ours):
        url = new_database(empty=True)
        with reference.serving(url, sync=True) as service:
            cloud.build(service)
        ours.sync(url)
        old_data(url)
        runs = [program.run(url, "placement-status", "upgrade", "check")]
        for limit in (("--max-count", "1"), ("--max-count", "5"), ()):
            runs.append(program.manage(url, "online_data_migrations", *limit))
            runs.append(program.run(url, "placement-status", "upgrade", "check"))
        told[program.name] = [
            *((run.returncode, without_ours(run.stdout)) for run in runs),
            untimed(rows(url), "resource_providers"),
            # sorted without ids, because the order of insertion depends on the database
            sorted(row[1:] for row in untimed(rows(url), "consumers")),
        ]
    assert told["ours"] == told["reference"]


def untimed(found, table):
    """Return a table's rows without their times."""
    return sorted(row[2:] for row in found[table])

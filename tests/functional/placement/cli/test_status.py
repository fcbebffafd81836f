"""placement-status upgrade check (rest-api.md 7.4)."""

import contextlib
import sqlite3

import pytest

from placement import installation
from placement.cli import status
from placement.cli.schema_fitness import EARLIEST
from placement.installation import our_version
from placement.storage.database.engine import Database, DatabaseSettings
from placement.storage.schema import schema_upgrade
from tests.functional.placement.serving.programs import free_port
from tests.versions.earlier import release_before


@pytest.fixture
def path(tmp_path, monkeypatch):
    found = tmp_path / "placement.db"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{found}")
    return found


@pytest.fixture
def synced(path):
    database = Database(DatabaseSettings(f"sqlite:///{path}"))
    schema_upgrade.sync(database)
    database.close()
    return path


@pytest.fixture
def check(capsys):
    """Return a function that runs the checks; it returns exit code, and results by title."""

    def check(*arguments):
        capsys.readouterr()
        code = status.main(arguments or ["upgrade", "check"])
        found, title = {}, None
        for line in capsys.readouterr().out.splitlines():
            text = line.strip("| ")
            if text.startswith("Check: "):
                title = text.removeprefix("Check: ")
                found[title] = ""
            elif title and line.startswith("|"):
                found[title] = f"{found[title]} {text}".strip()
        return code, found

    return check


def execute(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


GOOD = "Result: Success Details: None"
ADVICE = 'Run the "placement-manage db online_data_migrations" command.'
ROOTS = "Missing Root Provider IDs"
CONSUMERS = "Incomplete Consumers"
POLICY = "Policy File JSON to YAML Migration"
SCHEMA = "Berth Schema"


def test_a_good_database_passes_every_check_in_order(synced, check):
    code, found = check()
    fits = found.pop(SCHEMA)
    assert (code, list(found.items())) == (0, [(ROOTS, GOOD), (CONSUMERS, GOOD), (POLICY, GOOD)])
    assert fits == (
        f"Result: Success Details: Berth {our_version()} works with the schema (revision 0003). "
        f"Berth {EARLIEST} and later can serve on it, beside this version or instead of it. "
        "OpenStack Placement can, too."
    )


def test_a_database_of_the_reference_needs_a_sync(synced, check):
    for table in ("berth_schema_version", "berth_alembic_version"):
        execute(synced, f"DROP TABLE {table}")
    code, found = check()
    assert (code, found[SCHEMA]) == (
        0,
        "Result: Success Details: The database has OpenStack Placement's tables, and not yet "
        'Berth\'s. Run the "placement-manage db sync" command before you start this version. '
        "OpenStack Placement can serve before and after that, too.",
    )


def test_a_database_that_cannot_be_taken_over_is_a_failure(synced, check):
    for table in ("berth_schema_version", "berth_alembic_version"):
        execute(synced, f"DROP TABLE {table}")
    execute(synced, "ALTER TABLE inventories ADD COLUMN more INTEGER")
    code, found = check()
    assert (code, found[SCHEMA]) == (
        2,
        "Result: Failure Details: Berth can't take this database over: inventories: column more "
        "is not known.",
    )


def test_the_schema_of_an_earlier_version_is_a_warning(synced, check):
    execute(synced, "UPDATE berth_schema_version SET version_num = '0001'")
    code, found = check()
    assert (code, found[SCHEMA]) == (
        1,
        "Result: Warning Details: The schema is that of an earlier Berth (revision 0001). Run the "
        '"placement-manage db sync" command before you start this version. Berth '
        f"{EARLIEST} and later can serve before and after that, beside this version.",
    )


def test_it_says_that_another_service_wrote_lately(synced, check):
    execute(
        synced,
        "INSERT INTO resource_providers (uuid, name, root_provider_id, created_at)"
        " VALUES ('u', 'n', 1, datetime('now'))",
    )
    code, found = check()
    assert code == 0
    assert "In the last hour another service, such as OpenStack Placement, wrote" in found[SCHEMA]


def test_the_version_before_is_one_that_works_with_the_schema():
    assert release_before().version == EARLIEST


def test_a_provider_without_a_root_is_a_failure(synced, check):
    execute(synced, "INSERT INTO resource_providers (uuid, name) VALUES ('u', 'n')")
    code, found = check()
    assert (code, found[ROOTS]) == (
        2,
        "Result: Failure Details: There is at least one resource provider table record which "
        f"misses its root provider id. {ADVICE}",
    )


def test_consumers_without_a_row_are_a_warning(synced, check):
    for resource_class in (0, 1):
        execute(
            synced,
            "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
            f"VALUES (1, 'c', {resource_class}, 1)",
        )
    code, found = check()
    assert (code, found[CONSUMERS]) == (
        1,
        "Result: Warning Details: There are 1 incomplete consumers table records for existing "
        f"allocations. {ADVICE}",
    )


def test_a_policy_file_in_json_is_a_failure(synced, check, tmp_path, monkeypatch):
    file = tmp_path / "policy.json"
    file.write_text("{}")
    monkeypatch.setenv("OS_OSLO_POLICY__POLICY_FILE", str(file))
    code, found = check()
    assert (code, found[POLICY].startswith("Result: Failure")) == (2, True)


@pytest.mark.parametrize(
    "arguments", [["upgrade", "--json", "check"], ["upgrade", "check", "--json"]]
)
def test_the_json_option_has_no_effect(synced, check, arguments):
    assert check(*arguments) == check()


def one_line(capsys):
    """Run the checks, which can't be made; return what was said."""
    with pytest.raises(SystemExit) as end:
        status.main(["upgrade", "check"])
    said = capsys.readouterr()
    assert (end.value.code, said.out, said.err.count("\n")) == (255, "", 1)
    return said.err


def test_a_database_without_tables_is_an_error_of_one_line(path, capsys):
    assert one_line(capsys) == (
        "placement-status: The database has no tables of placement. Is "
        "[placement_database]connection right? For a new cloud, run the "
        '"placement-manage db sync" command.\n'
    )


def test_a_database_that_is_down_is_an_error_of_one_line(path, capsys, monkeypatch):
    url = f"mysql+pymysql://nobody@127.0.0.1:{free_port()}/placement"
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    assert "placement-status: The database can't be used: " in one_line(capsys)


def test_a_table_that_is_missing_is_an_error_of_one_line(synced, capsys):
    execute(synced, "DROP TABLE allocations")
    assert "The database can't be used: no such table: allocations" in one_line(capsys)


def test_the_reason_that_the_other_checks_cannot_be_trusted_stands_alone(synced, check):
    for table in ("berth_schema_version", "berth_alembic_version"):
        execute(synced, f"DROP TABLE {table}")
    execute(synced, "ALTER TABLE resource_providers RENAME COLUMN root_provider_id TO root")
    code, found = check()
    assert (code, list(found)) == (2, [SCHEMA])


def test_without_a_database_the_option_is_named(path, monkeypatch, capsys):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
    with pytest.raises(SystemExit) as end:
        status.main(["upgrade", "check"])
    assert end.value.code == 1
    assert "connection in group [placement_database]" in capsys.readouterr().err


def test_bad_arguments_are_usage_errors(path):
    with pytest.raises(SystemExit) as end:
        status.main(["nonsense"])
    assert end.value.code == 2


def test_usage_names_the_command(path, capsys):
    with pytest.raises(SystemExit):
        status.main(["upgrade"])
    assert "usage: placement-status upgrade [-h] [--json] check" in capsys.readouterr().err


def test_a_variable_that_nobody_reads_is_told(synced, monkeypatch, capsys):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__MAX_RETRIESS", "1")
    assert status.main(["upgrade", "check"]) == 0
    said = capsys.readouterr().err
    assert "placement-status: OS_PLACEMENT_DATABASE__MAX_RETRIESS: nobody" in said


def test_the_variable_of_servers_names_the_configuration(synced, check, monkeypatch, tmp_path):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    (tmp_path / "placement.conf").write_text(
        f"[placement_database]\nconnection = sqlite:///{synced}\n"
    )
    assert check()[0] == 0


def test_an_environment_shared_with_the_reference_is_a_failure_even_without_tables(
    path, check, monkeypatch
):
    def refuse():
        raise installation.SharedEnvironment("both have files in /there.")

    monkeypatch.setattr(installation, "refuse_shared_environment", refuse)
    code, found = check()
    assert (code, found) == (
        2,
        {"Installation": "Result: Failure Details: both have files in /there."},
    )


def test_missing_files_are_a_failure(synced, check, monkeypatch):
    monkeypatch.setattr(installation, "missing_files", lambda: ["placement/app.py"])
    code, found = check()
    assert code == 2
    assert "1 files of Berth are missing, placement/app.py for example" in found["Installation"]


def test_a_hidden_reference_is_a_warning_beside_the_other_checks(synced, check, monkeypatch):
    class Hidden:
        version = "16.0.0"

        def locate_file(self, name):
            return "/there"

    monkeypatch.setattr(installation, "hidden_reference", Hidden)
    code, found = check()
    assert code == 1
    assert list(found) == ["Installation", ROOTS, CONSUMERS, POLICY, SCHEMA]
    assert "Berth hides OpenStack Placement 16.0.0 in /there" in found["Installation"]

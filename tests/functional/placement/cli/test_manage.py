"""placement-manage (rest-api.md 7.3)."""

import contextlib
import re
import sqlite3

import pytest

from placement.cli import manage
from placement.installation import our_version
from placement.storage.schema import schema_upgrade
from placement.storage.tables import REFERENCE_HEAD

SECRET = "s3cr3t"
NIL = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def path(tmp_path, monkeypatch):
    found = tmp_path / "placement.db"
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{found}")
    return found


@pytest.fixture
def run(capsys, own_logging):
    """Return a function that runs a command and returns exit code, output and errors."""

    def run(*arguments):
        try:
            code = manage.main(arguments)
        except SystemExit as end:
            code = end.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def synced(path, run):
    assert run("db", "sync")[0] == 0
    return path


def test_a_variable_that_nobody_reads_is_told(path, run, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__MAX_RETRIESS", "1")
    code, _, err = run("db", "version")
    assert code == 0
    assert "placement-manage: OS_PLACEMENT_DATABASE__MAX_RETRIESS: nobody reads this" in err


def execute(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


def test_without_arguments_help_is_shown_and_the_code_is_1(run):
    code, out, _ = run()
    assert (code, out.startswith("usage: placement-manage"), "--version" in out) == (1, True, True)


def test_db_without_a_command_shows_help_and_the_code_is_0(run):
    code, out, _ = run("db")
    assert (code, out.startswith("usage: placement-manage db")) == (0, True)


def test_help_needs_no_database(run, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)
    assert [run()[0], run("--help")[0], run("db")[0], run("db", "sync", "-h")[0]] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "options",
    [
        ["--debug"],
        ["-d"],
        ["--nodebug"],
        ["--use-json"],
        ["--log-file", "manage.log"],
        ["--log-dir", "."],
        ["--log-date-format", "%H:%M"],
    ],
)
def test_logging_options_are_those_of_all_commands(synced, run, monkeypatch, tmp_path, options):
    monkeypatch.chdir(tmp_path)
    assert run(*options, "db", "version")[:2] == (0, f"{REFERENCE_HEAD}\n")


def test_a_successful_command_prints_only_its_result(synced, run):
    assert run("db", "version") == (0, f"{REFERENCE_HEAD}\n", "")


def test_options_come_before_the_command(synced, run):
    assert run("db", "version", "--debug")[0] == 2


@pytest.mark.parametrize("arguments", [["nonsense"], ["db", "nonsense"], ["db", "stamp"]])
def test_bad_arguments_are_usage_errors(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out, "usage:" in err) == (2, "", True)


def test_an_option_prints_the_version_of_the_program(run):
    code, out, _ = run("--version")
    assert (code, out) == (0, f"{our_version()}\n")


def test_the_variable_of_servers_names_the_configuration(synced, run, monkeypatch, tmp_path):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path / "etc"))
    folder = tmp_path / "etc" / "placement.conf.d"
    folder.mkdir(parents=True)
    (tmp_path / "etc" / "placement.conf").touch()
    (folder / "database.conf").write_text(
        f"[placement_database]\nconnection = sqlite:///{synced}\n"
    )
    assert run("db", "version")[:2] == (0, f"{REFERENCE_HEAD}\n")


def test_without_configuration_the_error_says_where_files_are_searched(run, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)
    code, out, err = run("db", "version")
    assert (code, out) == (1, "")
    assert err == (
        "placement-manage: value required for option connection in group [placement_database]: "
        "no configuration file found in ~/.placement, ~, /etc/placement and /etc (placement.conf "
        "or placement-manage.conf or placement.conf.d/*.conf).\n"
    )


def test_an_empty_database_has_no_version(path, run):
    assert run("db", "version")[:2] == (0, "None\n")


def test_sync_prints_nothing_but_logs_what_it_did(path, run):
    code, out, err = run("db", "sync")
    assert (code, out) == (0, "")
    (said,) = err.splitlines()
    found = re.search(r"The schema was at no revision and is at revision (\w+)\. (.*)", said)
    assert found[1] == "0003"
    assert found[2].startswith("Tables added: al")
    assert " resource_providers," in found[2]

    code, out, err = run("db", "sync")
    assert (code, out) == (0, "")
    (said,) = err.splitlines()
    assert said.endswith(f"The schema is current: revision {found[1]}.")


def test_an_upgrade_s_revisions_are_said():
    done = schema_upgrade.Upgrade("0001", "0002", ("b", "c"))
    assert str(done) == (
        "The schema was at revision 0001 and is at revision 0002. Tables added: b, c."
    )


def test_a_synced_database_is_at_the_reference_s_head(synced, run):
    assert run("db", "version")[:2] == (0, f"{REFERENCE_HEAD}\n")


def test_sync_accepts_no_version(path, run):
    assert run("db", "sync", "head")[0] == 2


def test_a_revision_can_be_stamped(synced, run):
    assert run("db", "stamp", "422ece571366")[:2] == (0, "")
    assert run("db", "version")[:2] == (0, "422ece571366\n")


def test_the_head_can_be_stamped(path, run):
    assert run("db", "stamp", "head")[:2] == (0, "")
    assert run("db", "version")[:2] == (0, f"{REFERENCE_HEAD}\n")


def test_an_unknown_revision_is_not_stamped(synced, run):
    assert run("db", "stamp", "xyz") == (1, "", "placement-manage: There is no revision 'xyz'.\n")
    assert run("db", "version")[:2] == (0, f"{REFERENCE_HEAD}\n")


def test_a_database_with_another_schema_is_rejected_with_a_list(synced, run):
    execute(
        synced,
        f"DROP TABLE {schema_upgrade.VERSION_TABLE}",
        f"DROP TABLE {schema_upgrade.FIRST_VERSION_TABLE}",
        "ALTER TABLE traits ADD COLUMN colour INTEGER",
        "ALTER TABLE consumers DROP COLUMN generation",
    )
    code, out, err = run("db", "sync")
    assert (code, out) == (1, "")
    assert err.endswith(
        "placement-manage: The database can't be taken over, its schema differs:\n"
        "  consumers: column generation is missing\n"
        "  traits: column colour is not known\n"
    )


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql//u:{SECRET}@host/db",
        f"nosuchdb://u:{SECRET}@host/db",
        f"sqlite:////nowhere/{'x' * 10}/placement.db",
    ],
)
def test_an_unusable_database_is_reported_in_one_line(run, monkeypatch, url):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    code, out, err = run("db", "sync")
    assert (code, out) == (1, "")
    assert err.startswith("placement-manage: ")
    assert (err.count("\n"), SECRET in err) == (1, False)


def test_without_a_database_the_option_is_named(run, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)
    code, _, err = run("db", "sync")
    assert (code, "connection in group [placement_database]" in err) == (1, True)


def test_the_configuration_file_can_be_named(run, tmp_path):
    file = tmp_path / "other.conf"
    file.write_text(f"[placement_database]\nconnection = sqlite:///{tmp_path}/other.db\n")
    assert run("--config-file", str(file), "db", "sync")[0] == 0
    assert (tmp_path / "other.db").exists()


# Online data migrations


def old_data(path, roots=0, consumers=0):
    """Create providers without a root, and allocations of consumers without a row."""
    providers = [
        f"INSERT INTO resource_providers (uuid, name, generation) VALUES ('{n}', '{n}', 0)"
        for n in range(roots)
    ]
    allocations = [
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
        f"VALUES (1, 'consumer {n}', {c}, 1)"
        for n in range(consumers)
        for c in range(2)
    ]
    execute(path, *providers, *allocations, "SELECT 1")


def rows(out):
    """Return the table in the output, as (migration, found, completed)."""
    cells = [line.strip("|").split("|") for line in out.splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in row) for row in cells[1:]]


def test_nothing_to_migrate_is_success(synced, run):
    code, out, _ = run("db", "online_data_migrations")
    assert code == 0
    assert out.startswith("Running batches of 50 until complete\n+")
    assert rows(out) == [
        ("set_root_provider_ids", "0", "0"),
        ("create_incomplete_consumers", "0", "0"),
    ]


def test_all_old_data_is_migrated_in_batches(synced, run):
    old_data(synced, roots=51, consumers=3)
    code, out, _ = run("db", "online_data_migrations")
    assert code == 0
    assert "50 rows matched query set_root_provider_ids, 50 migrated\n" in out
    assert "1 rows matched query set_root_provider_ids, 1 migrated\n" in out
    assert "3 rows matched query create_incomplete_consumers, 3 migrated\n" in out
    assert rows(out) == [
        ("set_root_provider_ids", "51", "51"),
        ("create_incomplete_consumers", "3", "3"),
    ]


def test_providers_without_a_root_become_their_own(synced, run):
    old_data(synced, roots=2)
    run("db", "online_data_migrations")
    assert execute(synced, "SELECT id - root_provider_id FROM resource_providers") == [(0,), (0,)]


def test_consumers_without_a_row_belong_to_the_configured_project_and_user(synced, run):
    old_data(synced, consumers=1)
    run("db", "online_data_migrations")
    found = execute(
        synced,
        "SELECT c.uuid, p.external_id, u.external_id, c.generation FROM consumers c "
        "JOIN projects p ON c.project_id = p.id JOIN users u ON c.user_id = u.id",
    )
    assert found == [("consumer 0", NIL, NIL, 0)]


def test_a_limit_is_for_all_migrations_together(synced, run):
    old_data(synced, roots=3, consumers=3)
    code, out, _ = run("db", "online_data_migrations", "--max-count", "4")
    assert (code, rows(out)) == (
        1,
        [("set_root_provider_ids", "3", "3"), ("create_incomplete_consumers", "1", "1")],
    )


def test_a_migration_beyond_the_limit_is_not_in_the_table(synced, run):
    old_data(synced, roots=3, consumers=3)
    code, out, _ = run("db", "online_data_migrations", "--max-count", "2")
    assert (code, rows(out)) == (1, [("set_root_provider_ids", "2", "2")])


def test_a_limited_run_that_finds_nothing_is_success(synced, run):
    assert run("db", "online_data_migrations", "--max-count", "2")[0] == 0


@pytest.mark.parametrize("count", ["0", "-1", "some", "1.5", "", "²", "9" * 30, "9" * 5000])
def test_a_limit_must_be_a_positive_number(synced, run, count):
    code, out, _ = run("db", "online_data_migrations", f"--max-count={count}")
    assert (code, out) == (127, "Must supply a positive value for max_count\n")


def test_a_failing_migration_is_reported_and_the_others_run(synced, run):
    old_data(synced, roots=1)
    execute(synced, "DROP TABLE allocations")
    code, out, _ = run("db", "online_data_migrations")
    assert code == 2
    assert "Error attempting to run create_incomplete_consumers\n" in out
    assert ("set_root_provider_ids", "1", "1") in rows(out)
    assert out.endswith("Some migrations failed unexpectedly. Check log for details.\n")


def test_a_limited_run_with_progress_and_a_failure_exits_as_unfinished(synced, run):
    old_data(synced, roots=1)
    execute(synced, "DROP TABLE allocations")
    assert run("db", "online_data_migrations", "--max-count", "5")[0] == 1

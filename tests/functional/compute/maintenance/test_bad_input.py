"""What can go wrong: a defined exit code, one clear message, nothing half done."""

import os
import signal
import sqlite3

import pytest

from compute.cli.nova_manage import main
from placement.storage.schema import schema_upgrade
from tests.functional.compute.maintenance.drivers import INTERRUPTS, NODES
from tests.functional.compute.maintenance.site import DRIVERS, HOST
from tests.functional.forked import Forked
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver
from virt.fake.driver import node_uuid

#: command → exit code when placement can't be used
UNUSABLE = {
    "migrate_compute_inventory": 1,
    "heal_allocations": 3,
    "audit": 1,
    "sync_aggregates": 3,
    "tree": 1,
    "consumers": 1,
}
CODES = {command: (command, code) for command, code in UNUSABLE.items()}


@pytest.fixture
def host(sqlite_site):
    """Make a host whose service ran once."""
    sqlite_site.started(MediumFakeDriver)
    return sqlite_site


class TestTheDatabase:
    def test_that_is_not_there(self, host):
        host.url = f"sqlite:///{host.folder}/other.db"
        host.configure()

        def check(command, code):
            found = host.run(command)
            assert (found.code, found.out) == (code, "")
            assert found.err == (
                f"nova-manage: There is no placement database {host.folder}/other.db.\n"
            )
            assert not (host.folder / "other.db").exists()

        assert_each(CODES, check)

    def test_whose_variable_is_misspelt(self, sqlite_site, monkeypatch):
        sqlite_site.url = f"sqlite:///{sqlite_site.folder}/other.db"
        sqlite_site.configure()
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONECTION", "sqlite://")
        misspelt, missing = sqlite_site.run("tree").err.splitlines()
        assert misspelt == (
            "nova-manage: OS_PLACEMENT_DATABASE__CONECTION: nobody reads this variable. "
            "Do you mean OS_PLACEMENT_DATABASE__CONNECTION?"
        )
        assert "There is no placement database" in missing

    def test_without_a_schema(self, host):
        sqlite3.connect(host.folder / "empty.db").close()
        (host.folder / "empty.db").touch()
        host.url = f"sqlite:///{host.folder}/empty.db"
        host.configure()

        def check(command, code):
            found = host.run(command)
            assert (found.code, found.out, found.err.count("\n")) == (code, "", 1)
            assert "placement-manage db sync" in found.err

        assert_each(CODES, check)

    @pytest.mark.parametrize("flags", [(), ("--dry-run",)])
    def test_of_openstack_placement_that_was_never_taken_over(self, host, flags):
        connection = sqlite3.connect(host.folder / "placement.db")
        for table in (schema_upgrade.VERSION_TABLE, schema_upgrade.FIRST_VERSION_TABLE):
            connection.execute(f"DROP TABLE {table}")
        connection.close()
        found = host.run("migrate_compute_inventory", *flags)
        assert (found.code, found.out) == (1, "")
        assert found.err == (
            "nova-manage: The placement database can't be used: The database hasn't the schema of "
            "this service: run placement-manage db sync.\n"
        )

    def test_that_is_something_else(self, host):
        (host.folder / "text.db").write_text("not a database, but long enough to be taken for one")
        host.url = f"sqlite:///{host.folder}/text.db"
        host.configure()
        found = host.run("migrate_compute_inventory")
        assert (found.code, "file is not a database" in found.err) == (1, True)

    def test_that_does_not_answer(self, host):
        host.url = "postgresql://somebody:secret@127.0.0.1:1/placement"
        host.configure()
        found = host.run("migrate_compute_inventory")
        assert (found.code, found.err.count("\n")) == (1, 1)
        assert "refused" in found.err
        assert "secret" not in found.err

    def test_that_is_in_memory(self, host):
        def check(url, *words):
            host.url = url
            host.configure()
            found = host.run(*words)
            assert (found.code, found.out, found.err.count("\n")) == (127, "", 1)
            assert "is a database in memory" in found.err

        commands = [*((name,) for name in UNUSABLE), ("migrate_compute_inventory", "--dry-run")]
        urls = ("sqlite://", "sqlite:///:memory:")
        cases = [(url, *words) for url in urls for words in commands]
        assert_each({" ".join(case): case for case in cases}, check)

    @pytest.mark.parametrize("url", ["no-url-with-a-secret", ""])
    def test_that_is_not_named(self, host, url):
        host.url = url
        host.configure()
        found = host.run("migrate_compute_inventory")
        assert (found.code, "[placement_database]connection" in found.err) == (127, True)
        assert "secret" not in found.err

    def test_is_that_of_the_service_s_file_where_the_variable_names_its_directory(
        self, sqlite_site, tmp_path, monkeypatch
    ):
        with sqlite_site.placement() as outsider:
            outsider.call("GET", "/")
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc" / "placement.conf").write_text(
            f"[placement_database]\nconnection = {sqlite_site.url}\n"
        )
        sqlite_site.url = ""
        sqlite_site.configure()
        assert sqlite_site.run("tree").code == 127
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path / "etc"))
        found = sqlite_site.run("tree")
        assert (found.code, found.err) == (0, "")

    def test_the_variable_s_directory_must_have_the_service_s_file(
        self, sqlite_site, tmp_path, monkeypatch
    ):
        sqlite_site.url = ""
        sqlite_site.configure()
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path / "nowhere"))
        found = sqlite_site.run("tree")
        assert (found.code, f"{tmp_path}/nowhere/placement.conf" in found.err) == (127, True)


class TestTheHost:
    def test_that_never_ran_the_service_is_2_and_gets_no_identity(self, sqlite_site):
        with sqlite_site.placement() as outsider:
            outsider.call("GET", "/")
        found = sqlite_site.run("migrate_compute_inventory")
        assert (found.code, "the compute service never ran here" in found.err) == (2, True)
        assert list(sqlite_site.state.iterdir()) == []

    def test_that_is_another_is_2(self, host):
        (host.state / "compute_id").unlink()
        assert host.run("migrate_compute_inventory", "--host", "host2").code == 2

    @pytest.mark.parametrize(
        ("driver", "says"), [("UnreadyHost", "not ready"), ("BrokenHost", "no hypervisor answers")]
    )
    def test_whose_driver_can_not_work_is_5(self, host, driver, says):
        found = host.run("migrate_compute_inventory", "--driver", f"{DRIVERS}.{driver}")
        assert (found.code, found.out, says in found.err) == (5, "", True)

    def test_without_a_driver_is_5(self, host):
        host.configure(driver="")
        assert host.run("migrate_compute_inventory").code == 5


def test_only_the_command_speaks_on_stderr_whatever_the_agent_logs_there(nodes, forking):
    nodes.write(NODES, {"nodes": ["node-a"], "failing": ["node-a"]})
    text = nodes.file.read_text()
    nodes.file.write_text(text.replace("[DEFAULT]", "[DEFAULT]\nuse_stderr = true"))
    arguments = [f"--config-file={nodes.file}", "placement", "migrate_compute_inventory"]
    found = Forked(main, arguments, {**os.environ})
    _, said = found.communicate()
    assert (found.returncode, said.count("\n")) == (3, 1)


class TestADriverThat:
    @pytest.mark.parametrize(
        ("driver", "says"),
        [
            ("fake.FakeBadReshapeDriver", "need to be moved"),
            ("fake.FakeReshapeFailDriver", "can't tell who has what"),
        ],
    )
    @pytest.mark.parametrize("flags", [(), ("--dry-run",)])
    def test_fails_is_3_and_nothing_is_written(self, host, driver, says, flags):
        before = host.everything()
        found = host.run("migrate_compute_inventory", "--driver", driver, *flags)
        assert (found.code, found.err.count("\n"), says in found.err) == (3, 1, True)
        assert host.everything() == before


class TestADamagedFile:
    @pytest.mark.parametrize("details", ["not json", "[1]"])
    def test_of_records_is_127_and_named(self, host, details):
        connection = sqlite3.connect(host.state / "berth-compute.db")
        connection.execute("UPDATE compute_nodes SET details = ?", (details,))
        connection.commit()
        connection.close()
        found = host.run("migrate_compute_inventory", "--dry-run")
        assert (found.code, found.err.count("\n")) == (127, 1)
        assert str(host.state / "berth-compute.db") in found.err

    def test_of_configuration_is_127_and_named(self, host):
        host.file.write_bytes(b"\xff\xfe[DEFAULT]")
        found = host.run("migrate_compute_inventory")
        assert (found.code, str(host.file) in found.err) == (127, True)

    @pytest.mark.parametrize("content", [b"\xff\x00", b"[" * 100000 + b"\n", b"{}\n"])
    def test_of_a_journal_is_127_and_named(self, host, content):
        path = host.folder / "journal"
        path.write_bytes(content)
        found = host.run("audit", "--undo", str(path))
        assert (found.code, found.err.count("\n"), str(path) in found.err) == (127, 1, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
class TestASignal:
    def test_ends_it_after_the_node_it_was_at(self, nodes, number):
        nodes.configure(f"{DRIVERS}.InterruptedNodes")
        nodes.write(INTERRUPTS, {"signals": [number]})
        found = nodes.run("migrate_compute_inventory", "--json")
        assert found.code == 130
        assert [report["result"] for report in found.json["nodes"]] == ["migrated"]
        assert found.json["summary"] == {"migrated": 1, "not begun": 1}
        assert found.err == "nova-manage: interrupted: 1 of 2 nodes weren't begun\n"

    def test_a_second_time_ends_it_at_once_and_nothing_is_half_done(self, nodes, number):
        nodes.configure(f"{DRIVERS}.InterruptedNodes")
        nodes.write(INTERRUPTS, {"signals": [number, number]})
        before = nodes.everything()
        found = nodes.run("migrate_compute_inventory")
        assert (found.code, found.err) == (130, "nova-manage: interrupted\n")
        assert nodes.everything() == before

    @pytest.mark.parametrize("times", [1, 2])
    def test_leaves_what_a_later_run_completes(self, nodes, number, times):
        nodes.configure(f"{DRIVERS}.InterruptedNodes")
        nodes.write(INTERRUPTS, {"signals": [number] * times})
        nodes.run("migrate_compute_inventory")
        assert nodes.run("migrate_compute_inventory").code == 0
        with nodes.placement() as outsider:
            totals = [outsider.totals(node_uuid(name)) for name in ("node-a", "node-b")]
        assert totals == [{"DISK_GB": 1028}] * 2


class TestTheCommandLine:
    def test_an_unknown_option_is_127(self, sqlite_site):
        def check(command, _):
            with pytest.raises(SystemExit) as ended:
                sqlite_site.run(command, "--unheard-of")
            assert ended.value.code == 127

        assert_each(CODES, check)

    def test_a_configuration_file_that_is_not_there_is_127(self, host):
        host.file.unlink()
        found = host.run("migrate_compute_inventory")
        assert (found.code, str(host.file) in found.err) == (127, True)

    def test_http_without_a_service_configured_is_127(self, host):
        found = host.run("tree", "--http")
        assert (found.code, "Group [placement]" in found.err) == (127, True)


def test_a_service_that_does_not_answer_is_told_in_one_line(host):
    host.configure(
        more="[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = admin\n"
    )
    found = host.run("tree", "--http")
    assert (found.code, found.err.count("\n")) == (1, 1)
    assert "Connection refused" in found.err


def test_a_first_run_makes_the_root_of_a_node_that_has_none(sqlite_site):
    sqlite_site.write(NODES, {"nodes": ["node-a"], "failing": []})
    sqlite_site.configure(f"{DRIVERS}.CellNodes")
    with sqlite_site.placement() as outsider:
        outsider.call("GET", "/")
    rehearsed = sqlite_site.run("migrate_compute_inventory", "--dry-run", "--json")
    with sqlite_site.placement() as outsider:
        assert not outsider.exists(node_uuid("node-a"))
    assert [made["uuid"] for made in rehearsed.json["nodes"][0]["created"]] == [node_uuid("node-a")]
    assert sqlite_site.run("migrate_compute_inventory").code == 0
    with sqlite_site.placement() as outsider:
        assert outsider.exists(node_uuid("node-a"))
    assert HOST not in rehearsed.out.split('"nodes"')[1]

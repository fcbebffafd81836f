"""`audit --suspects`, `--grace` and `--dry-run`: more to know, and less to regret."""

import pytest

from compute.cli.commands import audit as audit_command
from compute.cli.commands import audit_rounds
from compute.maintenance.audit import suspects
from compute.maintenance.audit.grace import Grace
from compute.records.instance import Instance
from tests.functional.compute.maintenance.http_service import described, serving
from tests.functional.compute.maintenance.site import FLAVOR, HOST
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.spread_over_databases("sqlite")


@pytest.fixture
def root(site):
    uuid = site.started(MediumFakeDriver)
    site.remember_a_guest()
    return uuid


@pytest.fixture
def slept(monkeypatch):
    """Return what the command has slept, without sleeping; call `slept.meanwhile` to act."""

    class Slept(list):
        meanwhile = staticmethod(lambda: None)

    found = Slept()

    def sleep(seconds):
        found.append(seconds)
        found.meanwhile()

    monkeypatch.setattr(audit_command.time, "sleep", sleep)
    monkeypatch.setattr(audit_command, "Grace", lambda seconds: Grace(seconds, lambda: sum(found)))
    return found


def leftover(site, root):
    with site.placement() as outsider:
        return outsider.allocate({root: FLAVOR})


def on_two_hosts(site, root):
    """Let an instance of this host hold something of another host; return it and that host."""
    instance = Instance(host=HOST, node=HOST, vm_state="active")
    with site.cell() as cell:
        cell.instances.create(instance)
    with site.placement() as outsider:
        other = outsider.provider("host2", inventory={"VCPU": {"total": 9}})
        outsider.allocate({root: FLAVOR, other: {"VCPU": 2}}, consumer=instance.uuid)
    return instance.uuid, other


class TestSuspects:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch):
        monkeypatch.setenv("OS_BERTH__SUSPECTS_GRACE", "0")

    def test_they_are_told_with_what_the_records_know(self, site, root):
        instance, other = on_two_hosts(site, root)
        ended = site.run("audit", "--suspects")
        lines = ended.out.splitlines()
        first = next(line for line in lines if line.startswith("Suspect two_roots"))
        assert f"consumer UUID {instance} on Resource Provider" in first
        assert first.endswith(f"; records: instance on {HOST}")
        assert f"of host2 ({other})" in lines[lines.index(first) + 1]
        assert lines[-1] == "Placement suspects: 1 two_roots."

    def test_json_has_them_beside_the_allocations(self, site, root):
        instance, _ = on_two_hosts(site, root)
        with site.placement() as outsider:
            outsider.provider(f"{HOST}.example.org", inventory={"VCPU": {"total": 9}})
        found = site.run("audit", "--suspects", "--json").json
        assert [row["kind"] for row in found["suspects"]] == ["two_roots", "alike_names"]
        assert found["suspects"][0]["consumer"] == instance
        assert found["suspects"][0]["known"] == f"instance on {HOST}"
        assert found["suspects"][1]["known"] is None
        assert found["kinds"]["alike_names"] == 1
        assert "allocations" in found

    def test_a_node_of_the_records_is_known(self, site, root):
        with site.cell() as cell:
            assert cell.compute_nodes.by_uuid(root).host == HOST
        with site.placement() as outsider:
            outsider.allocate({root: FLAVOR})
            record = {name: {"total": 1} for name in FLAVOR}
            generation = outsider.call("GET", f"/resource_providers/{root}")["generation"]
            outsider.call(
                "PUT",
                f"/resource_providers/{root}/inventories",
                {"resource_provider_generation": generation, "inventories": record},
            )
        found = site.run("audit", "--suspects", "--json").json["suspects"]
        assert {row["known"] for row in found if row["kind"] == "over_capacity"} == {
            f"node of {HOST}"
        }

    def test_they_do_not_count_for_the_exit_code(self, sqlite_site):
        root = sqlite_site.started(MediumFakeDriver)
        sqlite_site.remember_a_guest()
        with sqlite_site.placement() as outsider:
            outsider.provider("empty")
        ended = sqlite_site.run("audit", "--suspects")
        assert (ended.code, ended.out.count("Suspect empty_root")) == (0, 1)
        assert root not in ended.out

    def test_hostile_names_are_escaped(self, sqlite_site):
        sqlite_site.started(MediumFakeDriver)
        with sqlite_site.placement() as outsider:
            outsider.provider("evil\x1b[31m\nSuspect two_roots: fake")
        lines = sqlite_site.run("audit", "--suspects").out.splitlines()
        assert not any("\x1b" in line for line in lines)
        assert sum(line.startswith("Suspect") for line in lines) == 1

    def test_more_than_are_read_are_counted(self, sqlite_site, monkeypatch):
        monkeypatch.setattr(suspects, "MOST", 2)
        sqlite_site.started(MediumFakeDriver)
        with sqlite_site.placement() as outsider:
            for number in range(3):
                outsider.provider(f"empty{number}")
        out = sqlite_site.run("audit", "--suspects").out
        assert out.splitlines()[-1] == "Placement suspects: 3 empty_root, the first 2 are shown."

    def test_a_placement_without_them_is_said_and_audited(self, sqlite_site, monkeypatch):
        monkeypatch.setenv("OS_BERTH__EXTENSIONS", "false")
        consumer = leftover(sqlite_site, sqlite_site.started(MediumFakeDriver))
        sqlite_site.remember_a_guest()
        ended = sqlite_site.run("audit", "--suspects")
        assert (ended.code, consumer in ended.out) == (3, True)
        assert ended.out.splitlines()[-1].startswith("Placement tells no suspects: it is OpenStack")
        found = sqlite_site.run("audit", "--suspects", "--json").json
        assert (found["suspects"], len(found["allocations"])) == (None, 1)

    @pytest.mark.parametrize("roles", ["admin,service", "admin"])
    def test_a_service_tells_them_too(self, sqlite_site, roles):
        sqlite_site.started(MediumFakeDriver)
        with sqlite_site.placement() as outsider:
            outsider.provider("empty")
        with serving(sqlite_site.url, roles) as url:
            sqlite_site.configure(more=described(url))
            assert "Suspect empty_root" in sqlite_site.run("audit", "--http", "--suspects").out

    def test_a_user_who_may_not_ask_is_told_so(self, sqlite_site, tmp_path, monkeypatch):
        sqlite_site.started(MediumFakeDriver)
        policy = tmp_path / "policy.yaml"
        policy.write_text('"berth:suspects": "!"\n')
        monkeypatch.setenv("OS_OSLO_POLICY__POLICY_FILE", str(policy))
        assert "Placement tells no suspects" in sqlite_site.run("audit", "--suspects").out


class TestGrace:
    def test_what_both_looks_find_is_told(self, site, root, slept):
        consumer = leftover(site, root)
        ended = site.run("audit", "--grace", "600")
        assert (ended.code, slept, consumer in ended.out) == (3, [600], True)
        assert "the first look found 1 allocation; the second one is in 600 seconds" in ended.err

    def test_nothing_found_at_first_needs_no_wait(self, site, root, slept):
        assert site.run("audit", "--grace", "600").code == 0
        assert slept == []

    def test_an_instance_that_was_being_scheduled_is_left_alone(self, site, root, slept):
        scheduled, stays = leftover(site, root), leftover(site, root)
        instance = Instance(scheduled, host=HOST, node=HOST, vm_state="active")

        def arrives():
            with site.cell() as cell:
                cell.instances.create(instance)

        slept.meanwhile = arrives
        ended = site.run("audit", "--delete", "--grace", "60")
        assert ended.code == 4
        with site.placement() as outsider:
            assert outsider.allocations(scheduled) == {root: FLAVOR}
            assert outsider.allocations(stays) == {}

    def test_what_comes_meanwhile_or_changes_is_left_alone(self, site, root, slept):
        changes = leftover(site, root)
        came = []

        def others_write():
            came.append(leftover(site, root))
            with site.placement() as outsider:
                outsider.allocate({root: FLAVOR | {"VCPU": 1}}, consumer=changes)

        slept.meanwhile = others_write
        assert site.run("audit", "--delete", "--grace", "60").code == 0
        with site.placement() as outsider:
            assert all(outsider.allocations(each) for each in (changes, *came))

    def test_a_first_look_that_fails_ends_it(self, sqlite_site, slept):
        sqlite_site.configure(more=described("http://127.0.0.1:9"))
        assert sqlite_site.run("audit", "--http", "--grace", "5").code == 1
        assert slept == []

    def test_rounds_need_no_sleep_of_their_own(self, sqlite_site, monkeypatch):
        root = sqlite_site.started(MediumFakeDriver)
        sqlite_site.remember_a_guest()
        consumer = leftover(sqlite_site, root)
        rounds = []

        def next_round(seconds):
            rounds.append(seconds)
            if len(rounds) == 3:
                raise KeyboardInterrupt

        now = iter(range(0, 10_000, 40))
        monkeypatch.setattr(audit_rounds.time, "sleep", next_round)
        monkeypatch.setattr(audit_command, "Grace", lambda s: Grace(s, lambda: next(now)))
        ended = sqlite_site.run("audit", "--every", "5", "--grace", "70")
        assert ended.code == 130
        assert 1 <= ended.out.count(consumer) <= 2


class TestDryRun:
    def test_nothing_is_deleted_and_no_journal_is_made(self, site, root):
        consumer = leftover(site, root)
        before = site.rows()
        ended = site.run("audit", "--delete", "--dry-run")
        assert (ended.code, site.rows() == before) == (3, True)
        assert f"Allocations for consumer UUID {consumer}" in ended.out
        assert "can be deleted" in ended.out
        assert list(site.state.glob("removed-*")) == []

    def test_undo_says_what_would_come_back(self, site, root):
        consumer, journal = leftover(site, root), str(site.folder / "journal")
        assert site.run("audit", "--delete", "--journal", journal).code == 4
        before = site.rows()
        ended = site.run("audit", "--undo", journal, "--dry-run")
        assert (ended.code, site.rows() == before) == (0, True)
        assert ended.out.startswith(f"Would restore allocations for consumer UUID {consumer}")
        assert site.run("audit", "--undo", journal).code == 0
        again = site.run("audit", "--undo", journal, "--dry-run")
        assert again.out.startswith(f"There are allocations already for consumer UUID {consumer}")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--every", "5", "--suspects"], "watch placement_suspects instead"),
        (["--dry-run"], "--dry-run is for --delete and --undo"),
        (["--undo", "x", "--grace", "5"], "--undo goes with no other option"),
        (["--undo", "x", "--suspects"], "--undo goes with no other option"),
    ],
)
def test_what_makes_no_sense_is_refused(sqlite_site, options, reason):
    ended = sqlite_site.run("audit", *options)
    assert (ended.code, reason in ended.err) == (127, True)


def test_metrics_go_into_a_folder_under_a_name_of_their_own(sqlite_site, tmp_path):
    sqlite_site.started(MediumFakeDriver)
    folder = tmp_path / "collected"
    folder.mkdir()
    assert sqlite_site.run("audit", "--textfile", str(folder)).code == 0
    assert "berth_audit_runs_total 1.0" in (folder / "berth_audit.prom").read_text()
    assert [path.name for path in folder.iterdir()] == ["berth_audit.prom"]

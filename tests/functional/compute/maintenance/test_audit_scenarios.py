"""`audit`, the scenarios M10–M12 of compute.md §9.5, on each kind of database."""

from uuid import uuid4

import pytest

from compute.cli.commands import audit as audit_command
from compute.maintenance.journal import Journal
from compute.records.instance import BUILDING, Flavor, Instance
from compute.records.migration import CONFIRMED, ERROR, REVERTED, Migration
from tests.functional.compute.maintenance.site import FLAVOR, HOST
from tests.offenders import assert_each
from virt.fake import MediumFakeDriver

pytestmark = pytest.mark.spread_over_databases("sqlite")

#: an entry with a list for a provider
OTHER_TYPES = '{"consumer": "", "provider": [], "resources": {}, "project_id": "", "user_id": ""}\n'


@pytest.fixture
def root(site):
    """Return the provider of the host's node; its service ran once and recorded an instance."""
    uuid = site.started(MediumFakeDriver)
    site.remember_a_guest()
    return uuid


def guest(site, root, **fields):
    """Make an instance of the host with the allocations of its flavor; `fields` may differ."""
    known = {"host": HOST, "node": HOST, "vm_state": "active", "flavor": Flavor(2, 2048, 20)}
    instance = Instance(**(known | fields))
    with site.cell() as cell:
        cell.instances.create(instance)
    with site.placement() as outsider:
        outsider.allocate({root: FLAVOR}, consumer=instance.uuid)
    return instance.uuid


def leftover(site, *providers, resources=FLAVOR):
    with site.placement() as outsider:
        return outsider.allocate(dict.fromkeys(providers, resources))


def held(site, consumer):
    with site.placement() as outsider:
        return outsider.allocations(consumer)


class TestM10ALeftover:
    def test_m10_it_is_told_and_left(self, site, root):
        guest(site, root)
        consumer = leftover(site, root)
        ended = site.run("audit")
        assert ended.code == 3
        first, details, last = ended.out.splitlines()
        assert first == (
            f"Allocations for consumer UUID {consumer} on Resource Provider {root} can be "
            'deleted: {"DISK_GB": 20, "MEMORY_MB": 2048, "VCPU": 2}'
        )
        assert details == (
            f"  provider {HOST}, kind unknown, type INSTANCE, host unknown, last change unknown: "
            "no instance or migration of this uuid is in the records"
        )
        assert last == "Processed 1 allocation."
        assert held(site, consumer) == {root: FLAVOR}

    def test_m10_it_is_deleted_on_request_and_then_nothing_is_found(self, site, root):
        kept = guest(site, root)
        consumer = leftover(site, root)
        ended = site.run("audit", "--delete")
        assert ended.code == 4
        assert (
            f"Deleted allocations for consumer UUID {consumer} on Resource Provider {root}"
            in ended.out
        )
        assert "Processed 1 allocation." in ended.out
        assert (held(site, consumer), held(site, kept)) == ({}, {root: FLAVOR})
        assert site.run("audit").code == 0


def test_the_migration_of_an_instance_deleted_on_the_way_is_a_leftover(sqlite_site):
    site = sqlite_site
    root = site.started(MediumFakeDriver)
    site.remember_a_guest()
    instance = Instance(host=HOST, node=HOST, vm_state="deleted")
    migration = Migration(instance.uuid, status="migrating", source_compute=HOST, source_node=HOST)
    with site.cell() as cell:
        cell.instances.create(instance)
        cell.instances.destroy(instance)
        cell.migrations.create(migration)
    with site.placement() as outsider:
        outsider.allocate({root: FLAVOR}, migration.uuid, "MIGRATION")
    assert (site.run("audit", "--delete").code, held(site, migration.uuid)) == (4, {})


@pytest.mark.parametrize("command", ["audit", "consumers"])
def test_the_name_of_a_provider_writes_no_lines_of_its_own(site, root, command):
    guest(site, root)
    with site.placement() as outsider:
        name = "host2\x1b[2K\nDeleted allocations"
        other = outsider.provider(name, inventory={"VCPU": {"total": 8}})
    leftover(site, other, resources={"VCPU": 1})

    ended = site.run(command, *(["--all"] if command == "audit" else []))

    assert r"host2\x1b[2K\nDeleted" in ended.out
    assert "\x1b" not in ended.out


@pytest.mark.parametrize("provider", ["0badc0de-0000-4000-8000-000000000000", "no-uuid"])
def test_m11_an_unknown_provider_is_127(site, root, provider):
    ended = site.run("audit", "--resource_provider", provider)
    assert (ended.code, ended.out) == (127, "")
    assert ended.err == f"nova-manage: Resource provider with UUID {provider} does not exist.\n"


def test_m12_only_the_orphaned_provider_s_part_is_removed(site, root):
    # it holds something that isn't audited elsewhere
    with site.placement() as outsider:
        other = outsider.provider(inventory={"CUSTOM_LICENSE": {"total": 5}})
        consumer = outsider.allocate({root: FLAVOR, other: {"CUSTOM_LICENSE": 1}})
    assert site.run("audit", "--delete").code == 4
    assert held(site, consumer) == {other: {"CUSTOM_LICENSE": 1}}


class TestWhoIsNoOrphan:
    def test_an_instance_on_its_way_to_the_host(self, site, root):
        guest(site, root, host=None, node=None, vm_state=BUILDING)
        assert site.run("audit").code == 0

    def test_a_migration_under_way_and_its_instance(self, site, root):
        instance = guest(site, root, host="host2", node="host2")
        migration = Migration(instance, source_compute="host2", source_node="host2")
        migration.dest_compute = migration.dest_node = HOST
        with site.cell() as cell:
            cell.migrations.create(migration)
        with site.placement() as outsider:
            outsider.allocate({root: FLAVOR}, consumer=migration.uuid)
        assert site.run("audit").code == 0

    @pytest.mark.parametrize("status", [ERROR, "failed", REVERTED])
    def test_a_migration_that_holds_what_its_instance_has_not_got_back(self, sqlite_site, status):
        site, instance, migration = sqlite_site, *self.failed_move(sqlite_site, status)
        assert site.run("audit", "--delete").code == 0
        # It got it back.
        with site.placement() as outsider:
            (root,) = outsider.allocations(migration)
            outsider.allocate({root: FLAVOR}, consumer=instance)
        assert site.run("audit", "--delete").code == 4
        assert (held(site, instance), held(site, migration)) == ({root: FLAVOR}, {})

    def failed_move(self, site, status):
        """Make an instance at its source, and the migration that holds its allocations."""
        root = site.started(MediumFakeDriver)
        site.remember_a_guest()
        instance = Instance(host=HOST, node=HOST, vm_state="active")
        migration = Migration(instance.uuid, status=status, source_compute=HOST, source_node=HOST)
        with site.cell() as cell:
            cell.instances.create(instance)
            cell.migrations.create(migration)
        with site.placement() as outsider:
            outsider.allocate({root: FLAVOR}, migration.uuid, "MIGRATION")
        return instance.uuid, migration.uuid

    def test_a_consumer_of_what_no_instance_holds(self, site):
        with site.placement() as outsider:
            provider = outsider.provider(inventory={"CUSTOM_LICENSE": {"total": 5}})
            outsider.allocate({provider: {"CUSTOM_LICENSE": 1}})
        assert site.run("audit", "--all").code == 0

    def test_an_instance_of_any_host_on_a_sharing_provider(self, site, root):
        instance = guest(site, root, flavor=Flavor(1, 0, 0))
        with site.placement() as outsider:
            pool = outsider.provider(
                inventory={"DISK_GB": {"total": 500}}, traits=["MISC_SHARES_VIA_AGGREGATE"]
            )
            outsider.allocate({root: {"VCPU": 1}, pool: {"DISK_GB": 5}}, consumer=instance)
        assert site.run("audit").code == 0

    def test_an_instance_of_another_host_on_what_a_node_s_child_shares(self, site, root):
        instance = guest(site, root, host="host2", node="host2")
        with site.placement() as outsider:
            pool = outsider.provider(
                None, root, {"DISK_GB": {"total": 500}}, ["MISC_SHARES_VIA_AGGREGATE"]
            )
            outsider.allocate({pool: {"DISK_GB": 5}}, consumer=instance)
        assert site.run("audit").code == 0


class TestReasons:
    def reason(self, site):
        (found,) = site.run("audit", "--json").json["allocations"]
        return found["kind"], found["host"], found["reason"]

    def test_a_deleted_instance(self, site, root):
        guest(site, root, deleted=True)
        assert self.reason(site) == ("instance", HOST, "the instance is deleted")

    def test_an_instance_elsewhere(self, site, root):
        guest(site, root, host="host2", node="node2")
        assert self.reason(site) == ("instance", "host2", "the instance is on host2 (node2)")

    def test_a_migration_that_is_over(self, site, root):
        migration = Migration(str(uuid4()), status=CONFIRMED, source_compute=HOST)
        with site.cell() as cell:
            cell.migrations.create(migration)
        with site.placement() as outsider:
            outsider.allocate({root: FLAVOR}, consumer=migration.uuid)
        assert self.reason(site) == ("migration", HOST, "the migration is confirmed")


class TestANodeTheRecordsDoNotKnow:
    """Another host's, as far as anybody can tell here."""

    @pytest.fixture
    def elsewhere(self, site, root):
        with site.placement() as outsider:
            provider = outsider.provider("host2", inventory={"VCPU": {"total": 8}})
        return provider, leftover(site, provider, resources={"VCPU": 1})

    def test_its_consumers_are_told_and_not_deleted(self, site, elsewhere):
        provider, consumer = elsewhere
        ended = site.run("audit", "--delete", "--all")
        assert (ended.code, held(site, consumer)) == (0, {provider: {"VCPU": 1}})
        assert "neither the consumer nor the provider's node is in the records" in ended.out

    def test_they_aren_t_told_unless_somebody_asks_for_all(self, site, elsewhere):
        ended = site.run("audit", "--verbose")
        assert (ended.code, ended.out, ended.err) == (0, "Processed 0 allocations.\n", "")
        assert site.run("audit", "--json").json["allocations"] == []
        (told,) = site.run("audit", "--json", "--all").json["allocations"]
        assert (told["deletable"], told["to_do"]) == (False, False)

    def test_they_are_deleted_if_the_provider_is_named(self, site, elsewhere):
        provider, consumer = elsewhere
        assert site.run("audit", "--delete", "--resource_provider", provider).code == 4
        assert held(site, consumer) == {}


class TestTheJournal:
    @pytest.mark.parametrize("consumer_type", ["INSTANCE", "MIGRATION", None])
    def test_what_is_deleted_can_be_put_back(self, site, root, consumer_type):
        with site.placement() as outsider:
            consumer = outsider.allocate({root: FLAVOR}, consumer_type=consumer_type)
        journal = site.folder / "journal"
        with site.placement() as outsider:
            before = outsider.call("GET", f"/allocations/{consumer}")
        assert site.run("audit", "--delete", "--journal", str(journal)).code == 4
        assert held(site, consumer) == {}
        ended = site.run("audit", "--undo", str(journal))
        assert (ended.code, "Restored allocations" in ended.out) == (0, True)
        with site.placement() as outsider:
            after = outsider.call("GET", f"/allocations/{consumer}")
        for body in (before, after):
            del body["consumer_generation"], body["allocations"][root]["generation"]
        assert after == before

    def test_a_part_is_put_back_beside_the_others(self, site, root):
        with site.placement() as outsider:
            other = outsider.provider(inventory={"CUSTOM_LICENSE": {"total": 5}})
            consumer = outsider.allocate({root: FLAVOR, other: {"CUSTOM_LICENSE": 1}})
        journal = site.folder / "journal"
        site.run("audit", "--delete", "--journal", str(journal))
        site.run("audit", "--undo", str(journal))
        assert held(site, consumer) == {root: FLAVOR, other: {"CUSTOM_LICENSE": 1}}

    def test_putting_back_twice_changes_nothing(self, site, root):
        leftover(site, root)
        journal = site.folder / "journal"
        site.run("audit", "--delete", "--journal", str(journal))
        site.run("audit", "--undo", str(journal))
        before = site.everything()
        ended = site.run("audit", "--undo", str(journal))
        assert (ended.code, "There are allocations already" in ended.out) == (0, True)
        assert site.everything() == before

    def test_what_has_no_room_any_more_is_1(self, site, root):
        leftover(site, root, resources={"DISK_GB": 1028})
        journal = site.folder / "journal"
        site.run("audit", "--delete", "--journal", str(journal))
        leftover(site, root, resources={"DISK_GB": 1})
        ended = site.run("audit", "--undo", str(journal))
        assert (ended.code, "Unable to allocate inventory" in ended.err) == (1, True)

    def test_what_is_no_journal_is_127(self, sqlite_site):
        sqlite_site.started(MediumFakeDriver)
        path = sqlite_site.folder / "journal"

        def check(content):
            path.write_text(content)
            assert sqlite_site.run("audit", "--undo", str(path)).code == 127

        contents = ("{}\n", "no journal\n", "[1]\n", OTHER_TYPES)
        assert_each({content: (content,) for content in contents}, check)

    def test_without_a_journal_that_can_be_written_nothing_is_deleted(self, site, root):
        consumer = leftover(site, root)
        ended = site.run("audit", "--delete", "--journal", str(site.folder / "no" / "journal"))
        assert (ended.code, held(site, consumer)) == (127, {root: FLAVOR})


class TestAJournalThatIsThereAlready:
    """On SQLite alone: it is about files."""

    @pytest.fixture
    def site(self, sqlite_site):
        return sqlite_site

    @pytest.fixture
    def journal(self, site):
        return site.folder / "journal"

    def delete(self, site, journal):
        return site.run("audit", "--delete", "--journal", str(journal))

    def test_is_added_to(self, site, root, journal):
        consumers = []
        for _ in range(2):
            consumers.append(leftover(site, root))
            assert self.delete(site, journal).code == 4
        assert site.run("audit", "--undo", str(journal)).code == 0
        assert [held(site, consumer) for consumer in consumers] == [{root: FLAVOR}] * 2

    def test_is_refused_while_another_run_writes_it(self, site, root, journal):
        consumer = leftover(site, root)
        entry = {"consumer": consumer, "provider": root, "resources": FLAVOR}
        with Journal(journal) as other:
            other.append({**entry, "project_id": "p", "user_id": "u"})
            ended = self.delete(site, journal)
        assert (ended.code, held(site, consumer)) == (127, {root: FLAVOR})
        assert "another run is writing it" in ended.err

    @pytest.mark.parametrize("left", [1, 30])
    def test_loses_an_entry_that_was_cut_short(self, site, root, journal, left):
        first = leftover(site, root)
        self.delete(site, journal)
        entry = journal.read_bytes()
        journal.write_bytes(entry + entry[:left])
        second = leftover(site, root)
        assert self.delete(site, journal).code == 4
        assert site.run("audit", "--undo", str(journal)).code == 0
        assert [held(site, each) for each in (first, second)] == [{root: FLAVOR}] * 2

    def test_is_left_alone_if_it_is_none(self, site, root, journal):
        consumer = leftover(site, root)

        def check(content):
            journal.write_bytes(content)
            ended = self.delete(site, journal)
            assert (ended.code, ended.out, ended.err.count("\n")) == (127, "", 1)
            assert (held(site, consumer), journal.read_bytes()) == ({root: FLAVOR}, content)

        contents = (b"no journal", b"no journal\n", b"{}\n", b"{}", b"\xff")
        assert_each({str(content): (content,) for content in contents}, check)

    def test_that_takes_no_more_ends_it_and_nothing_is_deleted(self, site, root):
        consumer = leftover(site, root)
        ended = self.delete(site, "/dev/full")
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == "nova-manage: Journal /dev/full: No space left on device\n"
        assert held(site, consumer) == {root: FLAVOR}


def test_a_consumer_that_is_gone_before_it_is_deleted_is_not_told(site, root, monkeypatch):
    leftover(site, root)
    find = audit_command.Auditor.orphans

    def gone_meanwhile(*args):
        for orphan in find(*args):
            with site.placement() as outsider:
                outsider.call("DELETE", f"/allocations/{orphan.consumer}")
            yield orphan

    monkeypatch.setattr(audit_command.Auditor, "orphans", gone_meanwhile)
    ended = site.run("audit", "--delete")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_consumer_that_changes_while_it_is_judged_is_not_deleted(site, root, monkeypatch):
    consumer = leftover(site, root)
    judge = audit_command.Auditor.judged_again

    def changed_meanwhile(auditor, orphan, body):
        with site.placement() as outsider:
            outsider.allocate({root: FLAVOR | {"VCPU": 3}}, consumer=consumer)
        return judge(auditor, orphan, body)

    monkeypatch.setattr(audit_command.Auditor, "judged_again", changed_meanwhile)
    ended = site.run("audit", "--delete")
    assert (ended.code, "consumer generation conflict" in ended.err) == (1, True)
    assert held(site, consumer) == {root: FLAVOR | {"VCPU": 3}}


@pytest.mark.parametrize("kept", [False, True], ids=["gone", "of another provider alone"])
def test_what_another_audit_deletes_at_the_same_time_ends_nothing(site, root, monkeypatch, kept):
    consumers = [leftover(site, root) for _ in range(2)]
    with site.placement() as outsider:
        other = outsider.provider(None, None, {"VCPU": {"total": 4}})
    judge = audit_command.Auditor.judged_again

    def deleted_meanwhile(auditor, orphan, body):
        monkeypatch.setattr(audit_command.Auditor, "judged_again", judge)
        now = judge(auditor, orphan, body)
        with site.placement() as outsider:
            if kept:
                outsider.allocate({other: {"VCPU": 1}}, consumer=orphan.consumer)
            else:
                outsider.call("DELETE", f"/allocations/{orphan.consumer}")
        return now

    monkeypatch.setattr(audit_command.Auditor, "judged_again", deleted_meanwhile)
    ended = site.run("audit", "--delete")
    assert (ended.code, ended.err) == (4, "")
    assert [root in held(site, one) for one in consumers] == [False, False]

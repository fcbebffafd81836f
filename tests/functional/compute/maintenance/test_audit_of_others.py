"""`audit --delete` beside others: what this host's records don't prove to be its own stays."""

import contextlib
import copy
import os
import pty
import re
import shutil
import sys
from uuid import uuid4

import pytest

from compute.cli.commands import audit as audit_command
from compute.maintenance.audit import deletion
from compute.maintenance.audit.deletion import Deletion
from compute.maintenance.journal import entries
from compute.records.instance import BUILDING, SHELVED_OFFLOADED, Flavor
from tests.databases.fresh import SQLiteFiles
from tests.functional.compute.maintenance.drivers import GUESTS
from tests.functional.compute.maintenance.site import DRIVERS, HOST, Site
from virt.fake import MediumFakeDriver

NEIGHBOUR = "host2"
SHARES = "MISC_SHARES_VIA_AGGREGATE"
DISK = {"DISK_GB": 20}
CPU = {"VCPU": 2, "MEMORY_MB": 2048}


class Hosts:
    """Two hosts with a state path each, whose services have run, and a pool that both share."""

    def __init__(self, mine):
        self.mine = mine
        self.other = mine.neighbour(NEIGHBOUR)
        self.root = mine.start_service_once(MediumFakeDriver)
        self.other_root = self.other.start_service_once(MediumFakeDriver)
        with mine.placement() as outsider:
            aggregate = str(uuid4())
            self.pool = outsider.provider(
                "pool", None, {"DISK_GB": {"total": 500}}, [SHARES], [aggregate]
            )
            for root in (self.root, self.other_root):
                outsider.set_aggregates(root, [aggregate])

    def guest(self, site, **fields):
        """Record an instance on one host."""
        return site.guest(**({"vm_state": "active", "flavor": Flavor(2, 2048)} | fields))

    def allocate(self, held, consumer=None, **more):
        with self.mine.placement() as outsider:
            return outsider.allocate(held, consumer, **more)

    def held(self, consumer):
        with self.mine.placement() as outsider:
            return outsider.allocations(consumer)

    def change(self, consumer, **fields):
        """Change the record of an instance of this host."""
        with self.mine.cell() as cell:
            instance = cell.instances.by_uuid(consumer)
            for name, value in fields.items():
                setattr(instance, name, value)
            cell.instances.save(instance)


def two_hosts(site):
    hosts = Hosts(site)
    guest = hosts.guest(site)
    hosts.allocate({hosts.root: CPU, hosts.pool: DISK}, guest)
    return hosts


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two hosts of whose files each test gets a copy."""
    folder = tmp_path_factory.mktemp("hosts")
    url = SQLiteFiles.filled(folder / "placement.db")
    with contextlib.closing(Site(folder, url, lambda: None)) as site:
        return two_hosts(site)


@pytest.fixture
def hosts(sqlite_site, made):
    """With a guest of ours on the pool; on SQLite, for it is about records."""
    hosts = copy.copy(made)
    hosts.mine, hosts.other = sqlite_site, sqlite_site.neighbour(NEIGHBOUR)
    shutil.copytree(
        made.mine.folder,
        sqlite_site.folder,
        ignore=shutil.ignore_patterns("*.conf"),
        dirs_exist_ok=True,
    )
    return hosts


@pytest.fixture
def neighbours(hosts):
    """Make a running instance of the other host that holds its disk on the pool."""
    consumer = hosts.guest(hosts.other)
    hosts.allocate({hosts.other_root: CPU, hosts.pool: DISK}, consumer)
    return consumer


class TestAPoolOfTwoHosts:
    @pytest.mark.spread_over_databases
    def test_what_the_other_host_s_records_know_is_reported_and_stays(self, site):
        hosts = two_hosts(site)
        consumer = hosts.guest(hosts.other)
        hosts.allocate({hosts.other_root: CPU, hosts.pool: DISK}, consumer)
        assert site.run("audit", "--delete", "--verbose").out == "Processed 0 allocations.\n"
        ended = site.run("audit", "--delete", "--all")
        assert ended.code == 0
        assert f"consumer UUID {consumer} on Resource Provider {hosts.pool} are left" in ended.out
        assert "other hosts may hold of a sharing provider" in ended.out
        assert hosts.held(consumer) == {hosts.other_root: CPU, hosts.pool: DISK}

    def test_the_other_host_finds_the_same_of_this_one(self, hosts, neighbours):
        before = hosts.mine.everything()
        assert hosts.other.run("audit", "--delete").code == 0
        assert hosts.mine.everything() == before

    def test_it_is_deleted_where_the_provider_is_named(self, hosts, neighbours):
        ended = hosts.mine.run("audit", "--delete", "--resource_provider", hosts.pool)
        assert (ended.code, hosts.held(neighbours)) == (4, {hosts.other_root: CPU})

    def test_what_lives_somewhere_by_the_records_is_not_even_then(self, hosts, neighbours):
        (guest,) = {*hosts.mine.everything()[1]} - {neighbours}
        hosts.mine.run("audit", "--delete", "--resource_provider", hosts.pool)
        assert hosts.held(guest) == {hosts.root: CPU, hosts.pool: DISK}

    def test_all_that_a_deleted_instance_of_this_host_held_is_deleted(self, hosts, neighbours):
        gone = hosts.guest(hosts.mine, deleted=True)
        hosts.allocate({hosts.root: CPU, hosts.pool: DISK}, gone)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.out.count("Deleted"), hosts.held(gone)) == (2, {})
        assert hosts.held(neighbours) == {hosts.other_root: CPU, hosts.pool: DISK}

    def test_one_that_lives_on_at_the_other_host_keeps_what_isn_t_ours(self, hosts):
        moved = hosts.guest(hosts.mine, deleted=True)
        hosts.guest(hosts.other, uuid=moved)
        hosts.allocate({hosts.root: CPU, hosts.other_root: CPU, hosts.pool: DISK}, moved)
        assert hosts.mine.run("audit", "--delete").code == 4
        assert hosts.held(moved) == {hosts.other_root: CPU, hosts.pool: DISK}

    def test_also_where_the_other_host_s_root_shares_its_disk(self, hosts):
        with hosts.mine.placement() as outsider:
            outsider.set_traits(hosts.other_root, outsider.traits(hosts.other_root) | {SHARES})
        moved = hosts.guest(hosts.mine, deleted=True)
        held = {hosts.other_root: CPU, hosts.pool: DISK}
        hosts.allocate(held, moved)
        assert hosts.mine.run("audit", "--delete").code == 0
        assert hosts.held(moved) == held


def test_of_a_child_of_this_host_that_shares_others_keep_theirs(hosts):
    with hosts.mine.placement() as outsider:
        child = outsider.provider(None, hosts.root, {"DISK_GB": {"total": 500}}, [SHARES])
    consumer = hosts.allocate({hosts.other_root: CPU, child: DISK})
    assert hosts.mine.run("audit", "--delete").code == 0
    assert hosts.held(consumer) == {hosts.other_root: CPU, child: DISK}


def test_a_provider_that_begins_to_share_while_it_is_looked_at_is_left(hosts, monkeypatch):
    with hosts.mine.placement() as outsider:
        child = outsider.provider(None, hosts.root, {"DISK_GB": {"total": 500}})
    consumer = hosts.allocate({child: DISK})
    delete = Deletion.delete

    def shared_meanwhile(self, orphan, named):
        with hosts.mine.placement() as outsider:
            outsider.set_traits(child, [SHARES])
        return delete(self, orphan, named)

    monkeypatch.setattr(Deletion, "delete", shared_meanwhile)
    assert hosts.mine.run("audit", "--delete").code == 0
    assert hosts.held(consumer) == {child: DISK}


class TestRecordsThatKnowNoInstance:
    """They are no evidence. The host's service has run, or there is no state path at all."""

    @pytest.fixture(params=["empty", "missing"])
    def site(self, request, sqlite_site):
        other = sqlite_site.neighbour(NEIGHBOUR)
        if request.param == "empty":
            other.start_service_once(MediumFakeDriver)
        else:
            other.state.rmdir()
        return other

    @pytest.fixture
    def consumer(self, site, hosts):
        return hosts.allocate({hosts.root: CPU, hosts.pool: DISK})

    @pytest.fixture
    def hosts(self, sqlite_site, site):
        hosts = Hosts.__new__(Hosts)
        hosts.mine = sqlite_site
        hosts.root = sqlite_site.start_service_once(MediumFakeDriver)
        with sqlite_site.placement() as outsider:
            hosts.pool = outsider.provider("pool", None, {"DISK_GB": {"total": 500}}, [SHARES])
        return hosts

    @pytest.mark.parametrize("named", [False, True])
    def test_to_delete_is_refused_with_5(self, hosts, site, consumer, named):
        before = sorted(site.folder.rglob("*"))
        more = ("--resource_provider", hosts.pool) if named else ()
        ended = site.run("audit", "--delete", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
        assert f"the records in {site.state} know no instance at all" in ended.err
        assert hosts.held(consumer) == {hosts.root: CPU, hosts.pool: DISK}
        assert sorted(site.folder.rglob("*")) == before

    def test_nothing_is_offered_for_deletion(self, hosts, site, consumer):
        ended = site.run("audit", "--all")
        assert (ended.code, "can be deleted" in ended.out) == (0, False)
        assert ended.out.count(consumer) == 2

    def test_nor_in_json(self, hosts, site, consumer):
        found = site.run("audit", "--json", "--all").json["allocations"]
        assert [each["deletable"] for each in found] == [False, False]

    def test_without_a_node_there_is_nothing_to_look_at(self, hosts, site, consumer, request):
        ended = site.run("audit")
        if "missing" in request.node.name:
            assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
            assert f"the records in {site.state} know no node of {site.host}" in ended.err
        else:
            assert (ended.code, ended.out, ended.err) == (0, "", "")


class TestWhoIsOnTheWay:
    """The scheduler allocated for them; no host is recorded yet."""

    @pytest.mark.parametrize(
        ("vm_state", "task_state"),
        [
            (BUILDING, None),
            (BUILDING, "spawning"),
            (SHELVED_OFFLOADED, "unshelving"),
            (SHELVED_OFFLOADED, "spawning"),
            ("error", "scheduling"),
        ],
    )
    def test_they_are_no_orphans(self, hosts, vm_state, task_state):
        coming = hosts.guest(
            hosts.mine, host=None, node=None, vm_state=vm_state, task_state=task_state
        )
        hosts.allocate({hosts.root: CPU}, coming)
        assert hosts.mine.run("audit", "--delete").code == 0
        assert hosts.held(coming) == {hosts.root: CPU}

    def test_one_that_is_offloaded_and_stays_so_is(self, hosts):
        offloaded = hosts.guest(hosts.mine, host=None, node=None, vm_state=SHELVED_OFFLOADED)
        hosts.allocate({hosts.root: CPU}, offloaded)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, "the instance is on no host" in ended.out) == (4, True)

    @pytest.mark.parametrize("fields", [{"task_state": "unshelving"}, {"host": HOST, "node": HOST}])
    def test_one_that_comes_between_looking_and_deleting_isn_t(self, hosts, monkeypatch, fields):
        offloaded = hosts.guest(hosts.mine, host=None, node=None, vm_state=SHELVED_OFFLOADED)
        hosts.allocate({hosts.root: CPU}, offloaded)
        read = deletion.read_consumer

        def came_meanwhile(*args):
            hosts.change(offloaded, **fields)
            return read(*args)

        monkeypatch.setattr(deletion, "read_consumer", came_meanwhile)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, ended.out) == (0, "")
        assert hosts.held(offloaded) == {hosts.root: CPU}

    def test_nor_one_whose_record_is_made_meanwhile(self, hosts, monkeypatch):
        starting = hosts.allocate({hosts.root: CPU})
        read = deletion.read_consumer

        def made_meanwhile(*args):
            hosts.guest(hosts.mine, uuid=starting, host=None, node=None, vm_state=BUILDING)
            return read(*args)

        monkeypatch.setattr(deletion, "read_consumer", made_meanwhile)
        assert hosts.mine.run("audit", "--delete").code == 0
        assert hosts.held(starting) == {hosts.root: CPU}


class TestADriverThatCanTListItsGuests:
    """Nobody can tell what runs on the host, so nothing is left over for sure."""

    REASONS = {
        "host": "the node's driver manages no instances",
        "no.such.Driver": "the node's driver can't list its guests: ",
        f"{DRIVERS}.SilentHost": "the node's driver can't list its guests",
        f"{DRIVERS}.BrokenHost": "no hypervisor answers",
    }

    @pytest.fixture(params=REASONS)
    def reason(self, request, hosts):
        hosts.mine.configure(request.param)
        return self.REASONS[request.param]

    @pytest.mark.parametrize("more", [(), ("--dry-run",), ("--resource_provider",)])
    def test_to_delete_is_refused(self, hosts, reason, more):
        gone = hosts.guest(hosts.mine, deleted=True)
        hosts.allocate({hosts.root: CPU}, gone)
        named = (hosts.root,) if more == ("--resource_provider",) else ()
        ended = hosts.mine.run("audit", "--delete", *more, *named)
        assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
        assert reason in ended.err
        assert hosts.held(gone) == {hosts.root: CPU}

    def test_nothing_is_offered(self, hosts, reason):
        hosts.allocate({hosts.root: CPU}, hosts.guest(hosts.mine, deleted=True))
        hosts.allocate({hosts.root: CPU})
        found = hosts.mine.run("audit", "--json").json["allocations"]
        assert [each["deletable"] for each in found] == [False, False]
        assert all(reason in each["reason"] for each in found)

    def test_by_force_what_is_named_is_deleted(self, hosts, reason):
        unknown = hosts.allocate({hosts.root: CPU})
        ended = hosts.mine.run("audit", "--delete", "--force", "--resource_provider", hosts.root)
        assert (ended.code, hosts.held(unknown)) == (4, {})


class TestWhatTheHypervisorHas:
    """It is alive, whatever the records say: they may come from an older copy."""

    @pytest.fixture
    def hosts(self, hosts):
        hosts.mine.configure(f"{DRIVERS}.RunningHost")
        return hosts

    @pytest.fixture(params=["unrecorded", "elsewhere", "deleted"])
    def guest(self, request, hosts):
        """Return a guest that runs here, of which the records know nothing, or what was before."""
        guest = str(uuid4())
        if request.param == "elsewhere":
            hosts.guest(hosts.mine, uuid=guest, host=NEIGHBOUR, node=NEIGHBOUR)
        elif request.param == "deleted":
            hosts.guest(hosts.mine, uuid=guest, deleted=True)
        hosts.mine.write(GUESTS, [guest])
        return hosts.allocate({hosts.root: CPU, hosts.pool: DISK}, guest)

    def test_is_told_and_never_offered(self, hosts, guest):
        ended = hosts.mine.run("audit")
        assert (ended.code, "can be deleted" in ended.out) == (3, False)
        assert f"consumer UUID {guest} on Resource Provider {hosts.root} are left" in ended.out
        assert ": running here, " in ended.out

    def test_is_never_deleted(self, hosts, guest):
        assert hosts.mine.run("audit", "--delete").code == 3
        for provider in (hosts.root, hosts.pool):
            for more in ((), ("--force",)):
                ended = hosts.mine.run("audit", "--delete", *more, "--resource_provider", provider)
                assert "Deleted" not in ended.out
        assert hosts.held(guest) == {hosts.root: CPU, hosts.pool: DISK}

    def test_one_that_comes_between_looking_and_deleting_isn_t(self, hosts, monkeypatch):
        starting = hosts.allocate({hosts.root: CPU})
        read = deletion.read_consumer

        def spawned_meanwhile(*args):
            hosts.mine.write(GUESTS, [starting])
            return read(*args)

        monkeypatch.setattr(deletion, "read_consumer", spawned_meanwhile)
        assert hosts.mine.run("audit", "--delete").code == 3
        assert hosts.held(starting) == {hosts.root: CPU}

    def test_what_it_left_on_another_host_can_be_deleted_there(self, hosts):
        guest = hosts.guest(hosts.mine)
        hosts.mine.write(GUESTS, [guest])
        hosts.allocate({hosts.root: CPU, hosts.other_root: CPU}, guest)
        named = ("--resource_provider", hosts.other_root)
        assert hosts.mine.run("audit", "--delete", *named).code == 4
        assert hosts.held(guest) == {hosts.root: CPU}

    def test_unless_it_is_all_that_it_holds(self, hosts):
        guest = hosts.guest(hosts.mine)
        hosts.mine.write(GUESTS, [guest])
        hosts.allocate({hosts.other_root: CPU}, guest)
        named = ("--resource_provider", hosts.other_root)
        assert hosts.mine.run("audit", "--delete", *named).code == 3
        assert hosts.held(guest) == {hosts.other_root: CPU}


def test_force_needs_a_provider(sqlite_site):
    ended = sqlite_site.run("audit", "--delete", "--force")
    assert (ended.code, "--force needs --delete and --resource_provider" in ended.err) == (
        127,
        True,
    )


@pytest.mark.parametrize("named", [False, True])
def test_a_consumer_that_is_no_instance_is_told_with_its_type_and_stays(hosts, named):
    lease = hosts.allocate({hosts.root: CPU}, consumer_type="BLAZAR_LEASE")
    more = ("--resource_provider", hosts.root) if named else ("--all",)
    ended = hosts.mine.run("audit", "--delete", *more)
    assert (ended.code, hosts.held(lease)) == (0, {hosts.root: CPU})
    assert "kind unknown, type BLAZAR_LEASE, " in ended.out


def test_a_node_that_another_host_took_over_is_not_ours(hosts):
    with hosts.mine.cell() as cell:
        node = cell.compute_nodes.by_uuid(hosts.root)
        node.host = NEIGHBOUR
        cell.compute_nodes.save(node)
    consumer = hosts.allocate({hosts.root: CPU})
    ended = hosts.mine.run("audit", "--delete")
    assert (ended.code, "know no node of" in ended.err) == (5, True)
    assert hosts.mine.run("audit", "--delete", "--all").code == 0
    assert hosts.held(consumer) == {hosts.root: CPU}


class TestTheJournalByDefault:
    def journals(self, hosts):
        return sorted(hosts.mine.state.glob("removed-allocations-*.jsonl"))

    def test_is_in_the_state_path_and_named_and_takes_it_back(self, hosts):
        consumer = hosts.allocate({hosts.root: CPU})
        ended = hosts.mine.run("audit", "--delete")
        (journal,) = self.journals(hosts)
        assert ended.out.splitlines()[0] == f"Journal of what is deleted: {journal}"
        assert re.fullmatch(r"removed-allocations-\d{8}T\d{6}Z-\d+\.jsonl", journal.name)
        assert hosts.held(consumer) == {}
        assert hosts.mine.run("audit", "--undo", str(journal)).code == 0
        assert hosts.held(consumer) == {hosts.root: CPU}

    def test_is_named_in_json(self, hosts):
        hosts.allocate({hosts.root: CPU})
        ended = hosts.mine.run("audit", "--delete", "--json")
        (journal,) = self.journals(hosts)
        assert ended.json["journal"] == str(journal)

    def test_is_written_before_anything_is_deleted(self, hosts, monkeypatch):
        consumer = hosts.allocate({hosts.root: CPU})
        noted = []

        def look(*args):
            noted.extend(
                entry["consumer"] for path in self.journals(hosts) for entry in entries(path)
            )

        monkeypatch.setattr(deletion, "write_consumer", look)
        hosts.mine.run("audit", "--delete")
        assert noted == [consumer]

    def test_is_not_made_if_there_is_nothing_to_delete(self, hosts, neighbours):
        hosts.mine.run("audit", "--delete")
        assert self.journals(hosts) == []

    def test_that_can_t_be_made_keeps_everything(self, hosts, monkeypatch):
        consumer = hosts.allocate({hosts.root: CPU})
        nowhere = hosts.mine.state / "no" / "journal"
        monkeypatch.setattr(audit_command, "default_path", lambda folder: nowhere)
        ended = hosts.mine.run("audit", "--delete")
        assert (ended.code, ended.out) == (127, "")
        assert hosts.held(consumer) == {hosts.root: CPU}


class TestOnATerminal:
    @pytest.fixture
    def run(self, hosts, monkeypatch):
        """Return a function that runs the command while its standard input is a terminal."""

        def run(answer, *options):
            mine, theirs = pty.openpty()
            with os.fdopen(mine, "wb", buffering=0) as keyboard, os.fdopen(theirs) as terminal:
                keyboard.write(answer)
                monkeypatch.setattr(sys, "stdin", terminal)
                return hosts.mine.run("audit", *options)

        return run

    @pytest.fixture
    def leftover(self, hosts):
        return hosts.allocate({hosts.root: CPU})

    @pytest.mark.parametrize("answer", [b"y\n", b"yes\n"])
    def test_it_is_deleted_after_a_yes(self, run, hosts, leftover, answer):
        ended = run(answer, "--delete")
        assert (ended.code, hosts.held(leftover)) == (4, {})
        assert f"consumer UUID {leftover}" in ended.err
        assert ended.err.endswith("Delete this allocation? [y/N] ")

    @pytest.mark.parametrize("answer", [b"\n", b"n\n", b"delete\n", b"\x04"])
    def test_any_other_answer_leaves_it(self, run, hosts, leftover, answer):
        ended = run(answer, "--delete")
        assert (ended.code, hosts.held(leftover)) == (3, {hosts.root: CPU})
        assert "can be deleted" in ended.out
        assert not list(hosts.mine.state.glob("removed-allocations-*"))

    def test_yes_on_the_command_line_is_not_asked_again(self, run, hosts, leftover):
        ended = run(b"", "--delete", "--yes")
        assert (ended.code, ended.err, hosts.held(leftover)) == (4, "", {})

    def test_nothing_to_delete_is_no_question(self, run, hosts, neighbours):
        ended = run(b"", "--delete", "--all")
        assert (ended.code, ended.err) == (0, "")

    def test_looking_asks_nothing(self, run, hosts, leftover):
        ended = run(b"")
        assert (ended.code, ended.err) == (3, "")


def test_yes_is_for_deleting(sqlite_site):
    ended = sqlite_site.run("audit", "--yes")
    assert (ended.code, ended.err) == (127, "nova-manage: --yes is for --delete.\n")

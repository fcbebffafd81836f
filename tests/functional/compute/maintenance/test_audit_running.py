"""`audit` asks the hypervisor of this host: what runs there, or may run, is not deleted."""

from uuid import uuid4

import pytest

from compute.maintenance.audit import deletion
from tests.functional.compute.maintenance.drivers import GUESTS
from tests.functional.compute.maintenance.site import DRIVERS
from tests.functional.compute.maintenance.two_hosts import (
    CPU,
    DISK,
    NEIGHBOUR,
    hosts,
    made,
)
from tests.offenders import assert_each

__all__ = ["hosts", "made"]


class TestADriverThatCanTListItsGuests:
    """Nobody can tell what runs on the host, so nothing is left over for sure."""

    REASONS = {
        "host": "the node's driver manages no instances",
        "no.such.Driver": "the node's driver can't list its guests: ",
        f"{DRIVERS}.SilentHost": "the node's driver can't list its guests",
        f"{DRIVERS}.BrokenHost": "no hypervisor answers",
    }

    def each(self, hosts, rule):
        """Check the rule with each of the drivers; it takes the reason that is to be told."""

        def check(driver, reason):
            hosts.mine.configure(driver)
            rule(reason)

        assert_each({driver: (driver, reason) for driver, reason in self.REASONS.items()}, check)

    def test_to_delete_is_refused(self, hosts):
        gone = hosts.guest(hosts.mine, deleted=True)
        hosts.allocate({hosts.root: CPU}, gone)

        def check(reason):
            for more in ((), ("--dry-run",), ("--resource_provider", hosts.root)):
                ended = hosts.mine.run("audit", "--delete", *more)
                assert (ended.code, ended.out, ended.err.count("\n")) == (5, "", 1)
                assert reason in ended.err
                assert hosts.held(gone) == {hosts.root: CPU}

        self.each(hosts, check)

    def test_nothing_is_offered(self, hosts):
        hosts.allocate({hosts.root: CPU}, hosts.guest(hosts.mine, deleted=True))
        hosts.allocate({hosts.root: CPU})

        def check(reason):
            found = hosts.mine.run("audit", "--json").json["allocations"]
            assert [each["deletable"] for each in found] == [False, False]
            assert all(reason in each["reason"] for each in found)

        self.each(hosts, check)

    def test_by_force_what_is_named_is_deleted(self, hosts):
        named = ("--resource_provider", hosts.root)

        def check(reason):
            unknown = hosts.allocate({hosts.root: CPU})
            ended = hosts.mine.run("audit", "--delete", "--force", *named)
            assert (ended.code, hosts.held(unknown)) == (4, {})

        self.each(hosts, check)


def test_a_driver_is_not_loaded_if_there_is_nothing_to_judge(hosts):
    hosts.mine.configure("no.such.Driver")
    assert hosts.mine.run("audit") == (0, "", "")


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

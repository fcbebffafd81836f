"""`audit --delete` and `--undo` that are killed: nothing is half done, and the next run completes.

`BERTH_TEST_MANAGE_KILLS` says how many are killed at work in each test on each database.
"""

import contextlib
import random
import signal
import time
from uuid import uuid4

import pytest

from tests.functional.compute.maintenance.killable import KILLS, Command
from tests.functional.compute.maintenance.test_killed import holdings, watch
from virt.fake import MediumFakeDriver

__all__ = ["watch"]

#: leftovers of one cloud; those that are deleted are made anew
LEFTOVERS = 12
HELD = {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 10}
#: a part of a consumer that isn't audited
LICENSE = {"CUSTOM_LICENSE": 1}

pytestmark = pytest.mark.usefixtures("forking")


class Cloud:
    """Leftovers of one host, half of them with a part elsewhere, and an instance that stays."""

    def __init__(self, site, database):
        self._site, self._database = site, database
        site.remember_a_guest()
        self.root = site.start_service_once(MediumFakeDriver)
        self.leftovers = [str(uuid4()) for _ in range(LEFTOVERS)]
        self.guest = site.guest(vm_state="active")
        with site.placement() as outsider:
            self._licenses = outsider.provider(
                "licenses", inventory={"CUSTOM_LICENSE": {"total": 1000}}
            )
            outsider.allocate({self.root: HELD}, consumer=self.guest)
        self.refill()

    def wanted(self, consumer):
        """Return what the consumer holds before its deletion, and after it."""
        other = {self._licenses: LICENSE} if self.leftovers.index(consumer) % 2 else {}
        return {self.root: HELD} | other, other

    def refill(self):
        """Give back to every leftover what was deleted."""
        with self._site.placement() as outsider:
            for consumer in self.leftovers:
                outsider.allocate(self.wanted(consumer)[0], consumer=consumer)

    def check(self):
        """Check that each leftover is as before or as after; return those that are deleted."""
        with self._database.connect() as connection:
            held = holdings(connection)
        assert held.pop(self.guest) == {self.root: HELD}
        deleted = set()
        for consumer in self.leftovers:
            before, after = self.wanted(consumer)
            assert held.get(consumer, {}) in (before, after), f"{consumer} is half deleted"
            if held.pop(consumer, {}) == after:
                deleted.add(consumer)
        assert held == {}
        return deleted


@pytest.fixture
def cloud(site, watch):
    return Cloud(site, watch(site))


def kill_at_random(site, source, what, *flags):
    """Kill the command at a random moment of its work; whether it was still at work."""
    command = Command(site, "audit", *flags)
    command.wait_for_lines(source.randrange(LEFTOVERS), what)
    time.sleep(source.uniform(0, 0.03))
    command.kill()
    return command.end() == -signal.SIGKILL


def noted(journal):
    """Return the consumers of the whole entries of a journal."""
    with contextlib.suppress(FileNotFoundError):
        lines = journal.read_text().split("\n")
        return {line.split('"')[3] for line in lines[:-1]}
    return set()


@pytest.mark.thorough
@pytest.mark.spread_over_databases
def test_a_killed_deletion_is_in_its_journal_and_the_next_run_completes(site, cloud):
    source, died, ways = random.Random(), 0, []
    journal = site.folder / "journal.jsonl"
    for _ in range(20 * KILLS):
        if died == KILLS:
            break
        was_at_work = kill_at_random(site, source, "Deleted", "--delete", "--journal", str(journal))
        died += was_at_work
        deleted = cloud.check()
        assert deleted <= noted(journal)
        ways.append(len(deleted))
        print(f"{died} killed at work, the last one after {len(deleted)} deletions", flush=True)
        # the next run does the rest, in the same journal
        code = Command(site, "audit", "--delete", "--journal", str(journal)).end()
        assert code == (0 if len(deleted) == LEFTOVERS else 4)
        assert cloud.check() == set(cloud.leftovers) == noted(journal)
        # and all of it can be undone, by a run that is killed as well
        kill_at_random(site, source, "Restored", "--undo", str(journal))
        left = cloud.check()
        assert Command(site, "audit", "--undo", str(journal)).end() == 0
        assert cloud.check() == set()
        print(f"    undone: {LEFTOVERS - len(left)} by a killed run, {len(left)} after it")
        journal.unlink()
    assert died == KILLS
    print(f"{died} kills at {len(set(ways))} different places")

"""Commands that are asked to end, or whose output nobody reads any more."""

import os
import signal
import subprocess
import sys

import pytest

from compute.cli.commands import audit as audit_command
from compute.cli.nova_manage import main
from compute.maintenance.audit import deletion
from compute.maintenance.journal import entries
from tests.functional.compute.maintenance.http_service import REPOSITORY
from tests.functional.compute.maintenance.unhealed_guests import PORT, serving_site, unhealed
from tests.functional.forked import Forked
from virt.fake import MediumFakeDriver

#: numbers of providers to print, and values of PYTHONUNBUFFERED
REST = [(100, ""), (1, "1"), (100, "1")]
SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture
def root(sqlite_site):
    """Return the provider of the host's node, whose service ran once."""
    return sqlite_site.started(MediumFakeDriver)


def ask_to_end(*numbers):
    for number in numbers:
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS)
class TestAuditing:
    @pytest.fixture
    def leftovers(self, sqlite_site, root):
        sqlite_site.remember_a_guest()
        with sqlite_site.placement() as outsider:
            return sorted(outsider.allocate({root: {"VCPU": 1}}) for _ in range(2))

    def held(self, site, consumers):
        with site.placement() as outsider:
            return [bool(outsider.allocations(consumer)) for consumer in consumers]

    def interrupted(self, monkeypatch, module, name, number, before=False):
        """Send the signal at the call of a function."""
        function = getattr(module, name)

        def meanwhile(*args):
            if before:
                ask_to_end(number, number)
            result = function(*args)
            ask_to_end(number)
            return result

        monkeypatch.setattr(module, name, meanwhile)

    def test_ends_after_the_deletion_it_was_at(self, sqlite_site, leftovers, monkeypatch, number):
        journal = sqlite_site.folder / "journal"
        self.interrupted(monkeypatch, deletion, "write_consumer", number)
        ended = sqlite_site.run("audit", "--delete", "--json", "--journal", str(journal))
        assert (ended.code, ended.err) == (130, "nova-manage: interrupted\n")
        assert [found["deleted"] for found in ended.json["allocations"]] == [True]
        assert self.held(sqlite_site, leftovers) == [False, True]
        assert [entry["consumer"] for entry in entries(journal)] == leftovers[:1]

    def test_ends_at_once_the_second_time_and_can_be_undone(
        self, sqlite_site, leftovers, monkeypatch, number
    ):
        journal = sqlite_site.folder / "journal"
        with monkeypatch.context() as patched:
            self.interrupted(patched, deletion, "write_consumer", number, before=True)
            ended = sqlite_site.run("audit", "--delete", "--journal", str(journal))
        assert (ended.code, ended.err) == (130, "nova-manage: interrupted\n")
        assert self.held(sqlite_site, leftovers) == [True, True]
        assert sqlite_site.run("audit", "--undo", str(journal)).code == 0
        assert self.held(sqlite_site, leftovers) == [True, True]

    def test_undoing_ends_after_what_it_was_putting_back(
        self, sqlite_site, leftovers, monkeypatch, number
    ):
        journal = str(sqlite_site.folder / "journal")
        sqlite_site.run("audit", "--delete", "--journal", journal)
        with monkeypatch.context() as patched:
            self.interrupted(patched, audit_command, "put_back", number)
            ended = sqlite_site.run("audit", "--undo", journal)
        assert (ended.code, ended.out.count("Restored")) == (130, 1)
        assert sqlite_site.run("audit", "--undo", journal).code == 0
        assert self.held(sqlite_site, leftovers) == [True, True]


class TestHealing:
    @pytest.fixture
    def network(self, sqlite_site):
        with serving_site(sqlite_site) as network:
            yield network

    @pytest.fixture
    def guests(self, sqlite_site, root, network):
        return unhealed(sqlite_site, root, network, 2, with_port=0)

    def held(self, site, guests):
        with site.placement() as outsider:
            return [sum(map(len, outsider.allocations(guest).values())) for guest in guests]

    def run(self, site, network, *numbers):
        """Send the signals while the port is updated, one of each kind: equal signals merge."""

        def meanwhile(method, port, body):
            if method == "PUT" and not network.updates:
                ask_to_end(*numbers)
            return False

        network.refuse = meanwhile
        return site.run("heal_allocations", "--database")

    @pytest.mark.parametrize("number", SIGNALS)
    def test_ends_after_the_instance_it_was_at(self, sqlite_site, network, guests, number):
        ended = self.run(sqlite_site, network, number)
        assert (ended.code, ended.err) == (130, "nova-manage: interrupted\n")
        assert ended.out == "Processed 1 instances.\n"
        assert self.held(sqlite_site, guests) == [2, 0]
        assert "allocation" in network.profile(PORT)

    def test_ends_at_once_the_second_time_and_the_port_is_set_back(
        self, sqlite_site, network, guests
    ):
        ended = self.run(sqlite_site, network, *SIGNALS)
        assert (ended.code, ended.err) == (130, "nova-manage: interrupted\n")
        assert self.held(sqlite_site, guests) == [0, 0]
        assert network.profile(PORT) == {"kept": "as it was"}

    @pytest.mark.parametrize("times", [1, 2])
    def test_is_completed_by_a_later_run(self, sqlite_site, network, guests, times):
        self.run(sqlite_site, network, *SIGNALS[:times])
        assert sqlite_site.run("heal_allocations", "--database").code == 0
        assert self.held(sqlite_site, guests) == [2, 1]


def _unread(arguments):
    """In a forked process: run a command whose output nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
    return main(arguments)


# that of one provider is printed by a program, below
@pytest.mark.parametrize("providers", [pytest.param(1, marks=pytest.mark.thorough), 100])
def test_what_nobody_reads_any_more_is_no_defect(sqlite_site, root, forking, providers):
    with sqlite_site.placement() as outsider:
        for number in range(providers):
            outsider.provider(f"{number}", inventory={"VCPU": {"total": 1}})
    arguments = [f"--config-file={sqlite_site.file}", "placement", "tree"]
    ended = Forked(_unread, arguments, {**os.environ})
    assert ended.communicate() == ("", "")
    assert ended.returncode == 141


@pytest.mark.parametrize(
    ("providers", "unbuffered"),
    # what is left for Python's end
    [(1, ""), *(pytest.param(n, u, marks=pytest.mark.thorough) for n, u in REST)],
)
def test_output_that_nobody_reads_any_more_is_no_defect(sqlite_site, root, providers, unbuffered):
    with sqlite_site.placement() as outsider:
        for number in range(providers):
            outsider.provider(f"{number}", inventory={"VCPU": {"total": 1}})
    command = [sys.executable, "-m", "compute.cli.nova_manage", f"--config-file={sqlite_site.file}"]
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*command, "placement", "tree"],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")

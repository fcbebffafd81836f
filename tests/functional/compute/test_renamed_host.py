"""A host that was built anew, or that goes by its full name, meets its earlier provider."""

import pathlib
import re
import shlex
import socket

import pytest

from compute import config
from compute.cli.commands.adopt_provider import _parser as parser_of_command
from compute.exceptions import InvalidConfiguration
from compute.maintenance.adopt.adoption import Adoption
from compute.maintenance.adopt.adoption_reads import Identity
from compute.records.node_identity import FILE_NAME
from compute.report import SchedulerReportClient
from compute.report.wire.context import admin_context
from compute.report.wire.failures import why
from tests.functional.compute.compute_host import ComputeHost

WAYS = pytest.mark.parametrize(
    "way", ["whole", pytest.param("one by one", marks=pytest.mark.one_by_one)]
)
COMMAND = re.compile(r"nova-manage placement adopt_provider (--name \S+ --uuid \S+(?: --as \S+)?)")


@pytest.fixture
def rebuilt(host, tmp_path, new_adapter):
    """Return a function that gives the host's next life: other records, maybe another name."""
    lives = []

    def life(name=None):
        folder = tmp_path / f"life{len(lives)}"
        overrides = {
            (None, "host"): name or host.name,
            (None, "state_path"): str(folder),
            ("berth", "whole_trees"): host.conf.berth.whole_trees,
            ("berth", "conflict_retry_time"): 0,
        }
        conf = config.load(files=[], environ={}, overrides=overrides)
        lives.append(ComputeHost(conf, new_adapter))
        return lives[-1]

    yield life
    for one in lives:
        one.cell.close()


def obey(text, adapter):
    """Do what the command in a message does."""
    asked = parser_of_command().parse_args(shlex.split(COMMAND.search(text)[1]))
    identity = Identity(asked.name, asked.uuid, asked.wanted or asked.name)
    client = SchedulerReportClient(adapter)
    Adoption(client, admin_context(), identity).run(lambda step: None)


@WAYS
def test_the_message_says_who_has_the_name_and_its_command_mends_it(
    flat_host, outsider, rebuilt, new_adapter, way
):
    child = outsider.provider(f"{flat_host.name}_numa0", flat_host.uuid)
    new = rebuilt()
    new.start()
    told = why(new.outcome.failures[new.name])
    assert f"The name belongs to provider {flat_host.uuid}, which has " in told
    assert "3 inventories, 1 child, allocations of 2 consumers." in told
    assert f"--name {new.name} --uuid {new.uuid}" in told
    assert new.update().failures.keys() == {new.name}

    obey(told, new_adapter())

    assert new.update().failures == {}
    assert list(outsider.allocations(flat_host.first)) == [new.uuid]
    assert not outsider.exists(flat_host.uuid)
    assert outsider.shown(child)["parent_provider_uuid"] == new.uuid


@WAYS
def test_the_old_agent_that_lives_on_meets_the_new_provider(
    flat_host, outsider, rebuilt, new_adapter, way
):
    new = rebuilt()
    new.start()
    obey(why(new.outcome.failures[new.name]), new_adapter())
    flat_host.driver.vcpus = 20

    outcomes = [flat_host.update() for _ in range(2)]

    told = why(outcomes[-1].failures[flat_host.name])
    assert f"The name belongs to provider {new.uuid}" in told
    assert new.update().failures == {}
    assert list(outsider.allocations(flat_host.first)) == [new.uuid]


@WAYS
@pytest.mark.parametrize("form", ["full", "short"])
def test_the_name_with_and_without_the_domain_are_told_apart(
    flat_host, outsider, rebuilt, new_adapter, caplog, monkeypatch, form, way
):
    full = f"{flat_host.name}.example.org"
    if form == "short":
        monkeypatch.setattr(socket, "gethostname", lambda: flat_host.name)
        monkeypatch.setattr(socket, "getfqdn", lambda: full)
        outsider.call("PUT", f"/resource_providers/{flat_host.uuid}", {"name": full})
    new = rebuilt(full if form == "full" else flat_host.name)
    new.start()
    assert new.outcome.failures == {}
    new.update()
    (warning,) = [
        record.getMessage() for record in caplog.records if "adopt_provider" in record.message
    ]
    earlier = full if form == "short" else flat_host.name
    assert f"there is {earlier} ({flat_host.uuid}) with 3 inventories, no children" in warning
    assert f"by its {'full' if form == 'short' else 'short'} name?" in warning

    obey(warning, new_adapter())

    assert new.update().failures == {}
    assert list(outsider.allocations(flat_host.first)) == [new.uuid]
    assert not outsider.exists(flat_host.uuid)


def test_a_part_of_another_tree_that_has_the_name_is_told_as_such(host, outsider, rebuilt):
    root = outsider.provider()
    part = outsider.provider("a-part-of-it", root)
    new = rebuilt("a-part-of-it")
    new.start()
    told = why(new.outcome.failures[new.name])
    assert f"provider {part}" in told
    assert f"It is no host, but part of the tree of {root}." in told
    assert "adopt_provider" not in told


@WAYS
class TestAComputeIDOfAnotherName:
    """The file was copied to another host, or the records are lost and the host was renamed."""

    @pytest.fixture
    def other(self, flat_host, rebuilt, outsider):
        """Return a host of another name with the file, and placement as it was before."""
        new = rebuilt(f"clone-of-{flat_host.name}")
        path = pathlib.Path(new.conf.state_path) / FILE_NAME
        path.write_text(flat_host.uuid)
        new.before = outsider.shown(flat_host.uuid), outsider.inventory(flat_host.uuid)
        return new

    @pytest.fixture
    def told(self, flat_host, other, outsider, way):
        with pytest.raises(InvalidConfiguration) as refused:
            other.start()
        before = outsider.shown(flat_host.uuid), outsider.inventory(flat_host.uuid)
        assert before == other.before
        return str(refused.value)

    def test_is_told_with_the_real_name(self, flat_host, told):
        assert f"is called {flat_host.name} in placement, and this host is called clone-of-" in told

    def test_the_command_mends_it(self, flat_host, other, outsider, told, new_adapter):
        obey(told, new_adapter())
        other.start()
        assert outsider.shown(flat_host.uuid)["name"] == other.name
        assert outsider.allocations(flat_host.first)
        assert other.outcome.failures == {}

    def test_so_does_a_file_of_its_own(self, flat_host, other, outsider, rebuilt, told):
        again = rebuilt(other.name)
        again.start()
        assert again.uuid != flat_host.uuid
        assert outsider.shown(again.uuid)["name"] == other.name
        assert outsider.shown(flat_host.uuid)["name"] == flat_host.name

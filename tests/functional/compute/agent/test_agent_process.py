"""`berth-compute` as a process of its own, against placement over HTTP (compute.md §9.3).

One test starts the program, for its exit code, and two of `test_metrics.py`; the others fork a
process that has its imports.
"""

import signal
import socket
import time

import pytest

from tests.functional.compute.agent.process import lines_until

DRIVERS = "tests.functional.compute.compute_host"


def test_one_update_reports_the_host_and_exits_0(agent, outsider):
    process, _ = agent.once()
    assert process.returncode == 0
    assert outsider.shown(agent.uuid)["name"] == agent.host
    assert outsider.totals(agent.uuid) == {"VCPU": 10, "MEMORY_MB": 8192, "DISK_GB": 1028}


def test_the_next_start_reshapes_and_loses_nothing(agent, outsider):
    agent.once()
    consumer = outsider.allocate({agent.uuid: {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 5}})
    process, _ = agent.once(default__compute_driver="fake.FakeNUMAReshapeDriver")
    assert process.returncode == 0
    held = outsider.allocations(consumer)
    assert held.pop(agent.uuid) == {"DISK_GB": 5}
    assert list(held.values()) == [{"VCPU": 2, "MEMORY_MB": 1024}]


def test_the_host_driver_s_numa_nodes_take_over_when_numa_modelling_is_switched_on(agent, outsider):
    agent.once(default__compute_driver="host")
    flat = outsider.totals(agent.uuid)
    consumer = outsider.allocate({agent.uuid: {"VCPU": 1, "DISK_GB": 1}})
    process, _ = agent.once(default__compute_driver="host", berth__numa_in_placement="true")
    assert process.returncode == 0
    assert outsider.totals(agent.uuid) == {"DISK_GB": flat["DISK_GB"]}
    held = outsider.allocations(consumer)
    assert held.pop(agent.uuid) == {"DISK_GB": 1}
    assert list(held.values()) == [{"VCPU": 1}]


@pytest.mark.parametrize("text", ["when: 2026-13-45", "\udcff"])
def test_a_file_of_the_operator_s_that_makes_no_sense_exits_2_and_is_named(agent, tmp_path, text):
    path = tmp_path / "provider.yaml"
    path.write_text(text, errors="surrogateescape")
    ended, told = agent.once(compute__provider_config_location=str(tmp_path))
    assert (ended.returncode, told.count("\n")) == (2, 1)
    assert str(path) in told


def test_two_first_starts_at_once_both_exit_0(agent, outsider):
    for starting in [agent.launch("--once"), agent.launch("--once")]:
        told = starting.communicate()[1]
        assert starting.returncode == 0
        # Said at any first start.
        assert all("No compute node record" in line for line in told.splitlines())
    assert outsider.exists(agent.uuid)


def test_an_unreachable_placement_exits_3(agent):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        process = agent.program("--once", placement__endpoint=url)
        said = process.communicate()[1]
    assert process.returncode == 3
    assert "Connection refused" in said.splitlines()[-1]
    assert "Traceback" not in said


def test_an_unknown_driver_exits_4(agent):
    process, said = agent.once(default__compute_driver="nonsense")
    assert process.returncode == 4
    assert "Unknown compute driver 'nonsense'" in said.splitlines()[-1]
    assert "Traceback" not in said


def test_a_failed_reshape_exits_1_and_changes_nothing(agent, outsider):
    agent.once()
    process, said = agent.once(default__compute_driver="fake.FakeReshapeFailDriver")
    assert process.returncode == 1
    assert said == (
        "berth-compute: Resource provider inventory and allocation data migration failed: "
        "the fake hypervisor can't tell who has what\n"
    )
    assert outsider.totals(agent.uuid) == {"VCPU": 10, "MEMORY_MB": 8192, "DISK_GB": 1028}


def test_a_reshape_placement_refuses_exits_1_and_changes_nothing(agent, outsider):
    agent.once()
    consumer = outsider.allocate({agent.uuid: {"VCPU": 1}})
    process, said = agent.once(default__compute_driver=f"{DRIVERS}.ForgetfulNestingDriver")
    assert process.returncode == 1
    assert "Traceback" not in said
    assert outsider.totals(agent.uuid)["VCPU"] == 10
    assert outsider.allocations(consumer) == {agent.uuid: {"VCPU": 1}}


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "one by one"])
def test_a_killed_agent_s_next_start_completes_what_it_left(agent, service, outsider, whole):
    """R33: a tree that is written whole leaves nothing."""
    agent.options["OS_BERTH__WHOLE_TREES"] = str(whole)
    agent.once()
    consumer = outsider.allocate({agent.uuid: {"VCPU": 1, "MEMORY_MB": 512}})
    agent.options["OS_DEFAULT__COMPUTE_DRIVER"] = f"{DRIVERS}.NestingDriver"

    whole_tree = f"/berth/v1/provider_trees/{agent.uuid}"

    def kill_at_the_reshape(method, path):
        if path != "/reshaper" and (method, path) != ("PUT", whole_tree):
            return False
        agent.started[-1].kill()
        service.before = None
        return True

    service.before = kill_at_the_reshape
    process, _ = agent.once()
    assert process.returncode == -signal.SIGKILL
    url = f"/resource_providers?in_tree={agent.uuid}"
    left = outsider.call("GET", url)["resource_providers"]
    empty = [outsider.totals(p["uuid"]) for p in left if p["uuid"] != agent.uuid]
    assert empty == ([] if whole else [{}, {}])
    assert outsider.allocations(consumer) == {agent.uuid: {"VCPU": 1, "MEMORY_MB": 512}}

    process, _ = agent.once()
    assert process.returncode == 0
    found = outsider.call("GET", url)["resource_providers"]
    assert len(found) == 3
    assert {p["uuid"] for p in found} >= {p["uuid"] for p in left}
    assert sorted(outsider.allocations(consumer).values(), key=str) == [
        {"MEMORY_MB": 512},
        {"VCPU": 1},
    ]


class TestService:
    """Without --once."""

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_stop_signal_ends_it_with_0(self, agent, number):
        process = agent.launch()
        lines_until(process, "Updating resources every")
        process.send_signal(number)
        said = process.communicate()[1]
        assert process.returncode == 0
        assert "Stopping" in said

    def test_it_goes_on_without_placement_and_makes_everything_once_that_is_there(
        self, agent, service, outsider
    ):
        """R34"""
        service.before = lambda method, path: True
        process = agent.launch(default__update_resources_interval="1")
        said = lines_until(process, "Error updating resources")
        service.before = None
        said += lines_until(process, "is up to date again")
        process.send_signal(signal.SIGTERM)
        said += process.communicate()[1]
        assert process.returncode == 0
        assert outsider.totals(agent.uuid)["VCPU"] == 10
        assert "Traceback" not in "".join(said)

    def test_a_reshape_needed_while_it_runs_ends_it_with_1(self, agent, outsider):
        """R6: the driver changes its mind after the start."""
        process = agent.launch(
            default__compute_driver=f"{DRIVERS}.LateNestingDriver",
            default__update_resources_interval="1",
        )
        said = process.communicate()[1]
        assert process.returncode == 1
        assert "inventories need to be moved" in said.splitlines()[-1]
        assert "Traceback" not in said
        assert outsider.totals(agent.uuid)["VCPU"] == 10

    def test_unless_the_operator_wants_it_to_go_on(self, agent, outsider):
        process = agent.launch(
            default__compute_driver=f"{DRIVERS}.LateNestingDriver",
            default__update_resources_interval="1",
            workarounds__reshape_periodic_nonfatal="true",
        )
        lines_until(process, "needs a reshape")
        lines_until(process, "needs a reshape")
        process.send_signal(signal.SIGTERM)
        process.communicate()
        assert process.returncode == 0

    def test_a_hang_up_makes_it_read_placement_again(self, agent, outsider):
        """R14: an operator took a trait away that the driver supports."""
        process = agent.launch(default__update_resources_interval="1")
        lines_until(process, "Updating resources every")
        outsider.set_traits(agent.uuid, {"CUSTOM_ONLY_THIS"})
        process.send_signal(signal.SIGHUP)
        lines_until(process, "Resetting")
        while "COMPUTE_DEVICE_TAGGING" not in outsider.traits(agent.uuid):
            assert process.poll() is None
            time.sleep(0.1)
        assert "CUSTOM_ONLY_THIS" in outsider.traits(agent.uuid)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        assert process.returncode == 0

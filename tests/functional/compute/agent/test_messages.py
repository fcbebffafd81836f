"""What `berth-compute` says to an operator, as a process of its own (doc/agent.rst)."""

import json
import re
import signal

import pytest

from tests.functional.compute.agent.process import lines_until
from tests.functional.placement.keystone_stub import Keystone

ROLE = (
    "The user of group [placement] needs the role service (admin is enough where nothing is "
    'reshaped): see "Access to placement"'
)
PASSWORD = {
    "placement__auth_type": "password",
    "placement__username": "nova",
    "placement__password": "hunter2",
    "placement__project_name": "service",
    "placement__user_domain_name": "Default",
    "placement__project_domain_name": "Default",
}


def report_of(process):
    """Return what a process with `--once` said on stdout and on stderr."""
    return process.communicate()


def test_once_says_what_it_reported_and_whether_that_was_new(agent):
    first, _ = report_of(agent.launch("--once"))
    second, _ = report_of(agent.launch("--once"))
    what = r"1 provider, 3 inventories \(DISK_GB 1028, MEMORY_MB 8192, VCPU 10\), \d+ traits, "
    line = rf"node {agent.host} \({agent.uuid}\): {what}no aggregates; "
    assert re.fullmatch(line + "changed\n", first)
    assert re.fullmatch(line + "unchanged\n", second)


def test_once_counts_the_providers_below_the_root(agent):
    agent.once()
    said, _ = report_of(
        agent.launch("--once", default__compute_driver="fake.FakeNUMAReshapeDriver")
    )
    assert "3 providers, 5 inventories (DISK_GB 1028, MEMORY_MB 8192, VCPU 10)" in said


def test_once_says_changed_when_somebody_else_changed_the_provider_meanwhile(agent, outsider):
    agent.once()
    outsider.set_traits(agent.uuid, {"CUSTOM_ONLY_THIS"})
    said, _ = report_of(agent.launch("--once"))
    assert said.endswith("; changed\n")


def test_an_option_that_is_misspelt_is_one_sentence_with_the_nearest_name(agent, tmp_path):
    file = tmp_path / "berth-compute.conf"
    file.write_text("[berth]\nnuma_in_placment = true\n")
    _, told = report_of(agent.launch("--once", "--config-file", str(file)))
    assert (
        f"WARNING: {file}: nobody reads [berth]numa_in_placment. Do you mean numa_in_placement?\n"
    ) in told


def test_a_token_without_the_role_is_one_sentence_that_names_the_role(agent):
    ended, told = agent.once(placement__token="wrong")
    (line,) = [line for line in told.splitlines() if "No compute node record" not in line]
    assert ended.returncode == 3
    assert "403 Forbidden" in line
    assert "the token of group [placement]" in line
    assert ROLE in line
    assert "wrong" not in line


def test_a_password_that_keystone_refuses_is_one_sentence_that_names_user_and_role(agent):
    with Keystone() as keystone:
        ended, told = agent.once(**PASSWORD, placement__auth_url=f"{keystone.url}/v3")
    (line,) = [line for line in told.splitlines() if "No compute node record" not in line]
    assert ended.returncode == 3
    assert "doesn't accept user 'nova' of group [placement]" in line
    assert ROLE in line
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("option", "place", "value"),
    [
        ("token", "Group [placement]: a value", "hun$ter2"),
        ("token", "Group [placement]: a value", None),
        ("region_name", "[placement]region_name", "hun$ter2.x"),
    ],
)
def test_a_dollar_sign_that_names_no_option_is_told_without_its_value(agent, option, place, value):
    # None: as in a template that nobody filled in
    ended, told = agent.once(**{f"placement__{option}": value or f"${option}"})
    assert (ended.returncode, told.count("\n")) == (2, 1), told
    assert f"{place} has a $ that names no other option. Write $$ for a dollar sign." in told
    assert "ter2" not in told


@pytest.mark.parametrize(
    ("option", "value", "others"),
    [
        ("endpoint", "nonsense", {}),
        pytest.param("endpoint", "http://[::1", {}, marks=pytest.mark.thorough),
        ("endpoint_override", "127.0.0.1:8778", {}),
        pytest.param("auth_url", "keystone:5000", PASSWORD, marks=pytest.mark.thorough),
        ("auth_url", "ftp://me:hunter2@keystone/v3", PASSWORD),
    ],
)
def test_a_url_that_is_none_exits_2_and_names_the_option(agent, option, value, others):
    ended, told = agent.once(**others, **{f"placement__{option}": value})
    assert ended.returncode == 2
    assert told.count("\n") == 1
    assert f"Group [placement]: {option} is not a URL" in told
    assert "hunter2" not in told
    assert not (agent.state / "compute_id").exists()


def test_an_unknown_driver_proposes_the_real_ones(agent):
    _, told = agent.once(default__compute_driver="hots")
    assert "neither one of host, ironic, libvirt, nor a class" in told
    assert "fake." not in told


def test_without_any_configuration_it_says_where_it_looked(agent, tmp_path):
    kept = {"OS_DEFAULT__STATE_PATH": agent.options["OS_DEFAULT__STATE_PATH"]}
    agent.options = {**kept, "HOME": str(tmp_path)}
    ended, told = agent.once()
    assert ended.returncode == 2
    assert "is in ~/.berth, ~, /etc/berth or /etc" in told


@pytest.mark.one_by_one
def test_debug_shows_each_request_and_no_secret(agent):
    with Keystone() as keystone:
        _, told = report_of(
            agent.launch("--once", "--debug", **PASSWORD, placement__auth_url=f"{keystone.url}/v3")
        )
    assert "hunter2" not in told
    _, told = report_of(agent.launch("--once", "--debug", placement__token="admin-7f3a"))
    assert re.search(r"GET /resource_providers\?in_tree=\S+: 403 in \d+\.\d{3} s", told)
    assert "admin-7f3a" not in told
    _, told = report_of(agent.launch("--once", "--debug"))
    assert re.search(r"POST /resource_providers: 20[01] in \d+\.\d{3} s", told)
    assert re.search(r"PUT /resource_providers/\S+/inventories: 200 in \d+\.\d{3} s", told)


@pytest.mark.parametrize("broken", ["refused", "cut"])
def test_the_service_logs_each_failed_update_once(agent, service, broken):
    """Also where the look for leftover allocations meets the same failure."""
    options = {"default__update_resources_interval": "1"}
    if broken == "refused":
        options["placement__token"] = "wrong"
    else:
        service.before = lambda method, path: True
    process = agent.launch(**options)
    lines_until(process, "Error updating resources")
    told = lines_until(process, "Error updating resources")
    process.send_signal(signal.SIGTERM)
    process.communicate()
    failures = [line for line in told if " ERROR " in line or " WARNING " in line]
    assert len(failures) == 1, told
    assert failures[0].count("/resource_providers?in_tree=") <= 1


@pytest.mark.parametrize(
    ("method", "part"),
    [
        pytest.param("POST", "/resource_providers", marks=pytest.mark.one_by_one),
        pytest.param("PUT", "/inventories", marks=[pytest.mark.one_by_one, pytest.mark.thorough]),
        pytest.param("PUT", "/traits", marks=[pytest.mark.one_by_one, pytest.mark.thorough]),
        ("PUT", "/provider_trees/"),
    ],
)
def test_an_outage_in_the_middle_of_an_update_is_told_once_with_its_cause(
    agent, service, method, part
):
    service.before = lambda asked, path: asked == method and part in path
    process = agent.launch(default__update_resources_interval="1")
    told = lines_until(process, "Error updating resources")
    process.send_signal(signal.SIGTERM)
    process.communicate()
    (line,) = [line for line in told if " ERROR " in line or "not responding" in line]
    assert line.count("Unable to establish connection") == 1
    assert part in line


@pytest.mark.parametrize(
    "path",
    [
        "/berth/v1/provider_trees/",
        pytest.param("/resource_providers", marks=pytest.mark.one_by_one),
    ],
    ids=["whole", "one by one"],
)
def test_an_outage_in_the_middle_of_the_only_update_exits_3(agent, service, path):
    service.before = lambda asked, _: asked in ("POST", "PUT")
    ended, told = agent.once()
    assert ended.returncode == 3
    assert told.count(path) == 1


def test_a_reshape_that_fails_is_told_once_by_the_service(agent):
    agent.once()
    process = agent.launch(default__compute_driver="fake.FakeReshapeFailDriver")
    told = process.communicate()[1].splitlines()
    assert process.returncode == 1
    assert len([line for line in told if "the fake hypervisor can't tell" in line]) == 1


def test_an_unusable_driver_is_told_once_by_the_service(agent):
    process = agent.launch(default__compute_driver="hots")
    told = process.communicate()[1].splitlines()
    assert process.returncode == 4
    assert len([line for line in told if "hots" in line]) == 1


@pytest.mark.one_by_one
def test_a_look_for_leftovers_that_fails_alone_says_what_follows(agent, service):
    """The update of an idle node asks nothing, so it doesn't meet the failure."""

    def cut(method, path):
        return method == "GET" and path.endswith("/allocations")

    agent.once()
    service.before = cut
    process = agent.launch(default__update_resources_interval="1")
    line = lines_until(process, "Skipping removal of allocations")[-1]
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert "Nothing was removed; the next update tries again." in line
    assert line.count("/allocations") == 1


def test_a_driver_that_is_not_ready_is_told_once(agent):
    ended, told = agent.once(
        default__compute_driver="tests.functional.compute.maintenance.drivers.UnreadyHost"
    )
    assert ended.returncode == 4
    (line,) = told.splitlines()
    assert "The compute driver is not ready; nothing is updated" in line


@pytest.mark.parametrize(
    "wrong",
    [
        {"default__compute_driver": "hots"},
        {"default__reserved_host_cpus": "many"},
        {"placement__endpoint": "nonsense"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_with_json_logs_the_reason_why_it_does_not_start_is_json_too(agent, wrong):
    process = agent.launch(default__use_json="true", **wrong)
    told = process.communicate()[1]
    assert process.returncode
    lines = [json.loads(line) for line in told.splitlines()]
    assert lines[-1]["levelname"] == "CRITICAL"
    assert lines[-1]["name"] == "berth-compute"

"""`openstack capacity make room` and `capacity survives` in a cloud where something has to move."""

import json

import pytest
import requests

from tests import readme_commands
from tests.functional.placement.serving.programs import ADMIN, needed
from tests.openstackclient.test_extension_commands import make, runner

HOSTS = {f"host{number}": f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in range(1, 5)}
ONE, TWO, THREE = (f"bbbbbbbb-0000-4000-8000-00000000000{number}" for number in range(1, 4))


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Yield the URL of a service with 3 hosts of 8 VCPU, one of 4, and guests of 6, 5 and 4."""
    needed("openstack", "python-openstackclient and osc-placement")
    with readme_commands.service_in(tmp_path_factory.mktemp("plans")) as url:
        for name, uuid in HOSTS.items():
            make(url, name, uuid, None, {"VCPU": 4 if name == "host4" else 8})
        for consumer, host, vcpus in ((ONE, "host1", 6), (TWO, "host2", 5), (THREE, "host3", 4)):
            hold(url, consumer, host, vcpus)
        yield url


def hold(url, consumer, host, vcpus):
    body = {
        "allocations": {HOSTS[host]: {"resources": {"VCPU": vcpus}}},
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
        "project_id": "p",
        "user_id": "u",
    }
    send = {"headers": ADMIN | {"openstack-api-version": "placement 1.39"}}
    requests.put(f"{url}/allocations/{consumer}", json=body, **send).raise_for_status()


@pytest.fixture
def openstack(openstack_program, url, tmp_path):
    """Return a function that runs `openstack`, and returns code, output and errors."""
    return runner(url, tmp_path)


def test_a_plan_is_told(openstack):
    code, out, err = openstack("openstack capacity make room --resource VCPU=8 -f json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["verdict"], told["exact"]) == ("possible", True)
    assert [
        (move["consumer"], move["to"][0]["name"], move["allocations"]) for move in told["moves"]
    ] == [(THREE, "host4", {HOSTS["host4"]: {"resources": {"VCPU": 4}}})]
    code, out, _ = openstack("openstack capacity make room --resource VCPU=8", COLUMNS="200")
    assert f" {THREE} from host3 to host4 " in out


@pytest.mark.parametrize(
    ("options", "code", "verdict"),
    [
        ("make room --resource VCPU=9", 3, "impossible"),
        (f"make room --resource VCPU=8 --except {THREE}", 3, "impossible"),
        ("make room --resource VCPU=8 --within host1 --moves 1", 4, "unknown"),
        ("make room --resource VCPU=8 --within host1 --moves 2", 0, "possible"),
        ("make room --resource VCPU=8 --constraints not_on.json", 3, "impossible"),
        ("make room --resource VCPU=8 --if more.json", 0, "fits"),
        ("make room --resource VCPU=8 --consumer-type unknown", 3, "impossible"),
        ("survives", 3, "impossible"),
        ("survives --lost host3", 0, "possible"),
        ("survives --lost host3 --constraints not_on.json", 3, "impossible"),
        ("survives --lost host3 --lost host4", 3, "impossible"),
        ("survives --together 2 --if more.json", 0, "possible"),
    ],
)
def test_verdicts_and_codes(openstack, tmp_path, options, code, verdict):
    change = {"add": [{"like": HOSTS["host1"], "count": 3}]}
    (tmp_path / "more.json").write_text(json.dumps(change))
    constraints = {"not_on": {THREE: [HOSTS["host4"]]}}
    (tmp_path / "not_on.json").write_text(json.dumps(constraints))

    done, out, err = openstack(f"openstack capacity {options} -f value -c verdict")

    assert (done, out, err) == (code, f"{verdict}\n", "")


def test_a_loss_of_nothing_is_refused(openstack):
    refused = 2, "", "each: there is no aggregate of hosts to lose.\n"
    assert openstack("openstack capacity survives --each aggregate") == refused


@pytest.mark.parametrize("form", ["table", "json", "yaml", "csv", "value"])
@pytest.mark.parametrize("command", ["make room --resource VCPU=8", "survives --lost host3"])
def test_all_forms(openstack, command, form):
    code, out, err = openstack(f"openstack capacity {command} -f {form} -c verdict")
    assert (code, err) == (0, "")
    assert "possible" in out

"""The commands of the extra `[osc]`, with the program `openstack`."""

import contextlib
import http.server
import json
import re
import shlex
import subprocess
import threading

import pytest
import requests

from compute.osc.columns import LinesColumn, safe
from tests import readme_commands
from tests.functional.placement.serving.programs import ADMIN
from tests.openstackclient import programs
from tests.page_code import files_of

PAGE = "openstack_commands.rst"
HOST, NUMA0, NUMA1 = (
    "-".join((str(n) * 8, str(n) * 4, f"4{str(n) * 3}", f"8{str(n) * 3}", str(n) * 12))
    for n in (1, 2, 3)
)
HOSTILE = "hö\x1b[31mst\n2"
FLAVOR = {
    "id": "f1",
    "name": "m1.numa",
    "vcpus": 2,
    "ram": 1024,
    "disk": 10,
    "OS-FLV-EXT-DATA:ephemeral": 0,
    "swap": 0,
    "extra_specs": {"pci_passthrough:alias": "gpu:1", "resources:DISK_GB": "20"},
    "links": [],
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Yield the URL of a service with the host of the page."""
    with pytest.MonkeyPatch.context() as patch:
        # however busy the machine is, all that helps is found
        patch.setenv("OS_BERTH__EXPLAIN_BUDGET_MS", "60000")
        yield from _served(tmp_path_factory.mktemp("osc"))


def _served(folder):
    with readme_commands.service_in(folder) as url:
        make(url, "host1", HOST, None, {"DISK_GB": 100})
        make(url, "numa0", NUMA0, HOST, {"VCPU": 8, "MEMORY_MB": 8192})
        make(url, "numa1", NUMA1, HOST, {"VCPU": 4})
        yield url


def make(url, name, uuid, parent, totals):
    body = {"name": name, "uuid": uuid, "parent_provider_uuid": parent}
    send = {"headers": ADMIN | {"openstack-api-version": "placement 1.39"}}
    requests.post(f"{url}/resource_providers", json=body, **send).raise_for_status()
    body = {
        "resource_provider_generation": 0,
        "inventories": {key: {"total": total} for key, total in totals.items()},
    }
    place = f"{url}/resource_providers/{uuid}/inventories"
    requests.put(place, json=body, **send).raise_for_status()


def settings_at(url):
    """Return the environment variables that lead `openstack` to a service."""
    return {
        "OS_AUTH_TYPE": "admin_token",
        "OS_TOKEN": "admin",
        "OS_ENDPOINT": url,
        "COLUMNS": "80",
    }


@pytest.fixture
def openstack(openstack_program, url, tmp_path):
    """Return a function that runs `openstack`, and returns code, output and errors."""
    return runner(url, tmp_path)


def runner(url, folder):
    """Return a function that runs `openstack` in a folder, and returns code, output and errors."""

    def run(command, **more):
        return programs.run(command, settings_at(url) | more, folder)

    return run


def test_the_page_shows_what_its_commands_print(openstack):
    for name, text in files_of(PAGE, "console").items():
        code = None
        for step in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, shown = step.partition("\n")
            if command == "echo $?":
                assert shown.strip() == str(code)
                continue
            code, out, err = openstack(command)
            assert (name, out.strip(), err) == (name, shown.strip(), "")
            assert code in (0, 3)
            assert all(len(line) <= 80 for line in out.splitlines())


def test_programs_get_whole_values(openstack):
    code, out, _ = openstack("openstack resource provider tree report numa1 --long -f json")

    host, numa0, _ = json.loads(out)
    assert code == 0
    assert (host["provider"], host["uuid"]) == ("host1", HOST)
    assert host["generation"] >= 1
    assert numa0["resources"]["MEMORY_MB"] == {"capacity": 8192, "used": 0}
    assert (numa0["traits"], numa0["aggregates"]) == ([], [])


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("resource provider tree report nobody", 1, "There is no resource provider 'nobody'."),
        ("capacity show", 2, "Say what is to fit"),
        ("capacity show --resource VCPU=1 --flavor m1", 2, "Say what is to fit"),
        ("capacity show --required HW_CPU_X86_AVX2 --flavor m1", 2, "Say what is to fit"),
        ("capacity show --resource VCPU", 2, "<resource_class>=<value>"),
        ("allocation candidate explain --resource VCPU=x", 2, "expected positive integer"),
        ("allocation claim --resource VCPU=99 --project-id p --user-id u", 3, "short of VCPU 99"),
        ("allocation claim --resource VCPU=1", 2, "--project-id"),
        ("capacity show --flavor m1", 1, "There is no compute service"),
    ],
    ids=str,
)
def test_codes_and_sentences(openstack, command, code, told):
    done, out, err = openstack(f"openstack {command}")

    assert (done, out) == (code, "")
    assert told in err
    assert "Traceback" not in err


def test_a_service_without_extensions_is_told(openstack, tmp_path):
    class Reference(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"errors": [{"status": 404, "title": "Not Found", "detail": '
            body += b'"The resource could not be found.\\n\\n   ", "request_id": "req-1"}]}'
            self.send_response(404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Nothing."""

    with serving(Reference) as other:
        code, _, err = openstack("openstack resource provider tree find", OS_ENDPOINT=other)

    assert code == 1
    assert "doesn't offer it" in err


@pytest.mark.parametrize("form", ["table", "csv", "value"])
def test_hostile_names_stay_in_their_line(url, openstack, form):
    if form == "table":
        make(url, HOSTILE, "55555555-5555-4555-8555-555555555555", None, {})

    _, out, _ = openstack(f"openstack resource provider tree find -f {form}")

    # the form csv has a backslash twice
    assert r"hö\x1b[31mst\n2" in out.replace(r"\\", "\\")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, ""),
        ({"VCPU": 2, "DISK_GB": 10}, "VCPU=2,DISK_GB=10"),
        (["one", "h\x1b2"], r"one, h\x1b2"),
        ([{"name": "h\x1b1", "after": [0]}], r'[{"name": "h\u001b1", "after": [0]}]'),
    ],
)
def test_forms_without_structure_have_no_values_of_python(value, text):
    column = LinesColumn(value, [])
    assert safe([column, 1, None], "csv") == [text, 1, None]
    assert safe([column], "json") == [column]


def test_suspects_are_listed_whole_or_in_part(url, openstack):
    uuids = [f"6666666{n}-6666-4666-8666-666666666666" for n in (1, 2)]
    for number, uuid in enumerate(uuids):
        make(url, f"sus\x1bpect{number}", uuid, None, {})
    command = "openstack placement suspect list --kind empty_root"
    code, out, err = openstack(f"{command} -f json")
    mine = [row for row in json.loads(out) if row["uuid"] in uuids]
    assert (code, err, len(mine)) == (0, "", 2)
    assert mine[0]["kind"] == "empty_root"
    assert mine[0]["consumer"] is None
    assert uuids[0] in mine[0]["detail"]
    code, out, _ = openstack(f"{command} --limit 1 -f value -c uuid")
    assert (code, len(out.split())) == (0, 1)
    code, out, _ = openstack(command)
    assert (code, "\x1b" in out) == (0, False)
    assert all(len(line) <= 80 for line in out.splitlines())
    code, out, err = openstack("openstack placement suspect list --kind everything")
    assert (code, out) == (2, "")


@pytest.mark.parametrize("form", ["csv", "yaml", "shell"])
def test_one_answer_has_all_forms(openstack, form):
    command = "openstack capacity show --resource DISK_GB=1"
    code, out, err = openstack(f"{command} -f {form} -c fits -c limited_by")

    wanted = {
        "csv": r'"fits","limited_by"\n\d+,"DISK_GB=1"\n',
        "yaml": r"fits: \d+\nlimited_by:\n  DISK_GB: 1\n",
        "shell": r'fits="\d+"\nlimited_by="DISK_GB=1"\n',
    }
    assert (code, err) == (0, "")
    assert re.fullmatch(wanted[form], out)


@contextlib.contextmanager
def owned_by_nova(url):
    """Give the host the trait that nova's agents write, as long as the context lasts."""
    place = f"{url}/resource_providers/{HOST}/traits"
    send = {"headers": ADMIN | {"openstack-api-version": "placement 1.39"}}
    before = requests.get(place, **send).json()
    after = before | {"traits": [*before["traits"], "OWNER_NOVA"]}
    changed = requests.put(place, json=after, **send)
    changed.raise_for_status()
    try:
        yield
    finally:
        requests.put(place, json=changed.json() | {"traits": before["traits"]}, **send)


def test_a_flavor_of_nova_is_translated(url, openstack_program, tmp_path):
    with serving(Nova) as nova, owned_by_nova(url):
        (tmp_path / "clouds.yaml").write_text(
            "clouds:\n"
            "  demo:\n"
            "    auth_type: admin_token\n"
            f"    auth: {{endpoint: '{url}', token: admin}}\n"
            f"    compute_endpoint_override: {nova}/v2.1\n"
            "    compute_api_version: '2.1'\n"
        )
        command = "openstack --os-cloud demo capacity show --flavor m1.numa -f json"
        # the program itself: it reads the working folder when it starts
        done = subprocess.run(
            shlex.split(command),
            capture_output=True,
            text=True,
            env=programs.environ_of_none() | {"HOME": str(tmp_path)},
            cwd=tmp_path,
        )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["query"].startswith("resources=DISK_GB%3A20%2CMEMORY_MB%3A1024%2CVCPU%3A2")
    assert found["fits"] > 0
    assert any("pci_passthrough:alias" in sentence for sentence in found["left_out"])


class Nova(http.server.BaseHTTPRequestHandler):
    """As much of nova's API as flavors need."""

    def do_GET(self):
        port = self.server.server_address[1]
        version = {
            "id": "v2.1",
            "status": "CURRENT",
            "version": "2.90",
            "min_version": "2.1",
            "links": [{"rel": "self", "href": f"http://127.0.0.1:{port}/v2.1/"}],
        }
        path = self.path.partition("?")[0].rstrip("/")
        answers = {
            "": {"versions": [version]},
            "/v2.1": {"version": version},
            "/v2.1/flavors": {"flavors": [FLAVOR]},
            "/v2.1/flavors/detail": {"flavors": [FLAVOR]},
            "/v2.1/flavors/f1": {"flavor": FLAVOR},
            "/v2.1/flavors/f1/os-extra_specs": {"extra_specs": FLAVOR["extra_specs"]},
        }
        found = answers.get(path)
        body = json.dumps(found or {"itemNotFound": {"code": 404, "message": "none"}}).encode()
        self.send_response(200 if found else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Nothing."""


@contextlib.contextmanager
def serving(handler):
    """Serve requests with a handler, on a free port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

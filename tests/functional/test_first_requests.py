"""What the README has a newcomer type into a shell."""

import json
import os
import re
import sysconfig

from placement.microversions import NEWEST, name
from tests import readme_commands
from tests.functional.placement.serving.programs import Server, free_port, needed


def test_the_requests_with_curl_allocate_from_a_new_provider(tmp_path):
    needed("curl", "curl")
    commands = readme_commands.commands_beginning("url=")
    with readme_commands.started_in(tmp_path) as url:
        said = readme_commands.run(commands, url)
    answers = [json.loads(line) for line in said.splitlines() if line]
    host = re.search("^host=(.*)$", commands, re.M)[1]
    created, inventories, candidates, usages = answers
    assert (created["name"], created["uuid"]) == ("host1", host)
    assert inventories["inventories"]["VCPU"]["total"] == 8
    assert list(candidates["allocation_requests"][0]["allocations"]) == [host]
    assert usages["usages"] == {"VCPU": 2, "MEMORY_MB": 1024}


def test_the_service_is_started_as_this_test_starts_it():
    assert "\n.venv/bin/placement-api\n" in readme_commands.commands_beginning("python3 -m venv")


def test_the_service_runs_in_production_as_the_readme_runs_it(tmp_path):
    commands = readme_commands.commands_beginning("export OS_PLACEMENT_DATABASE__CONNECTION=")
    port = free_port()
    folder = tmp_path / "made" / "by_the_block"
    script = commands.replace("/var/lib/placement", str(folder))
    script = script.replace("\ngunicorn", "\nexec gunicorn")
    # each worker is a whole service: two are as several as more
    for told, here in (("127.0.0.1:8778", f"127.0.0.1:{port}"), ("--workers 4", "--workers 2")):
        assert script.count(told) == 1
        script = script.replace(told, here)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
    environ |= {
        "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }
    server = Server(
        ["bash", "-euo", "pipefail", "-c", script], tmp_path, environ, f"http://127.0.0.1:{port}"
    )
    try:
        server.wait_until(None)
        versions = server.request("GET", "/", headers={}).json()["versions"]
        assert versions[0]["max_version"] == name(NEWEST)
        assert server.request("GET", "/traits", headers={}).status_code == 401
        assert (folder / "placement.db").exists()
    finally:
        server.stop()

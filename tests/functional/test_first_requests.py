"""What the README has a newcomer type into a shell."""

import json
import re

from tests import readme_commands
from tests.functional.placement.serving.programs import needed


def test_the_requests_with_curl_allocate_from_a_new_provider(tmp_path):
    needed("curl", "curl")
    commands = readme_commands.commands_beginning("url=")
    with readme_commands.service_in(tmp_path) as url:
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

"""The commands of doc/drain.rst, word for word, against a service of the test's own."""

import json

import requests

from tests import readme_commands
from tests.functional.placement.serving.programs import ADMIN, needed
from tests.page_code import files_of
from tests.page_examples import run_all, unlike
from tests.patience import PATIENCE

PAGE = "drain.rst"
HOST2 = "aaaaaaaa-0000-4000-8000-000000000002"


def test_a_host_is_emptied_and_removed_as_the_page_shows(tmp_path):
    needed("curl", "curl")
    with readme_commands.service_in(tmp_path) as url:
        printed = run_all(PAGE, url)
        found = requests.get(f"{url}/resource_providers", headers=ADMIN, timeout=PATIENCE).json()
        held = requests.get(
            f"{url}/resource_providers/{HOST2}/usages", headers=ADMIN, timeout=PATIENCE
        ).json()

    assert set(printed) == set(files_of(PAGE, "json"))
    assert unlike(PAGE, printed) is None
    assert [provider["name"] for provider in found["resource_providers"]] == ["host2"]
    assert held["usages"] == {"VCPU": 6, "MEMORY_MB": 8192}


def test_the_page_makes_the_moves_of_the_answer_in_their_order(tmp_path):
    needed("curl", "curl")
    with readme_commands.service_in(tmp_path) as url:
        answer = json.loads(run_all(PAGE, url)["does all fit"])
    commands = files_of(PAGE, "bash")["move"]
    found = []
    for move in answer["moves"].values():
        (held,) = move["allocations"].values()
        found.append(commands.index(json.dumps(held["resources"])))
    assert found == sorted(found)

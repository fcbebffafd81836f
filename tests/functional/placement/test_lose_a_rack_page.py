"""The commands of doc/lose_a_rack.rst, word for word, against a service of the test's own."""

import json

import requests

from tests import readme_commands
from tests.functional.placement.serving.programs import ADMIN, needed
from tests.page_code import files_of
from tests.page_examples import run_all, unlike
from tests.patience import PATIENCE

PAGE = "lose_a_rack.rst"


def test_a_rack_can_be_lost_as_the_page_shows(tmp_path):
    needed("curl", "curl")
    with readme_commands.service_in(tmp_path) as url:
        printed = run_all(PAGE, url)
        made = json.loads(printed["the loss"])["moves"]
        for consumer, move in made.items():
            place = f"{url}/allocations/{consumer}"
            version = ADMIN | {"openstack-api-version": "placement 1.39"}
            held = requests.get(place, headers=version, timeout=PATIENCE).json()
            body = held | {"allocations": move["allocations"]}
            done = requests.put(place, json=body, headers=version, timeout=PATIENCE)
            assert done.status_code == 204, done.text

    assert set(printed) == set(files_of(PAGE, "json"))
    assert unlike(PAGE, printed) is None
    assert len(made) == 3

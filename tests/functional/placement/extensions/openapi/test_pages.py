"""The pages of the API are what the description says, and their commands do what they show."""

import json
import re

import yaml

from placement.extensions.openapi.examples import example
from placement.microversions import NEWEST
from tests import api_pages, readme_commands
from tests.document import of_version
from tests.functional.placement.extensions.openapi import scenario

REFRESH = "run: python doc/api_pages.py"


def test_the_pages_are_up_to_date(monkeypatch):
    monkeypatch.setattr(api_pages.pages, "document", lambda api, version=None: of_version(version))
    written = {
        str(page.relative_to(api_pages.DOC)): page.read_text()
        for page in [api_pages.DOC / "api.rst", *(api_pages.DOC / "api").glob("*.rst")]
    }
    assert written == api_pages.pages.pages(), REFRESH


def test_a_search_is_told_first_what_it_asks_for():
    page = (api_pages.DOC / "api/allocation_candidates.rst").read_text()
    names = re.findall(r"^   \* - ``(\w+)``$", page, re.M)
    assert names[:4] == ["resources", "required", "member_of", "in_tree"]
    assert {"limit", "group_policy", "groups"} <= set(names)


def test_every_request_of_the_pages_is_answered_as_they_show(tmp_path):
    commands = api_pages.shown("call ")
    order = [f"{method} {path}" for path, _, method, *_ in scenario.STEPS]
    assert sorted(commands) == sorted([*order, *api_pages.pages.FILES])
    quiet = "call -X PUT $url/traits/CUSTOM_SILVER"
    script = "\n".join(
        [
            api_pages.preparation("url="),
            quiet,
            *(f"echo '## {place}'\n{commands[place]}" for place in order),
        ]
    )

    with readme_commands.service_in(tmp_path) as url:
        said = readme_commands.run(script, url)

    answers = dict(part.split("\n", 1) for part in said.split("## ")[1:])
    for place in order:
        text = answers[place].strip()
        answer = json.loads(text) if text else None
        assert scenario.settled(answer) == example(*place.split(" "))["answer"], place


def test_the_descriptions_are_in_the_files_that_the_page_names(tmp_path):
    commands = api_pages.shown("call ")
    files = api_pages.pages.FILES
    script = [
        api_pages.preparation("url="),
        f"cd {tmp_path}",
        *(commands[place] for place in files),
    ]

    with readme_commands.service_in(tmp_path) as url:
        readme_commands.run("\n".join(script), url)

    wanted = json.loads(json.dumps(of_version(NEWEST)))
    wanted["servers"] = [{"url": "../.."}]
    for file in files.values():
        # each JSON text is YAML, too
        assert yaml.load((tmp_path / file).read_text(), yaml.CSafeLoader) == wanted, file

"""The commands of `openstack` on the pages of the API do what the requests beside them do."""

import shlex

import requests

from tests import api_pages, readme_commands
from tests.functional.placement.extensions.openapi import scenario
from tests.functional.placement.serving.programs import ADMIN
from tests.openstackclient import programs
from tests.patience import PATIENCE


def send(url, step):
    """Send the request of a step for which there is no command."""
    path, values, method, query, body = step
    target = url + path.format(**values) + (f"?{query}" if query else "")
    answer = requests.request(method, target, json=body, headers=ADMIN, timeout=PATIENCE)
    assert answer.status_code < 300, (step, answer.text)


def test_every_command_of_the_pages_succeeds(openstack_program, tmp_path):
    commands = api_pages.shown("openstack ")
    assert len(commands) == len(api_pages.pages.COMMANDS)
    settings = dict(
        word.split("=", 1)
        for word in shlex.split(api_pages.preparation("export OS_").replace("export", ""))
    )
    with readme_commands.service_in(tmp_path) as url:
        settings["OS_ENDPOINT"] = url
        send(url, ("/traits/CUSTOM_SILVER", {}, "PUT", "", None))
        for step in scenario.STEPS:
            path, _, method, *_ = step
            command = commands.pop(f"{method} {path}", None)
            if command is None:
                send(url, step)
                continue
            code, _, err = programs.run(command, settings, tmp_path)
            # those that ask whether something fits say by 3 that nothing does, as in the examples
            wanted = (
                3 if any(word in command for word in ("explain", "evacuate", "survives")) else 0
            )
            assert code == wanted, (command, err)
    assert commands == {}

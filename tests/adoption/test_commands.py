"""The commands print and exit as the reference's do (rest-api.md 7.3, 7.4)."""

import pytest

from tests.adoption.upgrade_check import without_ours

#: run one after the other, on a database that is empty at first
COMMANDS = [
    "placement-manage",
    "placement-manage db",
    "placement-manage bogus",
    "placement-manage db version",
    "placement-status upgrade check",
    "placement-manage db sync head",
    "placement-manage db sync",
    "placement-manage db stamp",
    "placement-manage db stamp nonsense",
    "placement-manage db stamp head",
    "placement-manage db version",
    "placement-manage db online_data_migrations",
    "placement-manage db online_data_migrations --max-count 0",
    "placement-manage db online_data_migrations --max-count x",
    "placement-manage db online_data_migrations --max-count 5",
    "placement-status",
    "placement-status upgrade check",
    "placement-status upgrade check --json",
    "placement-status --json upgrade check",
    "placement-status upgrade bogus",
]
#: messages of libraries and of Python, which depend on versions
NOT_OURS = ("usage:", "Traceback", "Error:")


@pytest.fixture(scope="session", params=["sqlite"])
def database_kind(request):
    """Return SQLite only: other tests compare what the commands say about data."""
    return request.param


def test_the_commands_print_the_same_and_exit_with_the_same_code(new_database, reference, ours):
    told = {}
    for program in (reference, ours):
        url = new_database(empty=True)
        runs = [(line, program.run(url, *line.split())) for line in COMMANDS]
        told[program.name] = [
            (line, ran.returncode, [word for word in NOT_OURS if word in ran.stdout] or _said(ran))
            for line, ran in runs
        ]
    assert told["ours"] == told["reference"]


def _said(ran):
    is_check = "Upgrade Check Results" in ran.stdout or ran.stdout.startswith("{")
    return without_ours(ran.stdout) if is_check else ran.stdout

"""The application that WSGI servers load, in a separate process (rest-api.md 7.1, 7.2)."""

import os
import subprocess
import sys

import pytest

ONE_REQUEST = """
from werkzeug.test import Client
from placement.wsgi.api import application
print(Client(application).get("/").status_code)
"""


@pytest.fixture
def ask_for_versions(tmp_path):
    """Return a function that loads the application in a process and sends `GET /`."""

    def ask(**variables):
        environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        environ |= {
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{tmp_path}/secret-folder.db",
            "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
            "OS_API__AUTH_STRATEGY": "noauth2",
            "OS_DEFAULT__USE_STDERR": "true",
            **variables,
        }
        return subprocess.run(
            [sys.executable, "-c", ONE_REQUEST],
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )

    return ask


def test_all_options_are_logged_at_debug_on_start_but_no_secrets(ask_for_versions):
    log = ask_for_versions(OS_DEFAULT__DEBUG="true").stderr

    assert "placement.allocation_conflict_retry_count = 10" in log
    assert "placement_database.connection" in log
    assert "secret-folder" not in log


@pytest.mark.parametrize(
    "options", [{"OS_DEFAULT__DEBUG": "true", "OS_DEFAULT__LOG_OPTIONS": "false"}, {}]
)
def test_options_are_not_logged_if_so_configured_or_above_debug(ask_for_versions, options):
    assert "allocation_conflict_retry_count" not in ask_for_versions(**options).stderr


def test_profiles_of_requests_are_written_to_the_folder_in_the_environment(
    ask_for_versions, tmp_path
):
    profiles = tmp_path / "profiles"
    printed = ask_for_versions(OS_WSGI_PROFILER=str(profiles)).stdout

    assert printed == "200\n"
    assert [file.name.startswith("GET.root.") for file in profiles.iterdir()] == [True]

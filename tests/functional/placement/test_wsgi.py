"""The application that WSGI servers load (rest-api.md 7.1, 7.2)."""

import os

import pytest
from werkzeug.test import Client

from placement.wsgi import init_application
from tests.functional.placement.serving.conftest import own_process

__all__ = ["own_process"]


@pytest.fixture
def ask_for_versions(tmp_path, monkeypatch, capsys, own_process, own_logging):
    """Return a function that makes the application and sends `GET /`; it returns the log."""

    def ask(**variables):
        environ = {
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{tmp_path}/secret-folder.db",
            "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
            "OS_API__AUTH_STRATEGY": "noauth2",
            "OS_DEFAULT__USE_STDERR": "true",
            **variables,
        }
        for name in [name for name in os.environ if name.startswith("OS_")]:
            monkeypatch.delenv(name)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        assert Client(init_application()).get("/").status_code == 200
        return capsys.readouterr().err

    return ask


def test_all_options_are_logged_at_debug_on_start_but_no_secrets(ask_for_versions):
    log = ask_for_versions(OS_DEFAULT__DEBUG="true")

    assert "placement.allocation_conflict_retry_count = 10" in log
    assert "placement_database.connection" in log
    assert "secret-folder" not in log


@pytest.mark.parametrize(
    "options", [{"OS_DEFAULT__DEBUG": "true", "OS_DEFAULT__LOG_OPTIONS": "false"}, {}]
)
def test_options_are_not_logged_if_so_configured_or_above_debug(ask_for_versions, options):
    assert "allocation_conflict_retry_count" not in ask_for_versions(**options)


def test_profiles_of_requests_are_written_to_the_folder_in_the_environment(
    ask_for_versions, tmp_path
):
    profiles = tmp_path / "profiles"
    ask_for_versions(OS_WSGI_PROFILER=str(profiles))

    assert [file.name.startswith("GET.root.") for file in profiles.iterdir()] == [True]

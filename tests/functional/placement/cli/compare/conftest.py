"""A service with a small cloud, and the command that compares it with another one."""

import pytest

from placement.cli import compare_command, manage
from tests.functional.placement.served import served
from tests.functional.placement.service import Service
from tests.functional.placement.small_cloud import fill


@pytest.fixture
def database_kind():
    return "sqlite"


@pytest.fixture
def service(database_url, monkeypatch):
    """Return a service with a small cloud; its database is the configured one."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)
    monkeypatch.setenv("OS_TOKEN", "admin")
    monkeypatch.setattr(compare_command, "_LONGEST_PAUSE", 0)
    service = Service(database_url, berth__noauth2_admin_roles=["admin", "service"])
    fill(service)
    return service


@pytest.fixture
def application(service):
    return service.app.application


@pytest.fixture
def url(application):
    with served(application) as url:
        yield url


@pytest.fixture
def run(capfd, own_logging, monkeypatch, tmp_path):
    """Return a function that runs the command and returns exit code, output and errors."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments):
        try:
            code = manage.main(["compare", "--rate", "0", *arguments])
        except SystemExit as end:
            code = end.code
        told = capfd.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file of requests and returns the options for it."""

    def write(*lines):
        path = tmp_path / "requests"
        path.write_text("".join(f"{line}\n" for line in lines))
        return ["--requests", str(path)]

    return write

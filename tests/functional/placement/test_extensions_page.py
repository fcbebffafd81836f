"""The examples of doc/extensions.rst, word for word, against a service of the test's own."""

import importlib.util
import json
import sqlite3
import subprocess
import sys

import pytest
import requests

from placement.extensions.changes import policy as changes
from placement.extensions.claims import policy as claims
from placement.extensions.provider_trees import policy as provider_trees
from tests import readme_commands
from tests.functional.placement.serving.programs import ADMIN, needed, wait_until
from tests.page_code import files_of, text_of
from tests.page_examples import run_all, unlike

PAGE = "extensions.rst"


class Enough(Exception):
    """The program has done what the test wants to see."""


@pytest.fixture
def service(tmp_path):
    """Yield the URL of an empty service."""
    with readme_commands.service_in(tmp_path) as url:
        yield url


@pytest.fixture
def mirror(tmp_path):
    """Return the module of the page's program."""
    path = tmp_path / "mirror.py"
    path.write_text(files_of(PAGE)["mirror.py"])
    spec = importlib.util.spec_from_file_location("mirror", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_example_answers_what_the_page_shows(service):
    needed("curl", "curl")
    printed = run_all(PAGE, service)
    shown = files_of(PAGE, "json")
    assert set(printed) == {*shown, "once", "only if something changed"}
    assert unlike(PAGE, printed) is None
    (status,) = files_of(PAGE, "text").values()
    assert printed["only if something changed"].strip() == status.strip()


def test_the_program_prints_what_changes(service, tmp_path):
    needed("curl", "curl")
    program = tmp_path / "mirror.py"
    # killed while it waits, it would keep a thread of the service for as long
    program.write_text(files_of(PAGE)["mirror.py"].replace("= 20, 1, 60", "= 1, 1, 60"))
    printed = tmp_path / "printed"
    with printed.open("w") as output:
        running = subprocess.Popen(
            [sys.executable, str(program), service, "admin"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "0 providers\n" in printed.read_text(), printed.read_text)
        run_all(PAGE, service)
        # several changes that the program reads at once are printed in no certain order
        wait_until(lambda: last_host(printed) == HOST, printed.read_text)
        gone = "33333333-3333-4333-8333-333333333333 is gone\n"
        wait_until(lambda: gone in printed.read_text(), printed.read_text)
    finally:
        running.kill()
        running.wait()


#: what becomes of a host on the page
HOST = ("host1", {"VCPU": 4, "MEMORY_MB": 2048})


def last_host(printed):
    """Return the name and the usages of the host as it was printed last; None: it wasn't yet."""
    # the last line may not be complete
    lines = [line.partition(" ") for line in printed.read_text().split("\n")[1:-1]]
    hosts = [json.loads(rest) for uuid, _, rest in lines if uuid.startswith("1111")]
    return (hosts[-1]["name"], hosts[-1]["usages"]) if hosts else None


def test_the_program_s_copy_is_the_cloud(service, mirror):
    copy = mirror.Mirror(service, "admin")
    copy.read_all()
    # more than one page of changes, and more than one request for a page
    for number in range(120):
        body = {"name": f"host {number}"}
        requests.post(f"{service}/resource_providers", json=body, headers=ADMIN).raise_for_status()
    while len(copy.providers) < 120:
        assert copy.follow()
    again = mirror.Mirror(service, "admin")
    again.read_all()
    assert copy.providers == again.providers


def test_the_program_does_not_hurry_a_service_that_does_not_wait(service, mirror, monkeypatch):
    pauses = []
    monkeypatch.setattr(mirror, "WAIT", 0)
    monkeypatch.setattr(mirror.time, "sleep", pauses.append)
    copy = mirror.Mirror(service, "admin")
    copy.read_all()
    assert copy.follow() == []
    requests.post(f"{service}/resource_providers", json={"name": "host"}, headers=ADMIN)
    assert len(copy.follow()) == 1
    assert pauses == [mirror.BREATH]


def test_the_program_reads_all_again_if_the_feed_was_trimmed(
    service, mirror, monkeypatch, tmp_path
):
    read_all, pauses = mirror.Mirror.read_all, []

    def read_and_trim(self):
        read_all(self)
        body = {"name": f"host {len(self.providers)}"}
        requests.post(f"{service}/resource_providers", json=body, headers=ADMIN).raise_for_status()
        with sqlite3.connect(tmp_path / "placement.db") as database:
            database.execute("DELETE FROM berth_provider_changes")

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            raise Enough

    monkeypatch.setattr(mirror.Mirror, "read_all", read_and_trim)
    monkeypatch.setattr(mirror.time, "sleep", pause)
    with pytest.raises(Enough):
        mirror.main(service, "admin")
    assert pauses == [0, mirror.PAUSE, mirror.PAUSE]


def test_the_page_names_each_policy():
    page = text_of(PAGE)
    for family in (provider_trees, claims, changes):
        for rule in family.RULES:
            assert f"``{rule.name}``" in page

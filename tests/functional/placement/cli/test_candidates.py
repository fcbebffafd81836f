"""placement-manage candidates explain: codes, formats, bad input, hostile names."""

import contextlib
import io
import json
import os
import sqlite3
import sys

import pytest

from placement.cli import manage
from tests.functional.placement.service import Service

HOSTILE = "höst\x1b[31m\n<script>"
UUID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Return the file of a database with one host, which the environment names."""
    path = tmp_path / "placement.db"
    service = Service(f"sqlite:///{path}")
    service.write("POST", "/resource_providers", {"name": HOSTILE, "uuid": UUID})
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    service.write("PUT", f"/resource_providers/{UUID}/inventories", body)
    service.running.close()
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{path}")
    # however busy the machine is, all that helps is found
    monkeypatch.setenv("OS_BERTH__EXPLAIN_BUDGET_MS", "60000")
    return path


@pytest.fixture
def run(capsys, own_logging):
    """Return a function that explains and returns exit code, output and errors."""

    def run(*arguments):
        try:
            code = manage.main(["candidates", "explain", *arguments])
        except SystemExit as end:
            code = end.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_the_code_says_whether_something_fits(path, run):
    assert [run("resources=VCPU:8")[0], run("resources=VCPU:9")[0]] == [0, 3]


def test_json_is_what_the_url_answers(path, run):
    _, out, _ = run("resources=VCPU:9", "-f", "json")

    url = "/berth/v1/allocation_candidates/explain?resources=VCPU:9"
    service = Service(f"sqlite:///{path}", berth__explain_budget_ms=60_000)
    assert json.loads(out) == service.get(url).json


def test_a_hostile_name_stays_in_its_line(path, run):
    _, out, _ = run("resources=VCPU:9")

    assert "\x1b" not in out
    assert r"höst\x1b[31m\n<script>" in out
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_terminal_without_all_characters_gets_others(path, monkeypatch, own_logging, form):
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", out)

    assert manage.main(["candidates", "explain", "resources=VCPU:9", "-f", form]) == 3

    text = out.buffer.getvalue().decode("ascii")
    if form == "text":
        assert "VCPU 9 -> 8" in text
        assert r"h\xf6st" in text
    else:
        found = json.loads(text)
        assert found["relaxations"][0]["text"] == "VCPU 9 → 8"
        assert found["nearest"][0]["name"] == HOSTILE


def test_a_reader_who_leaves_early_costs_no_traceback(path, run):
    reader, writer = os.pipe()
    os.close(reader)
    # its end writes what the end of the process would write
    with open(writer, "w") as left, contextlib.redirect_stdout(left):
        code, _, err = run("resources=VCPU:9")

    assert (code, err) == (3, "")


@pytest.mark.parametrize("path_before", ["?", "/placement/allocation_candidates?"])
def test_a_query_may_come_with_the_path_of_its_url(path, run, path_before):
    assert run(f"{path_before}resources=VCPU:9") == run("resources=VCPU:9")


def test_long_suffixes_of_groups_are_shown_whole(path, run):
    one, two = ("_port_" + str(number) * 30 for number in (1, 2))

    _, out, _ = run(f"resources{one}=VCPU:1&resources{two}=VCPU:9&group_policy=none")

    lines = out.splitlines()
    assert {one, two} <= set(lines)
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["resources=VCPU:x"], "expected positive integer amount"),
        ([""], "at least one resources"),
        (["resources=VCPU:1&required=CUSTOM_NONE"], "No such trait(s): CUSTOM_NONE."),
        (["resources=VCPU:1", "--provider", "nobody"], "uuid or the name 'nobody'"),
        (["resources=VCPU:1", "--consumer", "me"], "'me' is not a uuid"),
        (["resources=VCPU:1", "--microversion", "1.99"], "1.99"),
        (["resources=VCPU:1", "-f", "xml"], "invalid choice"),
        (["resources=VCPU:1&required=\udcff"], "'utf-8' codec can't decode byte 0xff"),
        (["resources=VCPU:1", "--provider", "\udcff"], "'utf-8' codec can't decode byte 0xff"),
        ([], "QUERY"),
    ],
    ids=str,
)
def test_bad_input_is_refused_with_a_reason(path, run, arguments, told):
    code, out, err = run(*arguments)

    assert (code, out) == (2, "")
    assert told in err


def test_a_query_of_an_earlier_version_is_read_as_that_version_does(path, run):
    query = "resources=VCPU:1&root_required=HW_CPU_X86_AVX2"

    assert run(query, "--microversion", "1.34")[0] == 2
    assert run(query, "--microversion", "1.35")[0] == 3


def test_a_database_without_tables_is_no_traceback(path, run, tmp_path, monkeypatch):
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{empty}")

    code, out, err = run("resources=VCPU:1")

    assert (code, out) == (1, "")
    assert "no tables of a placement service" in err
    assert "Traceback" not in err


def test_nothing_is_written(path, run):
    before = path.read_bytes()

    run("resources=VCPU:9")

    assert path.read_bytes() == before


def test_help_names_the_codes_and_needs_no_database(run, monkeypatch):
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)

    code, out, _ = run("--help")

    assert (code, "3     there is no candidate" in out) == (0, True)

"""doc/explain.rst: its session, run word for word, and its list of reasons."""

import logging
import re
import shlex
import subprocess

import pytest

from placement.cli import manage
from placement.extensions.explain.conditions import Reason
from placement.extensions.explain.schema import EXPLAINED
from tests.functional.placement.service import Service
from tests.page_code import files_of, text_of
from tests.unit.placement.candidates.test_explained_reasons import CASES, ODD

PAGE = "explain.rst"
NOVA = "req-11111111-2222-3333-4444-555555555555"
AVX = "HW_CPU_X86_AVX2"
HOSTS = {"host1": (4096, [AVX]), "host2": (63488, [AVX]), "host3": (131072, [])}


@pytest.fixture
def url(tmp_path, monkeypatch):
    """Return the database of a cloud with the hosts of the page."""
    url = f"sqlite:///{tmp_path}/placement.db"
    service = Service(url)
    for number, (name, (memory, traits)) in enumerate(HOSTS.items(), 1):
        uuid = "-".join(str(number) * length for length in (8, 4, 4, 4, 12))
        service.write("POST", "/resource_providers", {"name": name, "uuid": uuid})
        place = f"/resource_providers/{uuid}"
        stock = {"MEMORY_MB": {"total": memory, "max_unit": memory}, "VCPU": {"total": 8}}
        body = {"resource_provider_generation": 0, "inventories": stock}
        service.write("PUT", f"{place}/inventories", body)
        body = {"resource_provider_generation": 1, "traits": traits}
        service.write("PUT", f"{place}/traits", body)
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    # however busy the machine is, all that helps is found
    monkeypatch.setenv("OS_BERTH__EXPLAIN_BUDGET_MS", "60000")
    yield url
    service.running.close()


@pytest.fixture
def log(tmp_path, caplog):
    """Return a file with the lines of the log, in the order of oslo.log."""
    path = tmp_path / "placement-api.log"
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s [-] %(message)s"))
    logging.getLogger().addHandler(handler)
    caplog.set_level(logging.INFO)
    yield path
    logging.getLogger().removeHandler(handler)
    handler.close()


def test_the_line_in_the_log(url, log):
    command, _, shown = files_of(PAGE, "console")["the log"].partition("\n")
    query = re.search(r"candidates for (\S+): ", shown)[1]

    Service(url).get(
        f"/allocation_candidates?{query}", headers_more={"x-openstack-request-id": NOVA}
    )

    *grep, _ = shlex.split(command.removeprefix("$ "))
    found = subprocess.run([*grep, log], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(re.escape(shown.strip()).replace("…", ".+"), found.strip())


@pytest.mark.parametrize(
    ("name", "code"), [("details", 3), ("one host", 3), ("with the change", 0)]
)
def test_the_commands_of_the_session(name, code, url, capsys, own_logging):
    command, _, output = files_of(PAGE, "console")[name].partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "placement-manage"

    assert manage.main(arguments) == code

    assert capsys.readouterr().out.rstrip() == output.rstrip()


def test_every_reason_is_explained_with_the_message_of_its_case():
    told = re.findall(r"^   \* - ``(\w+)``\n     - ``(.+)``$", text_of(PAGE), re.M)

    assert sorted(reason for reason, _ in told) == sorted(reason.value for reason in Reason)
    cases = {case[0]: case[4] for case in CASES} | {case[0]: case[3] for case in ODD}
    assert dict(told) == cases


def fields(schema, place=""):
    """Yield the fields of a reply that have no fields of their own, each after those around it."""
    found = {}
    for one in [schema, *schema.get("oneOf", [])]:
        for name, part in one.get("properties", {}).items():
            found.setdefault(name, []).append(part)
    if not found:
        yield place
    for name, parts in found.items():
        for part in parts:
            inside = part.get("items", part)
            yield from fields(inside, f"{place}.{name}".lstrip("."))


def test_the_page_names_every_field_of_the_reply():
    """Those of `provider` are the fields of `nearest`."""
    (shape,) = EXPLAINED.values()
    wanted = {name for name in fields(shape.source) if not name.startswith("provider.")}
    text = text_of(PAGE).partition("The reply\n===")[2].partition("The reasons\n===")[0]
    rows = re.findall(r"^   \* - (.*)$", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall("``([a-z_.]+)``", row)}
    groups = {name for name in named if any(other.startswith(f"{name}.") for other in named)}

    assert named - groups - {"provider"} == wanted

"""doc/capacity.rst: its commands, run word for word."""

import shlex

import pytest

from placement.cli import manage
from placement.extensions.capacity.schema import SHOWN
from tests.functional.placement.service import Service
from tests.page_code import files_of, text_of

PAGE = "capacity.rst"
RACK = "44444444-4444-4444-4444-444444444444"
HOSTS = {"host1": 32768, "host2": 20480, "host3": 4096}


@pytest.fixture
def url(tmp_path, monkeypatch):
    """Return the database of a cloud with the hosts of the page."""
    url = f"sqlite:///{tmp_path}/placement.db"
    service = Service(url)
    stocks = {name: {"VCPU": 8, "MEMORY_MB": memory} for name, memory in HOSTS.items()}
    for number, (name, totals) in enumerate({**stocks, "disk": {"DISK_GB": 140}}.items(), 1):
        uuid = "-".join(str(number) * length for length in (8, 4, 4, 4, 12))
        service.write("POST", "/resource_providers", {"name": name, "uuid": uuid})
        place = f"/resource_providers/{uuid}"
        stock = {key: {"total": total} for key, total in totals.items()}
        body = {"resource_provider_generation": 0, "inventories": stock}
        service.write("PUT", f"{place}/inventories", body)
        body = {"resource_provider_generation": 1, "aggregates": [RACK]}
        service.write("PUT", f"{place}/aggregates", body)
        if name == "disk":
            traits = ["MISC_SHARES_VIA_AGGREGATE"]
            body = {"resource_provider_generation": 2, "traits": traits}
            service.write("PUT", f"{place}/traits", body)
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    yield url
    service.running.close()


@pytest.mark.parametrize("name", ["by root", "without a host", "with two hosts more"])
def test_the_commands_of_the_page(name, url, capsys, own_logging, tmp_path, monkeypatch):
    command, _, output = files_of(PAGE, "console")[name].partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "placement-manage"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two-more.json").write_text(files_of(PAGE, "json")["two hosts more"])

    assert manage.main(arguments) == 0

    assert capsys.readouterr().out.rstrip() == output.rstrip()


def test_each_name_of_an_answer_is_explained():
    (answer,) = SHOWN.values()
    text = text_of(PAGE)

    assert all(f"``{name}``" in text for name in answer.source["properties"])

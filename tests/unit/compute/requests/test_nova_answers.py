"""A table of flavors and images with what nova asks of placement for them."""

import json
import pathlib
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest

from compute.records.instance import Flavor
from compute.requests.pci_aliases import aliases_of
from compute.requests.reading.image import GuestImage
from compute.requests.reading.refusal import Refused
from compute.requests.settings import Settings
from compute.requests.translation import healed_amounts, request_of
from tests.offenders import assert_each

TABLE = json.loads(pathlib.Path(__file__).with_name("nova_answers.json").read_text("utf-8"))
ALIASES = re.findall("^alias = (.+)$", TABLE["configs"]["default"], re.MULTILINE)
SETTINGS = {
    "default": Settings(pci_aliases=aliases_of(ALIASES, in_placement=False)),
    "prefilters": Settings(True, True, True, aliases_of(ALIASES, in_placement=True)),
}
PARAMETER = re.compile("(resources|required)(.*)")
DEVICE = re.compile("[0-9a-f]{8}-[0-9a-f-]{27}-[0-9]+")


def cases(**wanted: Any) -> dict[str, tuple[Any]]:
    """Return the cases of the table with these values, each with a name."""
    found = [
        case for case in TABLE["cases"] if all(case[key] == value for key, value in wanted.items())
    ]
    named = {f"{case['config']}: {case['name']}": (case,) for case in found}
    assert len(named) == len(found)
    return named


def flavor_of(case: dict[str, Any]) -> Flavor:
    found = case["flavor"]
    return Flavor(
        found["vcpus"],
        found["ram"],
        found["root_gb"],
        found["ephemeral_gb"],
        found["swap"],
        found["extra_specs"],
    )


def asked(case: dict[str, Any]) -> Any:
    image = GuestImage(case["image"]["properties"], case["image"].get("disk_format"))
    settings = SETTINGS[case["config"]]
    return request_of(flavor_of(case), image, (), settings, case["is_bfv"])


def parts(query: str | None) -> Any:
    """Return a query such that order and the suffixes of devices don't matter."""
    if query is None:
        return None
    groups: dict[str, list[Any]] = {}
    others = []
    for name, value in parse_qsl(query, keep_blank_values=True):
        items = tuple(sorted(value.split(",")))
        if match := PARAMETER.fullmatch(name):
            groups.setdefault(match[2], []).append((match[1], items))
        else:
            others.append((name, items))
    found = {suffix: sorted(group) for suffix, group in groups.items()}
    devices = sorted(group for suffix, group in found.items() if DEVICE.fullmatch(suffix))
    named = {suffix: group for suffix, group in found.items() if not DEVICE.fullmatch(suffix)}
    return named, devices, sorted(others)


def test_it_asks_what_nova_asks() -> None:
    def check(case: dict[str, Any]) -> None:
        found = asked(case)
        assert parts(found.request.to_querystring()) == parts(case["query"])
        assert parts(found.fallback and found.fallback.to_querystring()) == parts(case["fallback"])
        assert found.holds == case["holds"]

    assert_each(cases(refused=False), check)


def test_it_refuses_what_nova_refuses() -> None:
    def check(case: dict[str, Any]) -> None:
        with pytest.raises(Refused, match=r"^[^\n]+\.$"):
            asked(case)

    assert_each(cases(refused=True), check)


def test_a_guest_that_runs_holds_what_nova_heals_or_what_it_asked_for() -> None:
    def check(case: dict[str, Any]) -> None:
        found = healed_amounts(flavor_of(case), case["is_bfv"])
        assert found in (case.get("heals"), case["holds"])

    assert_each(cases(refused=False), check)

"""What `openstack allocation candidate explain` shows of the nearest trees."""

import argparse

from compute.osc import candidates
from compute.osc.candidates import ExplainCandidates


def miss(root, provider, free):
    """Return a tree that lacks disk of a provider."""
    lack = {"group": "", "reason": "capacity", "name": "DISK_GB", "asked": 9, "free": free}
    uuids = {"root": f"uuid of {root}", "uuid": f"uuid of {provider}"}
    return {**uuids, "root_name": root, "name": provider, "missing": [lack]}


def shown(monkeypatch, **more):
    """Return what the command shows, by column, as people see it."""
    answer = {
        "message": "no",
        "verdict": "none",
        "candidates": 0,
        "trees": {"total": 3, "left": 0},
        "reasons": [],
        "nearest": [],
        "relaxations": [],
    }

    class Service:
        def __init__(self, clients):
            pass

        def get(self, path):
            return answer | more

    monkeypatch.setattr(candidates, "PlacementService", Service)
    app = argparse.Namespace(client_manager=None)
    command = ExplainCandidates(app, None)
    parser = command.get_parser("explain")
    parsed = parser.parse_args(["--resource", "DISK_GB=9"])
    parsed.formatter = "table"
    return dict(zip(*command.take_action(parsed), strict=True))


def test_a_full_pool_is_one_line_with_the_trees_that_it_serves(monkeypatch):
    near = [miss("host1", "nfs", 0), miss("host2", "nfs", 0), miss("host3", "host3", 4)]
    column = shown(monkeypatch, nearest=near)["nearest"]
    assert column.machine_readable() == near
    assert " ".join(column.human_readable().split()) == (
        "nfs (uuid of nfs) of host1, host2 lacks capacity DISK_GB (asked 9, free 0) "
        "host3 (uuid of host3) lacks capacity DISK_GB (asked 9, free 4)"
    )


def test_a_provider_that_was_asked_about_is_told_with_its_root(monkeypatch):
    column = shown(monkeypatch, provider=miss("host1", "numa0", 0))["provider"]
    assert column.human_readable().startswith("numa0 (uuid of numa0) of host1 lacks")


def test_an_older_service_names_no_roots(monkeypatch):
    old = {key: value for key, value in miss("host1", "nfs", 0).items() if key != "root_name"}
    column = shown(monkeypatch, nearest=[old])["nearest"]
    assert column.human_readable().startswith("nfs (uuid of nfs) lacks")
